/** What `--dry-run` foresees, against what a run then does. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { planRun } from "../../../../core/app/plan/plan-run.ts";
import { expectedLength, tokensHeld, update } from "../../../../core/app/plan/probe-step.ts";
import { Session } from "../../../../core/app/session.ts";
import { trainModel } from "../../../../core/app/train-model.ts";
import type { RunConfigInput } from "../../../../core/contract/config.ts";
import { resolveConfig } from "../../../../core/contract/resolve-config.ts";
import type { RunPlan } from "../../../../core/contract/cli-json.ts";
import type { EngineStopReason, Sample } from "../../../../core/engine/types.ts";
import { RunFolder } from "../../../../core/train/run-folder/run-folder.ts";
import { TabularEngine } from "../../train/tabular-model.ts";
import { toyModelFolder, vocabSize } from "../../train/toy-run.ts";
import { tinyModel } from "../../train/tiny-model.ts";

const hooks = { command: ["test"], listen: () => undefined, signal: new AbortController().signal };
let session: Session;
let config: RunConfigInput;
let plan: RunPlan;

beforeAll(async () => {
  session = await Session.open();
  config = {
    model: await tinyModel(),
    task: "tic-tac-toe",
    finetuning_type: "full",
    prompts_per_step: 8,
    num_generations: 8,
    max_completion_length: 48,
    max_steps: 9,
    eval_steps: 3,
    eval_size: 16,
    log_completions: false,
  };
  plan = await planRun(session, config, hooks);
});

test("time and tokens are those of the run's first steps", { timeout: 60_000 }, async () => {
  const output_dir = join(mkdtempSync(join(tmpdir(), "hone-plan-")), "run");
  const { run } = await trainModel(session, { ...config, output_dir }, hooks);
  const rows = new RunFolder(run).readMetrics().filter(({ step }) => step > 0);
  const times = rows.map((row) => row["step_time"]).sort((a, b) => a - b);
  const usual = times[Math.floor(times.length / 2)];
  expect(plan.seconds.per_step).toBeGreaterThan(usual / 5);
  expect(plan.seconds.per_step).toBeLessThan(usual * 5);
  const tokens = rows[0]["num_tokens"];
  expect(plan.tokens_per_step.now).toBeGreaterThan(0.8 * tokens);
  expect(plan.tokens_per_step.now).toBeLessThan(1.2 * tokens);
});

test("the sums are sums", () => {
  const { seconds, memory_bytes: memory, tokens_per_step: tokens } = plan;
  // Before the first step, and after steps 3, 6 and 9.
  expect(seconds.total).toBeCloseTo(9 * seconds.per_step + 4 * seconds.evaluation, 9);
  expect(seconds.most_per_step).toBeGreaterThan(seconds.per_step);
  expect(tokens.most).toBeGreaterThan(tokens.now);
  const { weights, gradients, optimizer, activations, kv_cache, program } = memory;
  expect(memory.total).toBe(weights + gradients + optimizer + program + Math.max(activations, kv_cache));
  expect(memory.reference).toBe(0);
  expect(optimizer).toBe(2 * gradients);
});

test.each(["sft", "dpo"] as const)(
  "%s: rows, tokens and time are those of a run",
  { timeout: 60_000 },
  async (method) => {
    const { model, task, eval_size } = config;
    const input = { model, task, method, finetuning_type: "full", max_steps: 6, eval_steps: 3, eval_size } as const;
    const planned = await planRun(session, input, hooks);
    expect(planned).toMatchObject({ rows_per_step: 8, answers_per_step: null, optimizer_steps: 6, steps: 6 });
    expect(planned.config).not.toHaveProperty("num_generations");
    const { seconds, memory_bytes: memory } = planned;
    expect(seconds.total).toBeCloseTo(6 * seconds.per_step + 3 * seconds.evaluation, 9);
    expect(memory.reference).toBe(0);
    const output_dir = join(mkdtempSync(join(tmpdir(), "hone-plan-")), "run");
    const { run } = await trainModel(session, { ...input, output_dir }, hooks);
    const rows = new RunFolder(run).readMetrics().filter(({ step }) => step > 0);
    expect(planned.tokens_per_step.now).toBeGreaterThan((0.8 * rows[5]["num_tokens"]) / 6);
    expect(planned.tokens_per_step.now).toBeLessThan((1.2 * rows[5]["num_tokens"]) / 6);
    expect(planned.tokens_per_step.most).toBeGreaterThanOrEqual(planned.tokens_per_step.now);
    const times = rows.map((row) => row["step_time"]).sort((a, b) => a - b);
    expect(seconds.per_step).toBeGreaterThan(times[3] / 5);
    expect(seconds.per_step).toBeLessThan(times[3] * 5);
  },
);

test("a run folder that exists is refused by the plan, too", async () => {
  const output_dir = tmpdir();
  await expect(planRun(session, { ...config, output_dir }, hooks)).rejects.toMatchObject({ code: "run-exists" });
});

function samples(ends: [number, EngineStopReason][]): Sample[] {
  return ends.map(([length, stopReason], index) => ({
    request: 0,
    index,
    tokens: new Int32Array(length),
    logprobs: new Float32Array(length),
    stopReason,
  }));
}

describe("answers that the measurement left unfinished", () => {
  test("their length is expected at the rate at which the others ended", () => {
    const half = samples([
      [10, "eos"],
      [20, "cancelled"],
      [20, "cancelled"],
    ]);
    // One end in 50 tokens, cut at 30: (1 − 0.98^30) / 0.02.
    expect(expectedLength(half, 30)).toBeCloseTo(22.726, 2);
    expect(expectedLength(half, 1e6)).toBeCloseTo(50, 6);
    expect(expectedLength(samples([[20, "cancelled"]]), 64)).toBe(64);
  });

  test("finished ones are counted as they are", () => {
    const done = samples([
      [10, "eos"],
      [30, "length"],
    ]);
    expect(expectedLength(done, 30)).toBe(20);
    // Both at 10 tokens hold 20; the longer one alone comes to 30.
    expect(tokensHeld(done, 20)).toBe(30);
    expect(tokensHeld(samples(Array(4).fill([10, "eos"])), 10)).toBe(40);
  });
});

test("PPO: the critic's part of a step is measured", async () => {
  const planned = await planRun(session, { ...config, method: "ppo" }, hooks);
  expect(planned.seconds.per_step).toBeGreaterThan(0);
  expect(planned.config).toMatchObject({ method: "ppo", vf_coef: 0.5 });
});

test("the probe of PPO trains a value head, that of GSPO none", async () => {
  const engine = new TabularEngine({ vocabSize });
  const run = async (method: "gspo" | "ppo") => {
    const model = await engine.open(toyModelFolder(), { trainable: "full" });
    const tokens = Int32Array.from([1, 2]);
    const batch = { tokens, segments: [{ length: 2 }] };
    const settings = resolveConfig({ model: "m", task: "tic-tac-toe", method });
    await update({ config: { ...settings, micro_batch_tokens: 64 }, model, signal: hooks.signal }, [batch]);
    return model.info().valueHead;
  };
  expect([await run("gspo"), await run("ppo")]).toEqual([false, true]);
});
