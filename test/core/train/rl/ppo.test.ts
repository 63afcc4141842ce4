/** PPO on a tabular model: who learns when, what GAE begins from, and that every setting of the critic acts. */

import { describe, expect, test } from "vitest";
import type { RunConfigInput } from "../../../../core/contract/config.ts";
import { startTraining } from "../../../../core/train/run.ts";
import type { TabularModel } from "../tabular-model.ts";
import { comparableMetrics, toyConfig, toyModelFolder, toyRun } from "../toy-run.ts";

const model = toyModelFolder();
const config: RunConfigInput = {
  ...toyConfig,
  model,
  method: "ppo",
  critic_learning_rate: 0.05,
  critic_warmup_steps: 0,
  eval_steps: 0,
  eval_on_start: false,
};

async function train(extra: RunConfigInput = {}, onOpen?: (model: TabularModel) => void | Promise<void>) {
  const toy = toyRun();
  toy.engine.onOpen = (one) => void onOpen?.(one);
  await startTraining(toy.context, { ...config, output_dir: toy.output, ...extra });
  const [trained, reference] = toy.engine.opened;
  return { rows: comparableMetrics(toy.output), model: trained, reference };
}

const snapshot = ({ base }: TabularModel) => JSON.stringify([...base]);

/** A critic that says the same of everything. */
function constantCritic(value: number) {
  return async (one: TabularModel) => {
    await one.attachValueHead();
    const { table } = one.head();
    table.get = () => [value];
  };
}

test("for the first critic_warmup_steps steps only the critic learns; the policy changes in the next, not before (A12)", async () => {
  const weights: string[] = [];
  const values: string[] = [];
  const toy = toyRun((event, { engine }) => {
    if (event.type !== "step") return;
    weights.push(snapshot(engine.opened[0]));
    values.push(JSON.stringify([...engine.opened[0].head().table]));
  });
  toy.engine.onOpen = (one) => weights.push(snapshot(one));
  await startTraining(toy.context, {
    ...config,
    beta: 0,
    output_dir: toy.output,
    max_steps: 22,
    critic_warmup_steps: 20,
  });
  const [start, ...after] = weights;
  expect(after.map((now) => now === start)).toEqual([...new Array<boolean>(20).fill(true), false, false]);
  expect(after[21]).not.toBe(after[20]);
  expect(new Set(values).size).toBe(22);
  const rows = comparableMetrics(toy.output);
  for (const row of rows.slice(0, 20)) {
    expect(row.learning_rate).toBe(0);
    expect(row).not.toHaveProperty("share_weights_changed");
    expect(row).not.toHaveProperty("grad_norm");
    expect(row.critic_grad_norm).toBeGreaterThan(0);
  }
  expect(rows[20].learning_rate).toBeGreaterThan(0);
  expect(rows[20].share_weights_changed).toBeGreaterThan(0);
});

test("the default warm-up is 20 steps", async () => {
  const { critic_warmup_steps: _, ...defaults } = config;
  const toy = toyRun();
  await startTraining(toy.context, { ...defaults, output_dir: toy.output, max_steps: 21, num_mini_batches: 1 });
  expect(toy.engine.opened[0].optimSteps.map(({ lr }) => lr === null)).toEqual([
    ...new Array<boolean>(20).fill(true),
    false,
  ]);
});

test("learns: reward up, values that explain the returns", async () => {
  const { rows } = await train({
    max_steps: 120,
    prompts_per_step: 16,
    num_generations: 8,
    critic_warmup_steps: 10,
    entropy_coef: 0.01,
  });
  const mean = (name: string, from: number, to: number) =>
    rows.slice(from, to).reduce((sum, row) => sum + row[name], 0) / (to - from);
  expect(mean("reward", 0, 5)).toBeLessThan(-0.6);
  expect(mean("reward", 110, 120)).toBeGreaterThan(0.2);
  expect(mean("critic_explained_variance", 110, 120)).toBeGreaterThan(0.05);
  expect(mean("critic_value_loss", 110, 120)).toBeLessThan(mean("critic_value_loss", 0, 5));
});

test("an answer that was cut goes on from the critic's word, a finished one ends with its reward (B11)", async () => {
  const settings = { max_steps: 1, max_completion_length: 1, lam: 1, num_mini_batches: 1 };
  const { rows } = await train(settings, constantCritic(0.75));
  const cut = rows[0]["completions/clipped_ratio"];
  expect(cut).toBeGreaterThan(0.5);
  expect(cut).toBeLessThan(1);
  // One token each: the return is the reward, and where it was cut the value of what follows.
  expect(rows[0].critic_return_mean).toBeCloseTo(rows[0].reward + 0.75 * cut, 6);
  expect(rows[0].critic_value_mean).toBeCloseTo(0.75, 6);
});

