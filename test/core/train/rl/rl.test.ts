/** The loop on a tabular model: what it learns, what it writes, and that the update is the one it claims to be. */

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { manifestSchema, rolloutLineSchema, runFiles } from "../../../../core/contract/run.ts";
import { readJsonLines } from "../../../../core/files/jsonl.ts";
import { checkpointFolder, listCheckpoints } from "../../../../core/train/run-folder/checkpoints.ts";
import { startTraining } from "../../../../core/train/run.ts";
import { RunFolder } from "../../../../core/train/run-folder/run-folder.ts";
import { comparableMetrics, toyConfig, toyModelFolder, toyRun } from "../toy-run.ts";

const model = toyModelFolder();
const config = { ...toyConfig, model };

describe("a run", () => {
  test("learns: reward up, answers shorter, validation with it", async () => {
    const toy = toyRun();
    await startTraining(toy.context, {
      ...config,
      output_dir: toy.output,
      prompts_per_step: 16,
      num_generations: 8,
      max_steps: 100,
      eval_steps: 50,
      entropy_coef: 0.01,
    });
    const rows = comparableMetrics(toy.output);
    const mean = (name: string, from: number, to: number) =>
      rows.slice(from, to).reduce((sum, row) => sum + row[name], 0) / (to - from);
    expect(mean("reward", 1, 6)).toBeLessThan(-0.6);
    expect(mean("reward", 90, 101)).toBeGreaterThan(0.2);
    expect(mean("outcomes/legal", 90, 101)).toBeGreaterThan(0.9);
    expect(mean("completions/mean_length", 90, 101)).toBeLessThan(mean("completions/mean_length", 1, 6) - 0.5);
    expect(rows[0].eval_reward).toBeLessThan(-0.6);
    expect(rows[100].eval_reward).toBeGreaterThan(0.2);
  });

  test("writes the folder as documented, with every default", async () => {
    const toy = toyRun();
    const { finished, state } = await startTraining(toy.context, { ...config, output_dir: toy.output });
    expect(finished).toBe(true);
    expect(state).toMatchObject({ step: 10, global_step: 20, num_rollouts: 160 });
    const folder = RunFolder.open(toy.output);
    const stored = folder.readConfig();
    expect(stored.config).toMatchObject({
      method: "gspo",
      learning_rate: 0.05,
      seed: 42,
      threads: 1,
      weight_decay: 0.01,
    });
    expect(stored.config.micro_batch_tokens).toBeGreaterThan(0);
    expect(stored.record).toMatchObject({
      engine_version: "tabular 1",
      total_steps: 10,
      data: { task: "tic-tac-toe", train_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    const rows = folder.readMetrics();
    expect(rows.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for (const name of [
      "loss",
      "reward",
      "reward_std",
      "rewards/legal/mean",
      "rewards/win/std",
      "frac_reward_zero_std",
      "learning_rate",
      "grad_norm",
      "global_step",
      "epoch",
      "num_tokens",
      "entropy",
      "clip_ratio/low_mean",
      "clip_ratio/low_min",
      "clip_ratio/high_mean",
      "clip_ratio/high_max",
      "clip_ratio/region_mean",
      "completions/mean_length",
      "completions/min_length",
      "completions/max_length",
      "completions/clipped_ratio",
      "sampling/sampling_logp_difference/mean",
      "sampling/sampling_logp_difference/max",
      "tools/call_frequency",
      "step_time",
      "share_weights_changed",
      "skipped_rows/prompt_too_long",
      "nonfinite_steps",
      "stop_reason/eos",
      "peak_memory",
      "tokens_per_second",
      "outcomes/legal",
      "failures/occupied",
    ]) {
      expect(rows[5][name], name).toBeTypeOf("number");
    }
    expect(rows.filter((row) => row.eval_reward !== undefined).map(({ step }) => step)).toEqual([0, 4, 8, 10]);
    expect(rows[1]["share_weights_changed"]).toBeGreaterThan(0);
    expect(rows[1]["sampling/sampling_logp_difference/max"]).toBeLessThan(1e-6);

    const lines = readJsonLines(folder.rolloutFile(3)).rows.map((row) => rolloutLineSchema.parse(row));
    expect(lines).toHaveLength(16);
    for (const line of lines) {
      expect(line.logprobs).toHaveLength(line.completion_ids.length);
      expect(line.completion_ids.length).toBeGreaterThan(0);
    }
    expect(readdirSync(folder.file("evaluations")).sort()).toEqual([0, 10, 4, 8].map((s) => `${s}-validation.json`));
  });

  test("is the same for the same seed, another for another", async () => {
    const rewards = async (seed: number) => {
      const toy = toyRun();
      await startTraining(toy.context, { ...config, seed, output_dir: toy.output });
      return comparableMetrics(toy.output);
    };
    const [first, again, other] = [await rewards(1), await rewards(1), await rewards(2)];
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
  });

  test("trains on training rows, none of them twice in an epoch", async () => {
    const toy = toyRun();
    await startTraining(toy.context, {
      ...config,
      output_dir: toy.output,
      max_steps: null,
      num_train_epochs: 0.1,
      prompts_per_step: 32,
    });
    const { record, config: resolved } = RunFolder.open(toy.output).readConfig();
    expect(record.total_steps).toBe(Math.round((0.1 * record.data.train) / 32));
    expect(resolved.max_steps).toBeNull();
    const seen = readdirSync(join(toy.output, "rollouts")).flatMap((file) =>
      readJsonLines(join(toy.output, "rollouts", file))
        .rows.map((row) => rolloutLineSchema.parse(row))
        .filter((line) => line.sample_index === 0)
        .map((line) => line.row_id),
    );
    expect(new Set(seen).size).toBe(seen.length);
  });
});

describe("the update (A1)", () => {
  test("the second update on the same rollouts has ratios other than 1, and the clip acts", async () => {
    const run = async (extra: object) => {
      const toy = toyRun();
      await startTraining(toy.context, {
        ...config,
        output_dir: toy.output,
        max_steps: 3,
        num_iterations: 2,
        num_mini_batches: 1,
        ...extra,
      });
      return comparableMetrics(toy.output);
    };
    const narrow = await run({});
    const wide = await run({ epsilon: 10, epsilon_high: 10 });
    expect(narrow[1].ratio_std).toBeGreaterThan(1e-3);
    expect(narrow[1]["clip_ratio/region_mean"]).toBeGreaterThan(0.1);
    expect(wide[1]["clip_ratio/region_mean"]).toBe(0);
    expect(narrow[1].grad_norm).not.toBe(wide[1].grad_norm);
  });

  test("one update per batch of rollouts never clips", async () => {
    const toy = toyRun();
    await startTraining(toy.context, { ...config, output_dir: toy.output, max_steps: 2, num_mini_batches: 1 });
    expect(comparableMetrics(toy.output)[1]).toMatchObject({
      ratio_std: expect.closeTo(0, 6),
      "clip_ratio/region_mean": 0,
    });
  });

  test.each(["gspo", "grpo"] as const)(
    "%s does not depend on how a step is cut into passes (B1, B2)",
    async (method) => {
      const run = async (micro_batch_tokens: number) => {
        const toy = toyRun();
        await startTraining(toy.context, {
          ...config,
          method,
          output_dir: toy.output,
          max_steps: 5,
          micro_batch_tokens,
          entropy_coef: 0.01,
        });
        return { rows: comparableMetrics(toy.output), forwards: toy.engine.opened[0].forwards.length };
      };
      const [whole, small] = [await run(4096), await run(12)];
      expect(small.forwards).toBeGreaterThan(3 * whole.forwards);
      for (let step = 1; step <= 5; step++) {
        for (const name of ["loss", "grad_norm", "entropy", "reward"]) {
          expect(small.rows[step][name], `${name} of step ${step}`).toBeCloseTo(whole.rows[step][name], 6);
        }
      }
    },
  );

  test.each([
    { method: "gspo" },
    { method: "grpo" },
    { method: "grpo", loss_type: "const_length" },
    { advantage_estimator: "rloo" },
    { finetuning_type: "lora" },
    { beta: 0.01 },
    { finetuning_type: "lora", beta: 0.01 },
    { temperature: 0.7 },
    { rescore_logprobs: true },
    { truncated_completions: "mask" },
    { truncated_completions: "penalise" },
  ] as const)("three steps change the weights: %j (A2)", async (extra) => {
    const toy = toyRun();
    await startTraining(toy.context, { ...config, output_dir: toy.output, max_steps: 3, ...extra });
    const [trained] = toy.engine.opened;
    const table = trained.options.trainable === "lora" ? trained.adapter : trained.base;
    expect([...table.values()].flat().filter((value) => value !== 0).length).toBeGreaterThan(10);
    const rows = comparableMetrics(toy.output);
    if ("beta" in extra) expect(rows[3].kl).toBeGreaterThan(0);
    else expect(rows[3].kl).toBeUndefined();
  });

  test("at another temperature the ratio starts at 1 and sampler and trainer still agree (B10)", async () => {
    const toy = toyRun();
    await startTraining(toy.context, {
      ...config,
      output_dir: toy.output,
      max_steps: 2,
      temperature: 0.7,
      num_mini_batches: 1,
    });
    const row = comparableMetrics(toy.output)[2];
    expect(row).toMatchObject({
      "sampling/rescored": 1,
      ratio_mean: expect.closeTo(1, 5),
      ratio_std: expect.closeTo(0, 5),
    });
    expect(row["sampling/sampling_logp_difference/max"]).toBeLessThan(1e-5);
  });

  test("cut answers can be left out of the loss, and still count in their group", async () => {
    const toy = toyRun();
    await startTraining(toy.context, {
      ...config,
      output_dir: toy.output,
      max_steps: 1,
      truncated_completions: "mask",
    });
    const [batch] = toy.engine.opened[0].forwards.filter(({ options }) => options.grad === true);
    const cut = comparableMetrics(toy.output)[1]["completions/clipped_ratio"];
    expect(cut).toBeGreaterThan(0);
    const answers = toy.engine.opened[0].forwards
      .filter(({ options }) => options.grad === true)
      .flatMap(({ batch: { segments } }) => segments.filter(({ parent }) => parent !== undefined));
    expect(answers.length).toBe(Math.round(16 * (1 - cut)));
    expect(batch.batch.segments[0].parent).toBeUndefined();
  });
});

describe("checkpoints", () => {
  test("are saved at intervals, at the best evaluation and at the end; the last and the best are kept", async () => {
    const toy = toyRun();
    const { state } = await startTraining(toy.context, { ...config, output_dir: toy.output, save_total_limit: 2 });
    const steps = await listCheckpoints(toy.output);
    expect(steps).toEqual([...new Set([state.best?.step ?? 9, 9, 10])].sort((a, b) => a - b));
    const listed = readJsonLines(join(toy.output, runFiles.checkpointIndex)).rows.map(
      (row) => (row as { step: number }).step,
    );
    expect(listed).toEqual(expect.arrayContaining([3, 6, 9, 10]));
    const files = readdirSync(checkpointFolder(toy.output, 10)).sort();
    expect(files).toEqual([
      "config.json",
      "manifest.json",
      "model.safetensors",
      "optimizer.safetensors",
      "tokenizer.json",
      "trainer_state.json",
    ]);
    const manifest = manifestSchema.parse(
      JSON.parse(readFileSync(join(checkpointFolder(toy.output, 10), "manifest.json"), "utf8")),
    );
    expect(manifest.files.map(({ path }) => path)).toEqual(files.filter((name) => name !== "manifest.json"));
  });

  test("seven steps with an interval of 100 leave one at 7 (D1)", async () => {
    const toy = toyRun();
    await startTraining(toy.context, {
      ...config,
      output_dir: toy.output,
      max_steps: 7,
      save_steps: 100,
      eval_steps: 0,
    });
    expect(await listCheckpoints(toy.output)).toEqual([7]);
  });

  test("a LoRA run keeps the adapter only", async () => {
    const toy = toyRun();
    await startTraining(toy.context, { ...config, output_dir: toy.output, finetuning_type: "lora", max_steps: 2 });
    const files = readdirSync(checkpointFolder(toy.output, 2));
    expect(files).toContain("adapter_model.safetensors");
    expect(files).not.toContain("model.safetensors");
  });

  test("a run folder that is not empty is refused", async () => {
    const toy = toyRun();
    mkdirSync(toy.output);
    writeFileSync(join(toy.output, "mine.txt"), "x");
    await expect(startTraining(toy.context, { ...config, output_dir: toy.output })).rejects.toMatchObject({
      code: "run-exists",
    });
    expect(readdirSync(toy.output)).toEqual(["mine.txt"]);
  });
});
