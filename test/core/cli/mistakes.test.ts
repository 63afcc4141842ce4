/** A user's mistakes: one clear message, no stack trace, the right exit code, and the same as JSON. */

import { cpSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
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

function damagedModel(): string {
  const folder = mkdtempSync(join(scratch, "model-"));
  cpSync(model, folder, { recursive: true });
  writeFileSync(join(folder, "config.json"), "{");
  return folder;
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
    [
      "unknown task",
      () => ["eval", "--model", model, "--task", "chess"],
      1,
      /no task, task folder or data file "chess"[^]*tic-tac-toe/,
    ],
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
    [
      "an answer file where none can be",
      () => ["eval", "--model", model, "--task", "tic-tac-toe", "--out", join(scratch, "no", "where.json")],
      2,
      /there is no folder .*no\n/,
    ],
    [
      "an answer file that is a folder",
      () => ["eval", "--model", model, "--task", "tic-tac-toe", "--out", scratch],
      2,
      /is a folder, not a file/,
    ],
    [
      "a run folder inside a file",
      () => ["train", "--model", model, "--task", "tic-tac-toe", "--output-dir", join(file("f.txt", ""), "run")],
      1,
      /cannot write to .*f\.txt: it is a file/,
    ],
    [
      "a demo inside a file",
      () => ["demo", "--model", model, "--out", join(file("f.txt", ""), "run")],
      1,
      /it is a file/,
    ],
    ["a plan of a resumed run", ["train", "--resume", "x", "--dry-run"], 2, /--dry-run plans a new run/],
    ["a config for a resumed run", ["train", "--resume", "x", "--config", "y.json"], 2, /--config cannot be given/],
    [
      "an amount of memory",
      () => ["score", "--model", model, "--memory-limit", "much", "--ids", "1,2"],
      2,
      /500MB or 4GB/,
    ],
    ["no model's name", ["score", "--model", "", "--ids", "1,2"], 1, /name is empty/],
    ["a share above 1", () => ["chat", "--model", model, "--prompt", "x", "--top-p", "2"], 2, /from 0\.000001 to 1/],
    [
      "tools that are none",
      () => [
        "template",
        "render",
        "--model",
        model,
        "--messages",
        file("m1.json", []),
        "--tools",
        file("t.json", [{}]),
      ],
      2,
      /t\.json, tool 1: type: [^]*a tool is/,
    ],
    [
      "a file that is missing",
      () => ["template", "render", "--model", model, "--messages", "none.json"],
      1,
      /none\.json: there is no such file/,
    ],
    [
      "a damaged model configuration",
      () => ["score", "--model", damagedModel(), "--ids", "1,2"],
      1,
      /config\.json is not valid JSON/,
    ],
    ["a measurement that is none", ["bench", "--only", "nothing"], 1, /no measurement has "nothing"[^]*gemm_gflops/],
    ["a bench file that is missing", ["bench", "--gguf", "/nowhere/x.gguf"], 2, /no file \/nowhere\/x\.gguf/],
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
      /none of the 64 prompts[^]*room for an answer[^]*max_length/,
    ],
  ];

  test.each(cases)("%s", async (_name, args, code, message) => {
    const list = typeof args === "function" ? args() : args;
    // One after the other: at the same moment both would want the same name for a new run.
    const plain = await hone(list, { home });
    const asJson = await hone([...list, "--json"], { home });
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
