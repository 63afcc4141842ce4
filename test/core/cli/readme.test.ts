/** The commands in the README are run as they stand there, and every command that a text names is one that there is (E12). */

import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeProgram } from "../../../core/cli/program.ts";
import { startHubServer, type HubServer } from "../../hub-server/hub-server.ts";
import { ggufModel, sampleDataset, sampleModel } from "../../hub-server/samples.ts";
import { tinyModel } from "../train/tiny-model.ts";
import { hone, newHome } from "./hone.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const readme = readFileSync(join(root, "core/cli/README.md"), "utf8");
const commands = [...readme.matchAll(/^hone .*$/gm)].map(([line]) => line);

const home = newHome();
const scratch = mkdtempSync(join(tmpdir(), "hone-readme-"));
const run = join(scratch, "run");
let model: string;
let hub: HubServer;
const before = { ...process.env };

function json(name: string, content: unknown): string {
  const path = join(scratch, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

beforeAll(async () => {
  hub = await startHubServer({ repositories: [sampleModel(), ggufModel(), sampleDataset()] });
  process.env["HF_ENDPOINT"] = hub.huggingface;
  process.env["HF_HUB_CACHE"] = join(scratch, "hub");
  process.env["MODELSCOPE_CACHE"] = join(scratch, "modelscope");
  model = await tinyModel();
  const first = await hone(
    [
      ...["train", "--model", model, "--task", "tic-tac-toe", "--finetuning-type", "full", "--output-dir", run],
      ...["--max-steps", "2", "--prompts-per-step", "2", "--max-completion-length", "32", "--eval-size", "8"],
    ],
    { home },
  );
  expect(first.code, first.stderr).toBe(0);
});

afterAll(async () => {
  process.env = before;
  await hub.close();
});

test("the README names every command", () => {
  const named = new Set(commands.map((line) => line.split(" ")[1]));
  const known = makeProgram().commands.map((command) => command.name());
  expect([...named].sort()).toEqual(known.filter((name) => name !== "help").sort());
});

const dataRows = [
  { prompt: "What is one plus one?", completion: "Two.", topic: "sums" },
  { prompt: "What is two plus two?", completion: "Four.", topic: "sums" },
  { prompt: "Name a large cat.", completion: "The tiger.", topic: "cats" },
  { prompt: "Name a small cat.", completion: "The kitten.", topic: "small cats" },
];

test.each(commands.map((line, i) => [line, i] as const))("%s", { timeout: 120_000 }, async (line, i) => {
  const values: Record<string, string> = {
    MODEL: model,
    OUT: join(scratch, `out-${i}`),
    FILE: join(scratch, `file-${i}.json`),
    CONFIG: json("config.json", { model, task: "tic-tac-toe", max_steps: 1, prompts_per_step: 2, eval_size: 8 }),
    DATA: json("data.json", dataRows),
    REWARD: json("reward.json", { parts: [{ type: "length", unit: "words", max: 20 }] }),
    "REWARD.ts": join(scratch, `reward-${i}.ts`),
    MESSAGES: json("messages.json", [{ role: "user", content: "Hi" }]),
    TOOLS: json("tools.json", [
      { type: "function", function: { name: "choose_square", parameters: { type: "object" } } },
    ]),
  };
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain);
  const args = words.slice(1).map((word) => values[word] ?? word.replace(/^RUN(?=:|$)/, run));
  // The demo's own model is the starter, which has tests of its own.
  if (args[0] === "demo") args.push("--model", model);
  const { code, stdout, stderr } = await hone(args, { home, input: args[0] === "play" ? "5\nq\n" : "" });
  expect(code, stderr).toBe(0);
  expect(stdout).not.toBe("");
});

/** Every file of the repository's text that may name a command: documents, and messages in the source. */
function texts(): [path: string, text: string][] {
  const files = ["README.md"];
  for (const folder of ["core", "examples", "assets"]) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (/\.(md|ts)$/.test(name)) files.push(join(folder, name));
    }
  }
  return files.map((path) => [path, readFileSync(join(root, path), "utf8")]);
}

test("every command, subcommand and flag that a document or a message names exists (E12)", () => {
  const program = makeProgram();
  const wrong: string[] = [];
  let seen = 0;
  for (const [path, text] of texts()) {
    // In backquotes, or on a line of its own in a document.
    const inline = [...text.matchAll(/`(?:npm run -s )?hone (?:-- )?([^`\\]+)/g)];
    const lines = path.endsWith(".md") ? [...text.matchAll(/^(?:npm run -s )?hone (?:-- )?([^#\n]+)/gm)] : [];
    for (const [, named] of [...inline, ...lines]) {
      const [first, second] = named.split(" ");
      if (!/^[a-z]+$/.test(first)) continue;
      seen += 1;
      const command = program.commands.find((one) => one.name() === first);
      const sub = command?.commands.find((one) => one.name() === second);
      // `hone data list | edit`: several at once.
      const others = [...named.matchAll(/\| ([a-z]+)/g)].map(([, name]) => name);
      const isMissing = (name: string) => command?.commands.every((one) => one.name() !== name) !== false;
      const hasSubs = (command?.commands.length ?? 0) > 0;
      const wantsSub = hasSubs && second !== undefined && /^[a-z]+$/.test(second);
      if (command === undefined || (wantsSub && sub === undefined) || (hasSubs && others.some(isMissing))) {
        wrong.push(`${path}: hone ${named}`);
        continue;
      }
      const known = [...command.options, ...(sub?.options ?? []), ...program.options].map(({ long }) => long);
      for (const [flag] of named.matchAll(/--[a-z][a-z-]*/g)) {
        if (flag !== "--help" && !known.includes(flag)) wrong.push(`${path}: hone ${named}`);
      }
    }
    const scripts = (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object }).scripts;
    for (const [, script] of text.matchAll(/`npm run (?:-s )?([a-z]+)/g)) {
      if (!Object.hasOwn(scripts, script)) wrong.push(`${path}: npm run ${script}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(seen).toBeGreaterThan(150);
});
