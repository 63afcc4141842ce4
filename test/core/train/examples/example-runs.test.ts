/** Whole runs of SFT and DPO on a tabular model: what they learn, when they stop, how they go on. */

import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { RunConfigInput } from "../../../../core/contract/config.ts";
import { readJsonLines } from "../../../../core/files/jsonl.ts";
import { mean } from "../../../../core/contract/numbers.ts";
import { checkpointFolder, listCheckpoints, readTrainerState } from "../../../../core/train/run-folder/checkpoints.ts";
import { RunFolder } from "../../../../core/train/run-folder/run-folder.ts";
import { resumeTraining, startTraining } from "../../../../core/train/run.ts";
import { comparableMetrics, toyModelFolder, toyRun, type ToyRun } from "../toy-run.ts";

const model = toyModelFolder();
const base: RunConfigInput = {
  model,
  task: "tic-tac-toe",
  finetuning_type: "full",
  learning_rate: 0.05,
  batch_size: 8,
  max_steps: 10,
  max_completion_length: 4,
  eval_steps: 4,
  eval_size: 16,
  save_steps: 3,
};

const kinds = [
  { method: "sft", finetuning_type: "full" },
  { method: "sft", finetuning_type: "lora" },
  { method: "dpo", finetuning_type: "full" },
  { method: "dpo", finetuning_type: "lora" },
] as const;

async function run(extra: RunConfigInput, toy: ToyRun = toyRun()) {
  await startTraining(toy.context, { ...base, output_dir: toy.output, ...extra });
  return toy;
}

/** Tokens of the batches that were learnt from, in order. */
function learntTokens({ engine }: ToyRun): string[] {
  return engine.opened[0].forwards
    .filter(({ options }) => options.grad === true)
    .map(({ batch }) => [...batch.tokens].join(" "));
}

describe.each(kinds)("$method, $finetuning_type", (extra) => {
  let whole: ToyRun;
  beforeAll(async () => {
    whole = await run(extra);
  });

  test("learns", async () => {
    const { output } = await run({ ...extra, max_steps: 30, eval_steps: 30, learning_rate: 0.2 });
    const rows = comparableMetrics(output);
    const level = (end: number) => mean(rows.slice(end - 4, end + 1).map(({ loss }) => loss));
    expect(level(30)).toBeLessThan(0.95 * level(5));
    if (extra.method === "sft") expect(rows[30].eval_loss).toBeLessThan(0.8 * rows[0].eval_loss);
    else expect(rows[30].eval_preference_accuracy).toBeGreaterThan(rows[0].eval_preference_accuracy);
    expect(rows[30].eval_reward).toBeGreaterThan(rows[0].eval_reward);
    for (const row of rows.slice(1)) {
      expect(row).toMatchObject({ nonfinite_steps: 0, learning_rate: expect.any(Number) });
    }
  });

  test("stopped and resumed equals unbroken, bit for bit (D2)", async () => {
    const toy = toyRun((event, { abort }) => {
      if (event.type === "phase" && event.phase === "updating" && event.step === 6) abort.abort();
    });
    const input = { ...base, output_dir: toy.output, ...extra };
    expect(await startTraining(toy.context, input)).toMatchObject({ finished: false, state: { step: 5 } });
    expect(await resumeTraining(toyRun().context, toy.output)).toMatchObject({ finished: true });
    expect(comparableMetrics(toy.output)).toEqual(comparableMetrics(whole.output));
    const state = (path: string) => readFileSync(join(checkpointFolder(path, 10), "optimizer.safetensors"), "utf8");
    expect(state(toy.output)).toBe(state(whole.output));
  });

  test("killed after its last checkpoint, it does the lost steps again (D7)", async () => {
    const toy = toyRun((event, { engine }) => {
      if (event.type !== "step" || event.row.step !== 5) return;
      engine.opened[0].before.optimStep = () => {
        throw new Error("killed");
      };
    });
    await expect(run(extra, toy)).rejects.toThrow("killed");
    await resumeTraining(toyRun().context, toy.output);
    expect(comparableMetrics(toy.output)).toEqual(comparableMetrics(whole.output));
  });

  test("7 steps with a save interval of 100 leave a checkpoint at 7 (D1)", async () => {
    const { output } = await run({ ...extra, max_steps: 7, save_steps: 100, eval_steps: 0, eval_on_start: false });
    expect(await listCheckpoints(output)).toEqual([7]);
    expect(readTrainerState(checkpointFolder(output, 7))).toMatchObject({
      data_cursor: { epoch: 0, index: 56 },
      has_reference: extra.method === "dpo",
      num_rollouts: 0,
    });
  });

  test("one pass or many small ones: the same steps (B1, B2)", async () => {
    const one = comparableMetrics(whole.output);
    for (const micro_batch_tokens of [1, 13]) {
      const parts = comparableMetrics((await run({ ...extra, micro_batch_tokens })).output);
      for (const step of [1, 5, 10]) {
        for (const name of ["loss", "grad_norm"]) expect(parts[step][name], name).toBeCloseTo(one[step][name], 6);
      }
    }
  });

  test("the same seed gives the same run; another order follows from another seed (D5)", async () => {
    const [again, other] = [await run(extra), await run({ ...extra, seed: 7, max_steps: 2 })];
    expect(comparableMetrics(again.output)).toEqual(comparableMetrics(whole.output));
    expect(learntTokens(other)).not.toEqual(learntTokens(whole).slice(0, 2));
  });
});

