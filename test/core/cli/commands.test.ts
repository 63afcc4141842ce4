/** Every documented command, run as a user runs it. */

import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import {
  benchOutputSchema,
  chatOutputSchema,
  demoOutputSchema,
  devicesOutputSchema,
  listOutputSchema,
  parseOutputSchema,
  playOutputSchema,
  renderOutputSchema,
  runPlanSchema,
  scoreOutputSchema,
  showOutputSchema,
  starterOutputSchema,
  trainOutputSchema,
} from "../../../core/contract/cli-json.ts";
import { evalOutputSchema, evaluationSchema } from "../../../core/contract/eval.ts";
import { tinyModel } from "../train/tiny-model.ts";
import { hone, newHome } from "./hone.ts";

let model: string;
const home = newHome();
const scratch = mkdtempSync(join(tmpdir(), "hone-cli-"));

beforeAll(async () => {
  model = await tinyModel();
});

/** Runs a command with `--json`: exit code 0, one document of the given shape on stdout. */
async function json<T extends z.ZodType>(schema: T, args: string[], input?: string): Promise<z.output<T>> {
  const { code, stdout, stderr } = await hone([...args, "--json"], { home, ...(input !== undefined && { input }) });
  expect(code, stderr).toBe(0);
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  return schema.parse(JSON.parse(stdout));
}

async function text(args: string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await hone(args, { home, ...(input !== undefined && { input }) });
  expect(code, stderr).toBe(0);
  return stdout;
}

const quick = [
  "--max-steps",
  "2",
  "--prompts-per-step",
  "2",
  "--num-generations",
  "2",
  "--max-completion-length",
  "32",
  "--eval-size",
  "8",
  "--finetuning-type",
  "full",
];

