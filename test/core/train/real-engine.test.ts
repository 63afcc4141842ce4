/** The training loop on the native engine, with a model of a few thousand weights. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { finetuningTypes, rlMethods, type RunConfigInput } from "../../../core/contract/config.ts";
import { evaluationSchema } from "../../../core/contract/eval.ts";
import { rolloutLineSchema } from "../../../core/contract/run.ts";
import { evaluateModel } from "../../../core/app/evaluation/evaluate-model.ts";
import { sha256File } from "../../../core/files/manifest.ts";
import { readJsonLines } from "../../../core/files/jsonl.ts";
import { checkpointFolder } from "../../../core/train/run-folder/checkpoints.ts";
import { comparableMetrics } from "./toy-run.ts";
import { RealRuns } from "./real-run.ts";

let runs: RealRuns;

beforeAll(async () => {
  runs = await RealRuns.open({ prompts_per_step: 4, num_generations: 4 });
});

describe("three steps with default objectives change the model (A2)", () => {
  test.each<RunConfigInput>([
    { method: "gspo", finetuning_type: "full" },
    { method: "grpo", finetuning_type: "full" },
    { method: "gspo", finetuning_type: "lora", learning_rate: 1e-2 },
    { method: "grpo", finetuning_type: "lora", learning_rate: 1e-2, beta: 0.01 },
    { method: "ppo", finetuning_type: "full", critic_warmup_steps: 0 },
    { method: "ppo", finetuning_type: "lora", learning_rate: 1e-2, critic_warmup_steps: 0 },
  ])("%j", async (extra) => {
    const output = await runs.train({ ...extra, max_steps: 3 });
    const rows = comparableMetrics(output);
    for (const row of rows.slice(1)) {
      expect(row.share_weights_changed).toBeGreaterThan(0.1);
      expect(row.nonfinite_steps).toBe(0);
      expect(row["sampling/sampling_logp_difference/mean"]).toBeLessThan(1e-4);
    }
    const [before, after] = [await runs.greedy(runs.model), await runs.greedy(`${output}:last`)];
    expect(after.map(({ logprobs }) => logprobs)).not.toEqual(before.map(({ logprobs }) => logprobs));
  });

  test("also with the documented learning rates, which are small", async () => {
    const untrained = await runs.greedy(runs.model);
    for (const method of rlMethods) {
      for (const finetuning_type of finetuningTypes) {
        const input = { method, finetuning_type, learning_rate: undefined, max_steps: 3, eval_steps: 0 };
        // PPO's policy waits for its critic; here it does not, or three steps would leave it as it was.
        const output = await runs.train({ ...input, ...(method === "ppo" && { critic_warmup_steps: 0 }) });
        expect(await runs.greedy(`${output}:last`), `${method} ${finetuning_type}`).not.toEqual(untrained);
      }
    }
  });

  test("both halves of an adapter change (A3)", async () => {
    const output = await runs.train({ finetuning_type: "lora", max_steps: 1, save_steps: 1, learning_rate: 1e-2 });
    const more = await runs.train({ finetuning_type: "lora", max_steps: 3, save_steps: 1, learning_rate: 1e-2 });
    const tensors = (run: string, step: number) =>
      readSafetensors(join(checkpointFolder(run, step), "adapter_model.safetensors"));
    const [first, third] = [tensors(output, 1), tensors(more, 3)];
    // Unless the user says otherwise: all linear layers.
    for (const layer of ["q", "k", "v", "o", "gate", "up", "down"]) {
      expect([...first.keys()].filter((name) => name.includes(`.${layer}_proj.`))).toHaveLength(2 * 2);
    }
    for (const half of ["lora_A", "lora_B"]) {
      const names = [...first.keys()].filter((name) => name.includes(half));
      expect(names.length).toBeGreaterThan(0);
      for (const name of names)
        expect(Buffer.compare(first.get(name) as Buffer, third.get(name) as Buffer), name).not.toBe(0);
    }
  });
});

function readSafetensors(path: string): Map<string, Buffer> {
  const file = readFileSync(path);
  const length = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.subarray(8, 8 + length).toString("utf8")) as Record<
    string,
    { data_offsets?: [number, number] }
  >;
  return new Map(
    Object.entries(header).flatMap(([name, { data_offsets }]) =>
      data_offsets === undefined
        ? []
        : [[name, file.subarray(8 + length + data_offsets[0], 8 + length + data_offsets[1])]],
    ),
  );
}

describe("the update", () => {
  test("the first one has ratio 1, the second one not, and a narrower clip changes the gradient (A1)", async () => {
    const rows = async (extra: RunConfigInput) =>
      comparableMetrics(await runs.train({ max_steps: 2, num_mini_batches: 1, ...extra }));
    const once = await rows({ num_iterations: 1 });
    expect(once[1]).toMatchObject({ ratio_mean: expect.closeTo(1, 4), "clip_ratio/region_mean": 0 });
    const twice = await rows({ num_iterations: 2 });
    expect(twice[1].ratio_std).toBeGreaterThan(1e-4);
    expect(twice[1]["clip_ratio/region_mean"]).toBeGreaterThan(0);
    const wide = await rows({ num_iterations: 2, epsilon: 5, epsilon_high: 5 });
    expect(wide[1]["clip_ratio/region_mean"]).toBe(0);
    expect(wide[1].grad_norm).not.toBe(twice[1].grad_norm);
  });

  test.each(["gspo", "grpo"] as const)("%s: one pass or many small ones, the same step (B1, B2)", async (method) => {
    const rows = async (micro_batch_tokens: number) =>
      comparableMetrics(await runs.train({ method, max_steps: 2, micro_batch_tokens, entropy_coef: 0.01 }));
    const [whole, parts] = [await rows(8192), await rows(160)];
    for (const name of ["loss", "grad_norm", "entropy", "reward"]) {
      expect(parts[1][name], name).toBeCloseTo(whole[1][name], 4);
    }
  });

  test("at another temperature sampler and trainer agree, and the ratio begins at 1 (B10)", async () => {
    const [, row] = comparableMetrics(await runs.train({ max_steps: 1, temperature: 0.7, num_mini_batches: 1 }));
    expect(row).toMatchObject({ "sampling/rescored": 1, ratio_mean: expect.closeTo(1, 4) });
    expect(row["sampling/sampling_logp_difference/mean"]).toBeLessThan(1e-4);
  });

  test("what is trained ends with the end of the turn (A9)", async () => {
    const output = await runs.train({ max_steps: 1 });
    const chat = await runs.session.openChat({ name: "tiny", weights: runs.model, text: runs.model });
    const lines = readJsonLines(join(output, "rollouts", "step_1.jsonl")).rows.map((row) =>
      rolloutLineSchema.parse(row),
    );
    const ended = lines.filter((line) => line.stop_reason === "eos");
    expect(ended.length).toBeGreaterThan(0);
    for (const line of ended) expect(chat.stopIds).toContain(line.completion_ids.at(-1));
    expect(new Set(lines.map((line) => line.reward)).size).toBeGreaterThan(1);
  });
});

describe("PPO on the engine", () => {
  test("the weights change in the first step after the critic's warm-up, bit for bit not before (A12)", async () => {
    const output = await runs.train({
      method: "ppo",
      critic_warmup_steps: 2,
      critic_learning_rate: 1e-2,
      max_steps: 3,
      save_steps: 1,
    });
    const hash = (step: number, file: string) => sha256File(join(checkpointFolder(output, step), file));
    const weights = await Promise.all([1, 2, 3].map((step) => hash(step, "model.safetensors")));
    expect(weights[1]).toBe(weights[0]);
    expect(weights[2]).not.toBe(weights[1]);
    expect(await hash(2, "optimizer.safetensors")).not.toBe(await hash(1, "optimizer.safetensors"));
    const rows = comparableMetrics(output).slice(1);
    expect(rows.map(({ critic_value_mean }) => critic_value_mean === 0)).toEqual([true, false, false]);
  });
});

describe("resume on the engine (D2)", () => {
  test.each<RunConfigInput>([
    { finetuning_type: "full", entropy_coef: 0.01 },
    { finetuning_type: "lora", learning_rate: 1e-2, lora_dropout: 0.1 },
    { method: "grpo", finetuning_type: "lora", learning_rate: 1e-2, beta: 0.01 },
    { method: "ppo", critic_warmup_steps: 2, critic_learning_rate: 1e-2 },
    { method: "ppo", critic_warmup_steps: 4, critic_learning_rate: 1e-2, finetuning_type: "lora" },
  ])("equals an unbroken run, bit for bit: %j", async (extra) => {
    await runs.expectSameWhenResumed(extra, "sampling");
  });
});

describe("checkpoints on the engine", () => {
  test.each(["full", "lora"] as const)(
    "%s: a checkpoint opened again answers as the live model did (D8)",
    async (finetuning_type) => {
      const output = await runs.train({ finetuning_type });
      const live = evaluationSchema.parse(JSON.parse(readFileSync(join(output, "eval", "6-validation.json"), "utf8")));
      const again = await evaluateModel(
        runs.session,
        { model: `${output}:6`, task: "tic-tac-toe", split: "validation", seed: 42, greedy: false, games: 0 },
        {},
      );
      const byRow = new Map(again.items.map((item) => [item.row_id, item]));
      for (const item of live.items) {
        const [turn] = item.turns;
        const same = byRow.get(item.row_id)?.turns[0];
        expect(same?.tokens).toEqual(turn.tokens);
        same?.logprobs.forEach((logprob, i) => expect(logprob).toBeCloseTo(turn.logprobs[i], 4));
      }
    },
  );

  test("a full checkpoint is a model folder of its own, and a run can begin from it", async () => {
    const output = await runs.train({ max_steps: 2 });
    const folder = checkpointFolder(output, 2);
    expect((await runs.greedy(folder)).length).toBe(8);
    const onwards = await runs.train({ model: `${output}:2`, max_steps: 1 });
    expect(comparableMetrics(onwards)).toHaveLength(2);
  });
});

test("an adapter folder is a model too: it knows its base", async () => {
  const output = await runs.train({ finetuning_type: "lora", max_steps: 2, learning_rate: 1e-2 });
  expect(await runs.greedy(checkpointFolder(output, 2))).toEqual(await runs.greedy(`${output}:2`));
});

test("a LoRA run can begin from the adapter of another, and begins where that one ended", async () => {
  const first = await runs.train({ finetuning_type: "lora", learning_rate: 1e-2 });
  const second = await runs.train({
    finetuning_type: "lora",
    learning_rate: 1e-2,
    model: `${first}:last`,
    max_steps: 1,
    beta: 0.01,
  });
  const [ended, begun] = [comparableMetrics(first).at(-1), comparableMetrics(second)[0]];
  expect(begun.eval_reward).toBeCloseTo(ended?.eval_reward ?? NaN, 6);
  const refused = runs.train({ finetuning_type: "lora", model: `${first}:last`, lora_r: 4 });
  await expect(refused).rejects.toMatchObject({ code: "bad-config", fix: "set lora_r 16" });
  await expect(runs.train({ finetuning_type: "full", model: `${first}:last` })).rejects.toMatchObject({
    code: "bad-config",
  });
});

test("a run on the same seed and threads is the same, bit for bit (D5)", async () => {
  const [first, second] = [await runs.train(), await runs.train()];
  expect(comparableMetrics(second)).toEqual(comparableMetrics(first));
  expect(await sha256File(join(checkpointFolder(second, 6), "model.safetensors"))).toBe(
    await sha256File(join(checkpointFolder(first, 6), "model.safetensors")),
  );
});
