import { cpSync, mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chatReply } from "../../../../core/app/play/chat-reply.ts";
import { drawAnswers, moveOdds } from "../../../../core/app/play/move-odds.ts";
import { modelMove } from "../../../../core/app/play/play-move.ts";
import { OpenModels } from "../../../../core/app/play/open-models.ts";
import type { OpenPolicy } from "../../../../core/app/session.ts";
import { starterFolder } from "../../../../core/train/model-ref.ts";
import type { AnswerSoFar } from "../../../../core/contract/api/play-calls.ts";

const limits = { threads: 1, memory: 1e9 };
const { signal } = new AbortController();
let folder: string;
const copy = (name: string) => join(folder, name);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "hone-models-"));
  for (const name of ["a", "b", "c"]) cpSync(starterFolder, copy(name), { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("OpenModels", () => {
  it("opens a model once for all who ask, and closes it when nobody does", async () => {
    const models = new OpenModels({ idle: 20 });
    const seen = await Promise.all(
      [1, 2, 3].map(() => models.use("starter", limits, ({ model }) => Promise.resolve(model))),
    );
    expect(new Set(seen).size).toBe(1);
    expect(models.list()).toEqual(["starter"]);
    await expect.poll(() => models.list()).toEqual([]);
    await expect(seen[0].memory()).rejects.toMatchObject({ code: "closed" });
  });

  it("gives up what was used longest ago when the memory or the number is reached, and nothing that is in use", async () => {
    const models = new OpenModels({ most: 2 });
    const nothing = () => Promise.resolve();
    await models.use(copy("a"), limits, nothing);
    await models.use(copy("b"), limits, nothing);
    await models.use(copy("c"), limits, nothing);
    expect(models.list()).toEqual([copy("b"), copy("c")]);
    await models.use(copy("b"), limits, () => models.use(copy("a"), { ...limits, memory: 1 }, nothing));
    expect(models.list()).toEqual([copy("a"), copy("b")]);
    await models.close();
    expect(models.list()).toEqual([]);
  });

  it("tells when a model is gone, though it is still open, and opens it anew when its files have changed", async () => {
    const models = new OpenModels();
    const open = () => models.use(copy("a"), limits, ({ model }) => Promise.resolve(model));
    const before = await open();
    utimesSync(join(copy("a"), "model.safetensors"), 1, 1);
    expect(await open()).not.toBe(before);
    rmSync(copy("a"), { recursive: true });
    await expect(open()).rejects.toMatchObject({ code: "no-such-model" });
    await models.close();
  });

  it("stays usable after a model that cannot be opened", async () => {
    const models = new OpenModels();
    rmSync(join(copy("b"), "tokenizer.json"));
    await expect(models.use(copy("b"), limits, () => Promise.resolve())).rejects.toThrow();
    await models.use("starter", limits, () => Promise.resolve());
    expect(models.list()).toEqual(["starter"]);
    await models.close();
  });
});

describe("with the starter", () => {
  const models = new OpenModels();
  const use = <T>(work: (model: OpenPolicy) => Promise<T>) => models.use("starter", limits, work);
  afterAll(() => models.close());

  it("scores the nine calls exactly: drawn answers come to the same shares", async () => {
    const odds = await use((model) => moveOdds(model, "X...O....", { maxTokens: 64, signal }));
    const exact = odds.squares.reduce((sum, share) => sum + share, 0);
    expect(exact + odds.other).toBeCloseTo(1, 6);
    const count = 1500;
    const drawn = await use((model) => drawAnswers(model, "X...O....", { maxTokens: 64, signal, count, seed: 1 }));
    const named = drawn.squares.reduce((sum, one) => sum + one, 0);
    const failed = Object.values(drawn.failures).reduce((sum, one) => sum + one, 0);
    expect(drawn.plain + named + failed).toBe(count);
    // Within four standard errors of a share.
    expect(Math.abs(drawn.plain / count - exact)).toBeLessThan(4 * Math.sqrt((exact * (1 - exact)) / count));
  });

  it("sees O's boards with the marks swapped: the same odds from either side", async () => {
    const asO = await use((model) => moveOdds(model, "X........", { maxTokens: 64, signal }));
    const swapped = await use((model) => modelMove(model, "X........", { temperature: 0, maxTokens: 64, seed: 1 }));
    expect(asO.greedy.text).toBe(swapped.answer?.text);
    expect(swapped.answer?.prompt[1].content).toContain("O 2 3");
  });

  it("writes the answer out, token by token, and keeps what was there when it is stopped", async () => {
    const told: AnswerSoFar[] = [];
    const abort = new AbortController();
    const turn = {
      messages: [{ role: "user", content: "X O 3\n4 5 6\n7 8 9" }],
      tools: [],
      ...{ temperature: 1, top_p: 1, top_k: 0, max_tokens: 900, seed: 3, thinking: null },
    };
    const reply = await use((model) =>
      chatReply(model, turn, {
        signal: abort.signal,
        onAnswer: (soFar) => {
          told.push(soFar);
          abort.abort();
        },
      }),
    );
    expect(told[0].tokens).toBe(1);
    expect(reply.finish_reason).toBe("stopped");
    expect(reply.completion_tokens).toBeLessThan(900);
    expect(reply.tokens.map(({ text }) => text).join("")).toBe(reply.text);
  });
});
