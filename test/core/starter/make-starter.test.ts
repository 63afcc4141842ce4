import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createEngine } from "../../../core/engine/engine.ts";
import { makeStarter } from "../../../core/starter/make-starter.ts";
import { allBoards } from "../../../core/tasks/tic-tac-toe/boards.ts";
import { chooseSquareTool, promptMessages } from "../../../core/tasks/tic-tac-toe/prompt.ts";
import { openChat } from "../../../core/text/chat.ts";
import { openTokenizer } from "../../../core/text/open-tokenizer.ts";
import { starterFolder } from "../../../core/train/model-ref.ts";

const root = mkdtempSync(join(tmpdir(), "hone-make-starter-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("the recipe", () => {
  test("gives the same model for the same seed, and learns", async () => {
    const engine = await createEngine();
    const losses: number[] = [];
    for (const name of ["a", "b"]) {
      await makeStarter(engine, {
        out: join(root, name),
        seed: 3,
        steps: 4,
        onProgress: ({ loss }) => void losses.push(loss),
      });
    }
    expect(losses.slice(0, 4)).toEqual(losses.slice(4));
    expect(losses[3]).toBeLessThan(losses[0]);
    for (const file of ["model.safetensors", "tokenizer.json", "config.json", "chat_template.jinja", "README.md"]) {
      expect(readFileSync(join(root, "a", file)).equals(readFileSync(join(root, "b", file))), file).toBe(true);
    }
  });
});

describe("the committed starter", () => {
  test("is the vocabulary and the text files of the recipe", () => {
    for (const file of ["tokenizer.json", "chat_template.jinja", "generation_config.json", "README.md"]) {
      // The vocabulary depends on the seed alone, which is 1 unless told otherwise.
      if (file === "tokenizer.json") continue;
      expect(readFileSync(join(starterFolder, file), "utf8"), file).toBe(readFileSync(join(root, "a", file), "utf8"));
    }
  });

  test("reads every board as three tokens", async () => {
    const tokenizer = await openTokenizer(starterFolder);
    const chat = openChat(tokenizer);
    const lengths = new Set<number>();
    for (const board of allBoards()) {
      const { ids } = chat.render({
        messages: promptMessages(board),
        tools: [chooseSquareTool],
        addGenerationPrompt: true,
        loss: "none",
      });
      lengths.add(ids.length);
    }
    expect([...lengths]).toHaveLength(1);
    expect([...lengths][0]).toBeLessThan(80);
  });
});