describe("SFT", () => {
  test("every epoch has another order, and every row once (D5)", async () => {
    const task = dataFile(Array.from({ length: 9 }, (_, i) => ({ text: `${1 + i}` })));
    const toy = await run({ method: "sft", task, batch_size: 1, max_steps: undefined, num_train_epochs: 3 });
    const order = learntTokens(toy);
    const size = order.length / 3;
    const epochs = [0, 1, 2].map((epoch) => order.slice(epoch * size, (epoch + 1) * size));
    expect(new Set(epochs.map((epoch) => epoch.join())).size).toBe(3);
    for (const epoch of epochs) expect([...epoch].sort()).toEqual([...epochs[0]].sort());
  });

  test("a row of a file with only text is trained on every token; without a reward the loss decides what is best", async () => {
    const task = dataFile(Array.from({ length: 30 }, (_, i) => ({ text: `${1 + (i % 9)} 3 ${1 + (i % 7)}` })));
    const toy = await run({ method: "sft", task, learning_rate: 0.2 });
    const rows = comparableMetrics(toy.output);
    expect(rows[0].eval_reward).toBeUndefined();
    expect(rows[10].loss).toBeLessThan(rows[1].loss);
    expect(readTrainerState(checkpointFolder(toy.output, 10)).best).toMatchObject({ metric: "eval_loss" });
    expect(rows[10].mean_token_accuracy).toBeGreaterThanOrEqual(0);
    expect(rows[10].mean_token_accuracy).toBeLessThanOrEqual(1);
    expect(toy.events).toContainEqual(expect.objectContaining({ type: "begin", method: "sft" }));
  });
});

describe("DPO", () => {
  test("begins at ln 2 with margin 0, also with label smoothing", async () => {
    for (const label_smoothing of [0, 0.1]) {
      for (const finetuning_type of ["full", "lora"] as const) {
        const { output } = await run({ method: "dpo", finetuning_type, label_smoothing, max_steps: 1 });
        const [before, first] = comparableMetrics(output);
        expect(before.eval_loss).toBeCloseTo(Math.LN2, 6);
        expect(first.loss).toBeCloseTo(Math.LN2, 6);
        expect(first).toMatchObject({ "rewards/margins": 0, "rewards/accuracies": 0 });
        expect(first["logps/chosen"]).toBeLessThan(0);
      }
    }
  });

  test("a pair is never split: every pass holds whole pairs, whatever its size (B3)", async () => {
    const toy = await run({ method: "dpo", micro_batch_tokens: 7, max_steps: 2, eval_steps: 0, eval_on_start: false });
    const passes = toy.engine.opened[0].forwards.filter(({ options }) => options.grad === true);
    expect(passes.length).toBeGreaterThan(4);
    for (const { batch } of passes) {
      const answers = batch.segments.filter(({ parent }) => parent !== undefined);
      expect(answers.length % 2).toBe(0);
    }
  });

  test("the order within a batch changes nothing (B3)", async () => {
    const task = dataFile(
      Array.from({ length: 12 }, (_, i) => {
        const call = (square: number) => [
          { role: "assistant", tool_calls: [{ function: { name: "c", arguments: { square } } }] },
        ];
        return { prompt: `\n\n${1 + (i % 9)}`, chosen: call(1 + (i % 9)), rejected: call(1 + ((i * 5 + 3) % 9)), i };
      }),
    );
    const losses = async (seed: number, micro_batch_tokens: number) => {
      const { output } = await run({ method: "dpo", task, seed, batch_size: 200, micro_batch_tokens, max_steps: 3 });
      // Every pair stands in the batch equally often.
      expect(200 % new RunFolder(output).readConfig().record.data.train).toBe(0);
      return comparableMetrics(output)
        .slice(1)
        .map(({ loss }) => loss);
    };
    const [one, other] = [await losses(1, 4096), await losses(2, 5)];
    one.forEach((loss, i) => expect(other[i]).toBeCloseTo(loss, 6));
    expect(one[2]).toBeLessThan(one[0]);
  });

  test("full: the reference is scored once, kept, and never from weights that have moved", async () => {
    const toy = await run({ method: "dpo", max_steps: 6 });
    const path = join(toy.output, "reference.jsonl");
    const kept = readFileSync(path, "utf8");
    expect(readJsonLines(path).rows[0]).toMatchObject({ logprob: expect.any(Number) });
    await resumeTraining(toyRun().context, toy.output, { maxSteps: 8 });
    expect(readFileSync(path, "utf8")).toBe(kept);
    // Lost, it is made again from a second copy of the model that the run began with.
    rmSync(path);
    const again = toyRun();
    await resumeTraining(again.context, toy.output, { maxSteps: 10 });
    expect(readFileSync(path, "utf8")).toBe(kept);
    expect(again.engine.opened).toHaveLength(2);
    expect(again.engine.opened.every(({ closed }) => closed)).toBe(true);
    writeFileSync(path, kept.split("\n").slice(0, 3).join("\n") + "\n");
    await expect(resumeTraining(toyRun().context, toy.output, { maxSteps: 12 })).rejects.toMatchObject({
      code: "other-data",
    });
  });

  test("a fresh adapter needs no file: its base is the reference", async () => {
    const { output } = await run({ method: "dpo", finetuning_type: "lora", max_steps: 2 });
    expect(existsSync(join(output, "reference.jsonl"))).toBe(false);
  });
});

