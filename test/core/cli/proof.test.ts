/** Measuring, the whole loop with any method, and the advice before it, as commands. */

import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import { adviceOutputSchema } from "../../../core/contract/advice.ts";
import { demoOutputSchema } from "../../../core/contract/cli-json.ts";
import { evalOutputSchema } from "../../../core/contract/eval.ts";
import { tinyModel } from "../train/tiny-model.ts";
import { hone, newHome } from "./hone.ts";

const home = newHome();
const scratch = mkdtempSync(join(tmpdir(), "hone-proof-"));
let model: string;

beforeAll(async () => {
  model = await tinyModel();
});

async function text(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await hone(args, { home });
  expect(code, stderr).toBe(0);
  return stdout;
}

async function json<T>(schema: z.ZodType<T>, args: readonly string[]): Promise<T> {
  return schema.parse(JSON.parse(await text([...args, "--json"])));
}

/** Forty short questions with their answers. */
function dataFile(): string {
  const path = join(scratch, "colours.jsonl");
  const colours = ["red", "blue", "green", "white"];
  const rows = Array.from({ length: 40 }, (_, i) => ({ question: `Row ${i}?`, colour: colours[i % 4] }));
  writeFileSync(path, rows.map((row) => JSON.stringify(row) + "\n").join(""));
  return path;
}

/** The file's columns are not called as the fields are. */
const columns = ["--map", "prompt=question", "--map", "completion=colour"];

const quick = ["--limit", "16", "--games", "0", "--max-completion-length", "24", "--eval-size", "8"];

describe("demo", () => {
  test(
    "sft on a task with a reward: loss, reward, errors and the control, before and after",
    { timeout: 120_000 },
    async () => {
      const out = join(scratch, "sft");
      const args = [
        "demo",
        "--model",
        model,
        "--method",
        "sft",
        "--steps",
        "4",
        "--learning-rate",
        "1e-3",
        "--finetuning-type",
        "full",
        ...quick,
      ];
      const demo = await json(demoOutputSchema, [...args, "--out", out]);
      expect(demo.change.solution_loss!.hi).toBeLessThan(0);
      expect(demo.after.solution!.loss.mean).toBeLessThan(demo.before.solution!.loss.mean);
      expect(demo.before.control!.answers).toHaveLength(40);
      expect(demo.change.control).not.toBeNull();
      expect(demo.train).toMatchObject({ steps: 4, rollouts: 0 });
      expect(demo.verdict.join(" ")).toMatch(/Right answers that it has never seen are more likely/);
      const page = readFileSync(demo.report, "utf8");
      for (const part of ["Loss, per token", "Which errors", "Control", "simple instructions followed", "of SFT"]) {
        expect(page).toContain(part);
      }
      expect(page).not.toMatch(/NaN|undefined|Whole games/);
      const report = readFileSync(join(out, "report.txt"), "utf8");
      expect(report).toMatch(/answers to 8 boards, evenly spaced\n.*\n {2}before, reward/);
      expect(report).not.toMatch(/NaN|undefined/);
    },
  );

  test("dpo: pairs, against the model it began with", { timeout: 120_000 }, async () => {
    const args = ["demo", "--model", model, "--method", "dpo", "--steps", "3", "--no-control", ...quick];
    const demo = await json(demoOutputSchema, [...args, "--out", join(scratch, "dpo")]);
    expect(demo.before.preference).toMatchObject({ margin: null });
    expect(demo.after.preference!.margin).not.toBeNull();
    expect(demo.change.preference_accuracy).not.toBeNull();
    expect(demo.change.control).toBeNull();
    expect(demo.before.control).toBeNull();
    expect(readFileSync(join(scratch, "dpo", "curves.svg"), "utf8")).toContain("Pairs moved the right way");
  });

  test("sft on a data file without a reward", { timeout: 120_000 }, async () => {
    const out = join(scratch, "file");
    const args = ["demo", "--task", dataFile(), "--model", model, "--method", "sft", "--max-steps", "3", ...quick];
    const demo = await json(demoOutputSchema, [...args, ...columns, "--output-dir", out]);
    // A run is measured on the columns that it was trained on.
    const measure = ["eval", "--task", dataFile(), "--limit", "4", "--max-completion-length", "8"];
    expect((await json(evalOutputSchema, [...measure, "--model", out])).solution).not.toBeNull();
    expect((await json(evalOutputSchema, [...measure, "--model", model, ...columns])).solution).not.toBeNull();
    expect((await hone([...measure, "--model", model], { home })).stderr).toContain("--map");
    expect(demo.before).toMatchObject({ reward: null, failures: {} });
    expect(demo.before).not.toHaveProperty("boards");
    expect(demo.change).toMatchObject({ reward: null });
    expect(demo.change.solution_loss).not.toBeNull();
    const report = readFileSync(join(out, "report.txt"), "utf8");
    expect(report).toContain("loss of right answers, per token");
    expect(report).not.toMatch(/mean reward|board|legal|NaN|undefined/);
  });

  test("what is given twice, or to a run with other options, is refused", async () => {
    const refuse = async (args: readonly string[], code: number, says: RegExp) => {
      const run = await hone(["demo", "--model", model, ...args], { home });
      expect(run.code, run.stderr).toBe(code);
      expect(run.stderr).toMatch(says);
    };
    await refuse(["--steps", "3", "--max-steps", "4"], 2, /are the same: give one/);
    await refuse(["--out", "a", "--output-dir", "b"], 2, /are the same: give one/);
    await refuse(["--task", "tic-tac-to"], 1, /tic-tac-toe/);
    await refuse(
      ["--method", "sft", "--num-generations", "4", "--steps", "2"],
      2,
      /num_generations has no effect with method sft/,
    );
    await refuse(["--method", "gspo", "--out", join(scratch, "dpo")], 1, /holds a run with method dpo, not gspo/);
  });
});

