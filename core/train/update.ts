/** From scored rollouts to a better policy: one or more optimizer steps over mini-batches of groups. */

import type { RunConfig } from "../contract/config.ts";
import type { Batch, ForwardOptions, ForwardResult, Model } from "../engine/types.ts";
import { gspoLoss } from "./losses/gspo.ts";
import { grpoLoss } from "./losses/grpo.ts";
import { mean, sum } from "./losses/numbers.ts";
import { count, mergeStats, policyMetrics, statMean, type Stats, type PolicyStat } from "./losses/stats.ts";
import { stepNormalisers, type LossResult, type Normalisers, type PolicyRow } from "./losses/types.ts";
import { packMicroBatches, sliceOf, spread, type MicroBatch } from "./micro-batches.ts";
import type { Rollout, RolloutGroup } from "./rollouts.ts";
import { learningRate, makeSchedule, optimizerOptions } from "./schedule.ts";

type Config = RunConfig & { micro_batch_tokens: number };
type Metrics = Record<string, number>;

/** A forward pass of the frozen reference, without gradients. */
export type ReferenceForward = (batch: Batch, options: ForwardOptions) => Promise<ForwardResult>;

const losses = { gspo: gspoLoss, grpo: grpoLoss };

/**
 * Log-probs that the training engine must give before the update: those of the reference when there is a KL term, and
 * `old` where the sampler's own do not serve: with `rescore_logprobs`, and at a temperature other than 1, at which the
 * training policy is the one with divided logits while samplers report temperature 1.
 */
export async function scoreAgain(
  model: Model,
  reference: ReferenceForward | undefined,
  config: Config,
  groups: readonly RolloutGroup[],
): Promise<{ rescored: boolean; metrics: Metrics }> {
  const { temperature } = config;
  const rescored = config.rescore_logprobs || temperature !== 1;
  if (!rescored && config.beta === 0) return { rescored, metrics: {} };
  const stats: Stats<"difference"> = {};
  let largest = 0;
  for (const micro of packMicroBatches(trainedRollouts(groups), config.micro_batch_tokens)) {
    if (config.beta > 0) {
      if (reference === undefined) throw new Error("beta is above 0, and no reference was given");
      const { logprobs } = await reference(micro.batch, { temperature });
      for (const { row, offset } of micro.rows) row.reference = sliceOf(logprobs, row, offset);
    }
    if (!rescored) continue;
    const plain = await model.forward(micro.batch, { temperature: 1 });
    const scaled = temperature === 1 ? plain : await model.forward(micro.batch, { temperature });
    for (const { row, offset } of micro.rows) {
      const difference = addDifferences(stats, row.answer.logprobs, sliceOf(plain.logprobs, row, offset));
      largest = Math.max(largest, difference);
      row.old = sliceOf(scaled.logprobs, row, offset);
    }
  }
  return { rescored, metrics: { ...differenceMetrics(stats, largest), ...(rescored && { "sampling/rescored": 1 }) } };
}

export interface UpdateOptions {
  /** Optimizer steps done before. */
  firstStep: number;
  /** Optimizer steps of the schedule. */
  totalSteps: number;
  nonFiniteInARow: number;
  /** Compare the sampler's log-probs with those of the first forward pass. */
  measureMismatch: boolean;
}

export async function updatePolicy(
  model: Model,
  config: Config,
  groups: readonly RolloutGroup[],
  options: UpdateOptions,
): Promise<{ metrics: Metrics; nonFiniteInARow: number }> {
  const schedule = makeSchedule(config, options.totalSteps);
  const steps: OptimizerStep[] = [];
  let { nonFiniteInARow } = options;
  let mismatch: Metrics = {};
  for (let iteration = 0; iteration < config.num_iterations; iteration++) {
    for (const miniBatch of cut(groups, config.num_mini_batches)) {
      const lr = learningRate(schedule, options.firstStep + steps.length);
      const isFirst = steps.length === 0;
      const step = await optimizerStep(model, config, miniBatch, lr, isFirst && options.measureMismatch);
      if (isFirst) mismatch = step.mismatch;
      nonFiniteInARow = step.nonFinite ? nonFiniteInARow + 1 : 0;
      steps.push(step);
    }
  }
  return { metrics: { ...summary(steps, config), ...mismatch }, nonFiniteInARow };
}

interface OptimizerStep {
  lr: number;
  loss: number;
  stats: Stats<PolicyStat>;
  mismatch: Metrics;
  gradNorm: number;
  shareWeightsChanged: number;
  nonFinite: boolean;
}