describe("early stopping", () => {
  const worse = { method: "sft", max_steps: 40, eval_steps: 2, early_stopping_patience: 3 } as const;

  test("ends the run after so many evaluations without a better one, says so, and the run counts as finished", async () => {
    // The validation reward cannot rise with weights that hardly move.
    const toy = toyRun();
    const input = { ...base, ...worse, learning_rate: 1e-12, output_dir: toy.output };
    const { finished, state } = await startTraining(toy.context, input);
    expect({ finished, step: state.step }).toEqual({ finished: true, step: 8 });
    expect(await listCheckpoints(toy.output)).toContain(8);
    expect(toy.events).toContainEqual({
      type: "note",
      message: expect.stringMatching(
        /stopped early after step 8: the validation reward was not better in the last 3 evaluations/,
      ),
    });
    await expect(resumeTraining(toyRun().context, toy.output)).rejects.toMatchObject({
      code: "run-finished",
      message: expect.stringMatching(/ended early after 8 steps/),
    });
    const more = await resumeTraining(toyRun().context, toy.output, { maxSteps: 12 });
    expect(more.state.step).toBe(12);
  });

  test("a run that becomes better goes on to its end", async () => {
    const { output } = await run({ ...worse, max_steps: 12, learning_rate: 0.1 });
    expect(await listCheckpoints(output)).toContain(12);
  });
});

const home = process.env["HONE_HOME"];
afterEach(() => {
  if (home === undefined) delete process.env["HONE_HOME"];
  else process.env["HONE_HOME"] = home;
});

test("two runs begun at the same moment get two names", async () => {
  process.env["HONE_HOME"] = mkdtempSync(join(tmpdir(), "hone-home-"));
  const begin = () => startTraining(toyRun().context, { ...base, method: "sft", max_steps: 2 });
  const runs = await Promise.all([begin(), begin(), begin()]);
  expect(runs.map((one) => basename(one.run).slice(-3)).sort()).toEqual(["001", "002", "003"]);
  expect(readdirSync(join(process.env["HONE_HOME"], "runs"))).toHaveLength(3);
});

describe("refused before a model is opened", () => {
  const text = { text: "1 2 3" };
  const pair = { prompt: "1", chosen: "2", rejected: "3" };
  test.each<[string, object, RunConfigInput, RegExp, RegExp]>([
    ["B14", text, { method: "gspo" }, /no reward to learn from/, /--method sft, or give a reward/],
    ["B14", text, { method: "dpo" }, /no pairs of a better and a worse answer, which method dpo/, /--method sft/],
    ["B14", pair, { method: "ppo" }, /no reward to learn from/, /--method .*dpo/],
  ])("%s: %j with %j", async (_, row, extra, message, fix) => {
    const toy = toyRun();
    const task = dataFile(Array.from({ length: 20 }, (__, i) => ({ ...row, note: i })));
    await expect(
      startTraining(toy.context, { ...base, batch_size: undefined, max_steps: undefined, ...extra, task }),
    ).rejects.toMatchObject({
      code: "method-needs",
      message: expect.stringMatching(message),
      fix: expect.stringMatching(fix),
    });
    expect(toy.engine.opened).toEqual([]);
  });

  test("A13: an unknown schedule, by any method", async () => {
    for (const method of ["sft", "dpo"] as const) {
      const toy = toyRun();
      const input = { ...base, method, lr_scheduler_type: "polynomial" } as unknown as RunConfigInput;
      await expect(startTraining(toy.context, input)).rejects.toMatchObject({ code: "bad-config" });
      expect(toy.engine.opened).toEqual([]);
    }
  });
});

/** A JSON Lines file of its own folder. */
function dataFile(rows: readonly object[]): string {
  const path = join(mkdtempSync(join(tmpdir(), "hone-data-")), "rows.jsonl");
  writeFileSync(path, rows.map((row) => JSON.stringify(row) + "\n").join(""));
  return path;
}