function file(name: string, content: unknown): string {
  const path = join(scratch, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

const tools = [
  {
    type: "function",
    function: {
      name: "choose_square",
      parameters: { type: "object", properties: { square: { type: "integer" } }, required: ["square"] },
    },
  },
];

describe("score", () => {
  test("ids need no tokenizer; index t is about token t + 1", async () => {
    const scored = await json(scoreOutputSchema, ["score", "--model", model, "--ids", "5,6, 7 8"]);
    expect(scored.tokens).toEqual([5, 6, 7, 8]);
    expect(scored.logprobs).toHaveLength(3);
    expect(scored.entropy).toHaveLength(3);
    for (const logprob of scored.logprobs) expect(logprob).toBeLessThan(0);
    const shorter = await json(scoreOutputSchema, ["score", "--model", model, "--ids", "5,6,7"]);
    shorter.logprobs.forEach((logprob, i) => expect(logprob).toBeCloseTo(scored.logprobs[i], 5));
  });

  test("text, also from stdin, with the perplexity for people", async () => {
    const given = await json(scoreOutputSchema, ["score", "--model", model, "--text", "Your move:"]);
    expect(await json(scoreOutputSchema, ["score", "--model", model, "--text", "-"], "Your move:")).toEqual(given);
    const mean = given.logprobs.reduce((sum, value) => sum + value, 0) / given.logprobs.length;
    expect(await text(["score", "--model", model, "--text", "Your move:"])).toContain(
      `perplexity ${Math.exp(-mean).toFixed(3)}`,
    );
  });
});

describe("template", () => {
  const messages = () =>
    file("messages.json", [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Ho" },
    ]);

  test("render marks what a loss would use", async () => {
    const {
      text: rendered,
      ids,
      trained,
    } = await json(renderOutputSchema, ["template", "render", "--model", model, "--messages", messages()]);
    expect(rendered).toBe("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHo<|im_end|>\n");
    expect(trained).toHaveLength(ids.length);
    expect(trained.filter(Boolean).length).toBeGreaterThan(1);
    const prompt = await json(renderOutputSchema, [
      "template",
      "render",
      "--model",
      model,
      "--messages",
      file("one.json", [{ role: "user", content: "Hi" }]),
      "--tools",
      file("tools.json", tools),
      "--generation-prompt",
    ]);
    expect(prompt.text).toMatch(/^choose_square .*assistant\n$/s);
    expect(await text(["template", "render", "--model", model, "--messages", messages()])).toContain(
      `${ids.length} tokens`,
    );
  });

  test("parse takes an answer apart", async () => {
    const answer = '<tool_call>{"name": "choose_square", "arguments": {"square": 5}}</tool_call>';
    const args = ["template", "parse", "--model", model, "--tools", file("tools.json", tools)];
    const parsed = await json(parseOutputSchema, [...args, "--text", answer]);
    expect(parsed).toEqual({
      content: "",
      reasoning: "",
      tool_calls: [{ name: "choose_square", arguments: { square: 5 } }],
      problems: [],
    });
    expect(await json(parseOutputSchema, [...args, "--text", "five"])).toMatchObject({
      tool_calls: [],
      problems: [{ code: "no_call" }],
    });
    expect(await text([...args, "--text", answer])).toContain('choose_square {"square":5}');
  });
});

describe("eval", () => {
  const args = () => ["eval", "--model", model, "--task", "tic-tac-toe", "--max-completion-length", "32"];

  test("reports the whole held-out part with intervals and games; the same seed gives the same figures", async () => {
    const report = await json(evalOutputSchema, [...args(), "--games", "2"]);
    expect(report).toMatchObject({ task: "tic-tac-toe", split: "held-out", boards: 448, samples: 1 });
    expect(report.reward!.lo).toBeLessThan(report.reward!.mean);
    expect(Object.keys(report.failures)).toContain("no_call");
    for (const opponent of ["random", "minimax"]) {
      for (const side of ["x", "o"] as const) {
        const { win, draw, loss, illegal } = report.games[opponent][side];
        expect(win + draw + loss + illegal).toBe(2);
      }
    }
    expect(await json(evalOutputSchema, [...args(), "--games", "2"])).toEqual(report);
  });

  test("options are followed", async () => {
    const out = join(scratch, "answers.json");
    const report = await json(evalOutputSchema, [
      ...[...args(), "--split", "validation", "--samples", "2", "--limit", "5", "--no-greedy", "--games", "0"],
      ...["--temperature", "0.5", "--seed", "3", "--out", out],
    ]);
    expect(report).toMatchObject({
      split: "validation",
      samples: 2,
      greedy: null,
      games: {},
      temperature: 0.5,
      seed: 3,
    });
    expect(report.boards).toBeGreaterThanOrEqual(5);
    expect(report.boards).toBeLessThan(20);
    const { items } = evaluationSchema.parse(JSON.parse(readFileSync(out, "utf8")));
    expect(items).toHaveLength(2 * report.rows);
    expect(await text([...args(), "--limit", "5", "--games", "1"])).toMatch(
      /mean reward.*\n(.*\n)*.*as X against random/,
    );
  });
});

describe("train, resume, ls, show, play", () => {
  test("a run in the library from begin to end", async () => {
    const config = file("config.json", { model, task: "tic-tac-toe", learning_rate: 0.5, lr: 0.5 });
    const plan = await json(runPlanSchema, [
      "train",
      "--config",
      config,
      ...quick,
      "--learning_rate",
      "1e-3",
      "--dry-run",
    ]);
    expect(plan).toMatchObject({ steps: 2, answers_per_step: 4, config: { learning_rate: 1e-3, method: "gspo" } });
    expect(plan.memory_bytes.total).toBeGreaterThan(0);
    expect(plan.seconds.per_step).toBeGreaterThan(0);
    expect(await json(listOutputSchema, ["ls"])).toEqual({ runs: [] });
    expect(await text(["train", "--config", config, ...quick, "--dry-run"])).toContain("tokens per step");

    const trained = await json(trainOutputSchema, ["train", "--config", config, ...quick, "--learning-rate", "1e-3"]);
    expect(trained).toMatchObject({ finished: true, steps: 2, rollouts: 8 });
    const { runs } = await json(listOutputSchema, ["ls"]);
    expect(runs).toEqual([expect.objectContaining({ path: trained.run, step: 2, total_steps: 2, checkpoints: [2] })]);
    const { name } = runs[0];
    expect(await text(["ls"])).toContain(name);

    const shown = await json(showOutputSchema, ["show", name]);
    expect(shown.metrics.map(({ step }) => step)).toEqual([0, 1, 2]);
    expect(shown.config).toEqual({ ...plan.config, output_dir: null });
    expect(await text(["show", name])).toMatch(/reward .*→/);
    expect(await text(["show", name, "--step", "1"])).toMatch(/prompt 0: .*\n(.*\n)*.*advantage/);

    expect(await json(trainOutputSchema, ["resume", name, "--max-steps", "3"])).toMatchObject({
      finished: true,
      steps: 3,
    });
    expect(await text(["resume", trained.run, "--max-steps", "4"])).toContain("done: 4 steps");

    for (const reference of [name, `${name}:3`, `${name}:best`, `${name}:last`, `${name}:0`]) {
      const report = await json(evalOutputSchema, [
        "eval",
        "--model",
        reference,
        "--task",
        "tic-tac-toe",
        "--limit",
        "3",
        "--games",
        "0",
      ]);
      expect(report.max_completion_length).toBe(32);
    }
    const games = await json(evalOutputSchema, [
      "eval",
      "--model",
      name,
      "--task",
      "tic-tac-toe",
      "--limit",
      "1",
      "--games",
      "1",
      "--opponent",
      `${name}:0`,
    ]);
    expect(Object.keys(games.games)).toEqual(["random", "minimax", `${name}:0`]);

    const played = await text(
      ["play", "--model", name, "--as", "x", "--max-completion-length", "32"],
      "5\n1 2 3 4 6 7 8 9\n",
    );
    expect(played).toContain(" ───┼───┼───");
    expect(played).toMatch(/you win|the model wins|a draw|loses/);
    expect(await text(["play", "--model", name], "o\n")).toMatch(/do you play x, who moves first, or o\?/);
    const played2 = await json(playOutputSchema, ["play", "--model", name, "--as", "x"], "5\nq\n");
    expect(played2).toMatchObject({ model: expect.stringMatching(/^tic-tac-toe-gspo-.*:\d$/), games: [{ side: "x" }] });
    expect(played2.games[0].moves[0]).toBe(5);
  });

  test("a configuration from stdin, and a run's own config.json, can begin a run", async () => {
    const output = join(scratch, "from-stdin");
    const first = await json(
      trainOutputSchema,
      ["train", "--config", "-", ...quick, "--output-dir", output],
      JSON.stringify({ model, task: "tic-tac-toe", method: "grpo" }),
    );
    expect(first.run).toBe(output);
    const again = join(scratch, "again");
    await json(trainOutputSchema, ["train", "--config", join(output, "config.json"), "--output-dir", again]);
    const read = (run: string) => JSON.parse(readFileSync(join(run, "config.json"), "utf8")) as Record<string, unknown>;
    const { record: _a, output_dir: _b, ...one } = read(output);
    const { record: _c, output_dir: _d, ...two } = read(again);
    expect(two).toEqual(one);
  });
});

test("chat answers once to what is piped in, streams text, and counts tokens", async () => {
  const answer = await json(
    chatOutputSchema,
    ["chat", "--model", model, "--max-tokens", "5", "--temperature", "0"],
    "Your move:",
  );
  expect(answer.usage.completion_tokens).toBeLessThanOrEqual(5);
  expect(answer.usage.total_tokens).toBe(answer.usage.prompt_tokens + answer.usage.completion_tokens);
  const args = [
    "chat",
    "--model",
    model,
    "--prompt",
    "Your move:",
    "--system",
    "Play",
    "--max-tokens",
    "30",
    "--temperature",
    "0",
  ];
  const full = await json(chatOutputSchema, args);
  expect((await text(args)).trim()).toBe(full.content.trim());
  const withTools = await json(chatOutputSchema, [...args, "--tools", file("tools.json", tools)]);
  expect(["stop", "tool_calls", "length"]).toContain(withTools.finish_reason);
});

test("devices", async () => {
  const { devices } = await json(devicesOutputSchema, ["devices"]);
  expect(devices[0].threads).toBeGreaterThan(0);
  expect(await text(["devices"])).toContain(devices[0].name);
});

test("starter", { timeout: 60_000 }, async () => {
  const out = join(scratch, "starter");
  const made = await json(starterOutputSchema, ["starter", "--out", out, "--steps", "1"]);
  expect(made).toMatchObject({ path: out, steps: 1 });
  expect(made.loss).toBeGreaterThan(1);
  expect(readdirSync(out)).toContain("model.safetensors");
});

test("bench", async () => {
  const args = ["bench", "--only", "gemm", "--runs", "1", "--threads", "1"];
  const { machine, results } = await json(benchOutputSchema, args);
  expect(Object.keys(machine).length).toBeGreaterThan(0);
  expect(results.map(({ name }) => name)).toEqual(["gemm_gflops"]);
  expect(await text(args)).toContain("gemm_gflops");
  const one = await json(benchOutputSchema, ["bench", "--only", "gspo_update_shared", "--runs", "1"]);
  expect(one.results.map(({ name }) => name)).toEqual(["gspo_update_shared_tok_s"]);
});

test(
  "demo: measures, trains, measures again, and reports in text, as a page and as pictures",
  { timeout: 120_000 },
  async () => {
    const out = join(scratch, "demo");
    const args = ["demo", "--model", model, "--steps", "3", "--games", "2", "--out", out];
    const demo = await json(demoOutputSchema, args);
    expect(demo).toMatchObject({ run: out, train: { steps: 3 } });
    expect(demo.before.boards).toBe(demo.after.boards);
    expect(Object.keys(demo.after.games)).toContain("base");
    const page = readFileSync(demo.report, "utf8");
    for (const part of [
      "<svg",
      "random legal 0.483",
      "best possible 0.923",
      "prefers-color-scheme",
      "Before and after",
      "Held-out boards",
      "<details>",
    ]) {
      expect(page).toContain(part);
    }
    expect(page).not.toMatch(/NaN|undefined/);
    expect(readFileSync(join(out, "curves.svg"), "utf8")).toMatch(/^<svg[^]*<\/svg>\n$/);
    const report = readFileSync(join(out, "report.txt"), "utf8");
    for (const part of [
      "mean reward",
      "single threats blocked",
      "as O against minimax",
      "peak memory",
      "model SHA-256",
      "hone demo",
    ]) {
      expect(report).toContain(part);
    }
    expect(readdirSync(join(out, "eval")).filter((name) => name.endsWith("held-out.json"))).toHaveLength(2);
    const board = (
      JSON.parse(readFileSync(join(out, "eval", "0-held-out.json"), "utf8")) as { items: { row_id: string }[] }
    ).items[0].row_id;
    expect(await json(demoOutputSchema, args)).toMatchObject({ after: demo.after, train: { steps: 3 } });
    expect(await hone([...args, "--seed", "7"], { home })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/seed 42/),
    });
    expect(await text(["show", out, "--board", board])).toMatch(/step 0, sampled: .*\n(.*\n)*step [1-3], sampled/);
  },
);

describe("help", () => {
  test("every command has one, grouped by intent", async () => {
    const top = await text(["--help"]);
    for (const group of ["The whole loop:", "Train:", "Measure:", "Try:", "Look:"]) expect(top).toContain(group);
    for (const command of [
      "demo",
      "eval",
      "train",
      "resume",
      "play",
      "chat",
      "score",
      "template",
      "ls",
      "show",
      "devices",
      "bench",
    ]) {
      expect(top).toMatch(new RegExp(`^  ${command} `, "m"));
      expect(await text([command, "--help"])).toContain(`Usage: hone ${command}`);
    }
    const train = await text(["train", "--help"]);
    for (const part of [
      "Optimizer:",
      "--learning-rate <number>",
      "Sampling and episodes:",
      "--config <file>",
      "--dry-run",
    ])
      expect(train).toContain(part);
    expect(await text([])).toContain("Usage: hone");
  });
});