/** Gradients of all micro-batches are those of one loss over the whole mini-batch: they are summed, never averaged. */
async function optimizerStep(
  model: Model,
  config: Config,
  groups: readonly RolloutGroup[],
  lr: number,
  measureMismatch: boolean,
): Promise<OptimizerStep> {
  const trained = trainedRollouts(groups);
  const normalisers = stepNormalisers(trained.flat(), config.max_completion_length);
  const parts: LossResult<PolicyStat>[] = [];
  const differences: Stats<"difference"> = {};
  let largest = 0;
  for (const micro of packMicroBatches(trained, config.micro_batch_tokens)) {
    const result = await model.forward(micro.batch, { grad: true, temperature: config.temperature });
    if (measureMismatch) {
      for (const { row, offset } of micro.rows) {
        const difference = addDifferences(differences, row.answer.logprobs, sliceOf(result.logprobs, row, offset));
        largest = Math.max(largest, difference);
      }
    }
    parts.push(await backward(model, config, micro, result, normalisers));
  }
  const stepped = await model.optimStep(optimizerOptions(config, lr));
  return {
    lr,
    loss: sum(parts.map((part) => part.loss)),
    stats: mergeStats(parts.map((part) => part.stats)),
    mismatch: differenceMetrics(differences, largest),
    gradNorm: stepped.gradNorm,
    shareWeightsChanged: stepped.shareWeightsChanged,
    nonFinite: stepped.nonFinite > 0,
  };
}

async function backward(
  model: Model,
  config: Config,
  micro: MicroBatch<Rollout>,
  result: ForwardResult,
  normalisers: Normalisers,
): Promise<LossResult<PolicyStat>> {
  const rows = micro.rows.map(({ row, offset }): PolicyRow => ({
    lp: sliceOf(result.logprobs, row, offset),
    old: row.old,
    ...(row.reference !== undefined && { ref: row.reference }),
    entropy: sliceOf(result.entropy, row, offset),
    mask: row.mask,
    advantage: row.advantage,
  }));
  const loss = losses[config.method](rows, config, normalisers);
  await model.backward(
    spread(micro, loss.dLogprobs),
    loss.dEntropy === undefined ? undefined : spread(micro, loss.dEntropy),
  );
  return loss;
}

/** Every answer that is in the loss, as a bundle of its own. */
function trainedRollouts(groups: readonly RolloutGroup[]): Rollout[][] {
  return groups.flatMap(({ answers }) =>
    answers.filter(({ trained, ids }) => trained && ids.length > 0).map((rollout) => [rollout]),
  );
}

/** Consecutive parts of nearly equal size. */
function cut<T>(items: readonly T[], parts: number): T[][] {
  return Array.from({ length: parts }, (_, i) =>
    items.slice(Math.floor((i * items.length) / parts), Math.floor(((i + 1) * items.length) / parts)),
  );
}

/** Collects |a − b| of every token and returns the largest. */
function addDifferences(stats: Stats<"difference">, a: Float32Array, b: Float32Array): number {
  let largest = 0;
  a.forEach((value, i) => {
    const difference = Math.abs(value - b[i]);
    count(stats, "difference", difference);
    largest = Math.max(largest, difference);
  });
  return largest;
}

function differenceMetrics({ difference }: Stats<"difference">, largest: number): Metrics {
  if (difference === undefined) return {};
  return {
    "sampling/sampling_logp_difference/mean": statMean(difference),
    "sampling/sampling_logp_difference/max": largest,
  };
}

/** One row of metrics for all optimizer steps on one batch of rollouts. */
function summary(steps: readonly OptimizerStep[], config: Config): Metrics {
  const each = (value: (step: OptimizerStep) => number) => steps.map(value);
  const last = steps[steps.length - 1];
  const clipped = steps.map(({ stats }) => policyMetrics(stats));
  // Of the first pass only: later ones repeat the same tokens under a policy that did not write them.
  const { entropy } = policyMetrics(mergeStats(steps.slice(0, config.num_mini_batches).map(({ stats }) => stats)));
  const extreme = (name: string, pick: (...values: number[]) => number) => {
    const values = clipped.map((metrics) => metrics[name]).filter((value) => value !== undefined);
    return values.length === 0 ? NaN : pick(...values);
  };
  return {
    loss: mean(each(({ loss }) => loss)),
    ...policyMetrics(mergeStats(steps.map(({ stats }) => stats))),
    entropy,
    "clip_ratio/low_min": extreme("clip_ratio/low_mean", Math.min),
    "clip_ratio/high_max": extreme("clip_ratio/high_mean", Math.max),
    learning_rate: last.lr,
    grad_norm: mean(each(({ gradNorm }) => gradNorm)),
    share_weights_changed: mean(each(({ shareWeightsChanged }) => shareWeightsChanged)),
    nonfinite_steps: steps.filter(({ nonFinite }) => nonFinite).length,
  };
}