test("one pass scores what was drawn: log-probs, values and where they end; the reference is the start", async () => {
  const { rows, model: trained, reference } = await train({ max_steps: 2, num_mini_batches: 2 });
  const scoring = trained.forwards.filter(({ options }) => options.grad !== true);
  const training = trained.forwards.filter(({ options }) => options.grad === true);
  expect(scoring).toHaveLength(2);
  expect(training).toHaveLength(4);
  expect(scoring.every(({ options }) => options.values !== undefined)).toBe(true);
  expect(training.every(({ options }) => options.values !== undefined)).toBe(true);
  expect(reference.forwards).toHaveLength(2);
  expect(rows[0]).toMatchObject({ kl: expect.closeTo(0, 3), "sampling/rescored": 1 });
  expect(rows[1].kl).toBeGreaterThan(0);
  expect(rows[0]["sampling/sampling_logp_difference/max"]).toBeLessThan(1e-5);
});

test("what is reported has the names of the field", async () => {
  const { rows } = await train({ max_steps: 2 });
  for (const name of [
    "loss",
    "kl",
    "entropy",
    "reward",
    "ratio_mean",
    "clip_ratio/low_mean",
    "clip_ratio/high_mean",
    "clip_ratio/dual_mean",
    "critic_value_loss",
    "critic_clipfrac",
    "critic_explained_variance",
    "critic_grad_norm",
    "critic_learning_rate",
    "learning_rate",
    "grad_norm",
    "share_weights_changed",
    "advantages/mean",
  ]) {
    expect(rows[1][name], name).toBeTypeOf("number");
  }
  // No group is compared, so none can teach nothing.
  expect(rows[1]).not.toHaveProperty("frac_reward_zero_std");
});

test("the critic's rate follows the policy's schedule, with the same clip", async () => {
  const { model: trained } = await train({
    max_steps: 5,
    lr_scheduler_type: "linear",
    num_mini_batches: 1,
    learning_rate: 0.01,
    critic_learning_rate: 0.04,
    max_grad_norm: 0.3,
    warmup_steps: 2,
  });
  expect(trained.optimSteps).toHaveLength(5);
  for (const { lr, valueLr, maxGradNorm } of trained.optimSteps) {
    expect(valueLr).toBeCloseTo(4 * (lr ?? NaN), 12);
    expect(maxGradNorm).toBe(0.3);
  }
  expect(new Set(trained.optimSteps.map(({ lr }) => lr)).size).toBeGreaterThan(3);
});

test("the step does not depend on how it is cut into passes (B1, B2)", async () => {
  const run = async (micro_batch_tokens: number) => (await train({ max_steps: 4, micro_batch_tokens })).rows;
  const [whole, small] = [await run(4096), await run(12)];
  for (let i = 0; i < 4; i++) {
    for (const name of ["loss", "grad_norm", "critic_grad_norm", "critic_value_loss", "reward", "kl"]) {
      expect(small[i][name], `${name} of step ${i + 1}`).toBeCloseTo(whole[i][name], 6);
    }
  }
});

describe("every setting acts", () => {
  const settings: RunConfigInput = { max_steps: 3, num_iterations: 4, num_mini_batches: 1, num_generations: 8 };
  test.each<[RunConfigInput, string]>([
    [{ gamma: 0.5 }, "critic_return_mean"],
    [{ lam: 0.2 }, "critic_return_mean"],
    [{ vf_coef: 5 }, "critic_grad_norm"],
    [{ cliprange_value: 0.001 }, "critic_clipfrac"],
    [{ critic_learning_rate: 0.5 }, "critic_value_mean"],
    [{ beta: 0.5 }, "loss"],
    [{ epsilon: 0.01, epsilon_high: 0.01 }, "clip_ratio/region_mean"],
    [{ dual_clip: 1.01 }, "clip_ratio/dual_mean"],
    [{ entropy_coef: 0.2 }, "loss"],
    [{ truncated_completions: "mask" }, "critic_return_mean"],
    [{ truncated_completions: "penalise" }, "reward"],
    [{ temperature: 0.7 }, "entropy"],
  ])("%j", async (extra, metric) => {
    const [plain, changed] = [await train(settings), await train({ ...settings, ...extra })];
    expect(changed.rows[2][metric]).toBeTypeOf("number");
    expect(changed.rows[2][metric]).not.toBe(plain.rows[2][metric]);
  });
});
