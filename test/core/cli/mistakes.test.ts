/** A user's mistakes: one clear message, no stack trace, the right exit code, and the same as JSON. */

import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { errorOutputSchema } from "../../../core/contract/cli-json.ts";
import { tinyModel } from "../train/tiny-model.ts";
import { hone, newHome } from "./hone.ts";

let model: string;
const home = newHome();
const scratch = mkdtempSync(join(tmpdir(), "hone-mistakes-"));

beforeAll(async () => {
  model = await tinyModel();
});

function file(name: string, content: unknown): string {
  const path = join(scratch, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

const quick = ["--max-steps", "1", "--prompts-per-step", "2", "--max-completion-length", "32", "--eval-size", "8"];

describe("mistakes", () => {
  const cases: [string, string[] | (() => string[]), number, RegExp][] = [
    ["unknown command", ["evl"], 2, /unknown command 'evl'[^]*Did you mean eval/],
    ["unknown flag", ["train", "--learning-rte", "1"], 2, /unknown option '--learning-rte'[^]*--learning-rate/],
    ["missing model", ["eval", "--task", "tic-tac-toe"], 2, /--model/],
    ["no model at a path", ["score", "--model", "/nowhere/x", "--ids", "1,2"], 1, /no model at \/nowhere\/x[^]*→/],
    [
      "not a model",
      () => ["score", "--model", file("notes.txt", "hi"), "--ids", "1,2"],
      1,
      /neither a model folder nor a \.gguf/,
    ],
    ["unknown task", () => ["eval", "--model", model, "--task", "chess"], 1, /no task "chess"[^]*tic-tac-toe/],
    [
      "unknown option in a file",
      () => ["train", "--config", file("bad.json", { lerning_rate: 1 })],
      2,
      /no option "lerning_rate"[^]*"learning_rate"/,
    ],
    [
      "config is no JSON",
      () => {
        writeFileSync(join(scratch, "broken.json"), "{");
        return ["train", "--config", join(scratch, "broken.json")];
      },
      1,
      /is not JSON/,
    ],
    [
      "bad number",
      () => ["train", "--model", model, "--task", "tic-tac-toe", "--learning-rate", "fast"],
      2,
      /learning_rate/,
    ],
    [
      "contradiction",
      () => ["train", "--model", model, "--task", "tic-tac-toe", "--max-steps", "3", "--num-train-epochs", "1"],
      2,
      /both say how long/,
    ],
    ["run that is none", ["resume", "nothing-here"], 1, /no run "nothing-here"[^]*hone ls/],
    ["options on resume", ["train", "--resume", "x", "--learning-rate", "1"], 2, /keeps its options/],
    ["nothing to score", () => ["score", "--model", model], 2, /give either --ids or --text/],
    ["one token", () => ["score", "--model", model, "--ids", "1"], 2, /nothing to predict/],
    ["no id", () => ["score", "--model", model, "--ids", "1,x"], 2, /"x" is no token id/],
    ["id beyond the vocabulary", () => ["score", "--model", model, "--ids", "1,99999"], 1, /no token 99999/],
    ["too long", () => ["score", "--model", model, "--ids", Array(300).fill(5).join(",")], 1, /300 tokens.*256/],
    ["empty message", () => ["chat", "--model", model], 2, /no message/],
    [
      "bad messages",
      () => ["template", "render", "--model", model, "--messages", file("m.json", [{ content: "x" }])],
      1,
      /[Mm]essage 1/,
    ],
    ["no such step", () => ["show", "nothing-here", "--step", "1"], 1, /no run/],
    ["bad split", () => ["eval", "--model", model, "--task", "tic-tac-toe", "--split", "test"], 2, /held-out/],
    [
      "memory limit",
      () => ["train", "--model", model, "--task", "tic-tac-toe", "--memory-limit", "2000000"],
      1,
      /memory|needs about/i,
    ],
    [
      "prompts too long",
      () => ["train", "--model", model, "--task", "tic-tac-toe", "--max-length", "20", "--max-completion-length", "4"],
      1,
      /every training prompt has 20 tokens or more/,
    ],
  ];

  test.each(cases)("%s", async (_name, args, code, message) => {
    const list = typeof args === "function" ? args() : args;
    const [plain, asJson] = await Promise.all([hone(list, { home }), hone([...list, "--json"], { home })]);
    expect(plain.stderr).toMatch(message);
    expect(plain.stderr).not.toMatch(/\n\s+at /);
    expect(plain.code).toBe(code);
    expect(plain.stdout).toBe("");

    expect(asJson.code).toBe(code);
    expect(asJson.stdout).toBe("");
    const lastLine = asJson.stderr.trimEnd().split("\n").at(-1) ?? "";
    const { error } = errorOutputSchema.parse(JSON.parse(lastLine));
    expect(error.message.length).toBeGreaterThan(5);
  });

  test("--verbose shows where an error came from", async () => {
    const { stderr, code } = await hone(["score", "--model", "/nowhere", "--ids", "1,2", "--verbose"], { home });
    expect(code).toBe(1);
    expect(stderr).toMatch(/\n\s+at /);
  });

  test("a run folder is not overwritten", async () => {
    const output = join(scratch, "mine");
    const args = ["train", "--model", model, "--task", "tic-tac-toe", ...quick, "--output-dir", output];
    expect((await hone(args, { home })).code).toBe(0);
    const before = readFileSync(join(output, "metrics.jsonl"), "utf8");
    const again = await hone(args, { home });
    expect(again).toMatchObject({ code: 1, stderr: expect.stringMatching(/already exists[^]*hone resume/) });
    expect(readFileSync(join(output, "metrics.jsonl"), "utf8")).toBe(before);
    expect(existsSync(join(output, "run.lock"))).toBe(false);
  });
});