test(
  "eval --control measures the unrelated set, and says in words which errors there are",
  { timeout: 60_000 },
  async () => {
    const args = [
      "eval",
      "--model",
      model,
      "--task",
      "tic-tac-toe",
      "--limit",
      "8",
      "--games",
      "0",
      "--max-completion-length",
      "24",
    ];
    const report = await json(evalOutputSchema, [...args, "--control"]);
    expect(report.control!.texts.length).toBeGreaterThan(30);
    expect(report.control!.text_loss.mean).toBeGreaterThan(0);
    expect(report.solution!.loss.mean).toBeGreaterThan(0);
    const { call, rules, state, choice } = report.faults;
    expect(call + rules + state + choice).toBeLessThanOrEqual(1);
    expect(await json(evalOutputSchema, [...args, "--control"])).toEqual(report);
    const said = await text([...args, "--control"]);
    for (const part of [
      "errors, most basic first",
      "% of answers",
      "simple instructions followed",
      "loss of right answers",
    ]) {
      expect(said).toContain(part);
    }
    expect((await json(evalOutputSchema, args)).control).toBeNull();
  },
);

describe("advise", () => {
  test("answers the five questions from the data alone", async () => {
    const advice = await json(adviceOutputSchema, ["advise", "tic-tac-toe"]);
    expect(advice.conditions.map(({ name, verdict }) => [name, verdict])).toEqual([
      ["rules", "yes"],
      ["reproducible", "unclear"],
      ["judged", "yes"],
      ["recurs", "yes"],
      ["behaviour", "yes"],
    ]);
    expect(advice).toMatchObject({ model: null, verdict: "not_yet", method: { name: "sft" } });
  });

  test("with a model it measures a baseline and says where to begin", { timeout: 60_000 }, async () => {
    const args = ["advise", "tic-tac-toe", "--model", model, "--rows", "16", "--max-completion-length", "24"];
    const advice = await json(adviceOutputSchema, args);
    const [, reproducible] = advice.conditions;
    expect(reproducible.evidence["error_rate"]).toBeGreaterThan(0.2);
    // Its squares are drawn at random, so some answers are better than others.
    expect(advice.method).toMatchObject({ name: "gspo" });
    expect(advice.command).toContain("--method gspo");
    const said = await text(args);
    expect(said).toContain("Does the same error come back?");
    expect(said).toContain("Begin with GSPO.");
  });

  test("a data file without a reward: what speaks against it, and what to do instead", async () => {
    const advice = await json(adviceOutputSchema, ["advise", dataFile(), ...columns]);
    const of = (name: string) => advice.conditions.find((one) => one.name === name);
    expect(of("rules")).toMatchObject({ verdict: "unclear" });
    expect(of("judged")).toMatchObject({ verdict: "yes" });
    expect(of("recurs")?.verdict).not.toBe("yes");
    expect(advice.method).toMatchObject({ name: "sft" });
    for (const one of advice.conditions) if (one.verdict !== "yes") expect(one.instead).not.toBeNull();
  });

  test("refuses what it cannot use", async () => {
    const none = await hone(["advise", "tic-tac-to"], { home });
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("tic-tac-toe") as string });
    const idle = await hone(["advise", "tic-tac-toe", "--max-completion-length", "8"], { home });
    expect(idle).toMatchObject({ code: 2, stderr: expect.stringContaining("--model only") as string });
    expect((await hone(["advise"], { home })).code).toBe(2);
  });
});
