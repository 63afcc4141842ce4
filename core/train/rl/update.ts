/** From scored rollouts to a better policy: one or more optimizer steps over mini-batches of groups. */

import { mean, sum } from "../../contract/numbers.ts";
import type { ForwardOptions, ForwardResult, Model, OptimStepOptions } from "../../engine/types.ts";
import { packMicroBatches, sliceOf, spread, type MicroBatch } from "../../engine/micro-batches.ts";
import type { Forward } from "../../evaluate/score-rows.ts";
import { count, mergeStats, policyMetrics, statMean, type Stats, type PolicyStat } from "../losses/stats.ts";
import { stepNormalisers, type LossResult, type Normalisers } from "../losses/types.ts";
import type { ReadyConfig } from "../loop.ts";
import { learningRate, makeSchedule, optimizerOptions } from "../schedule.ts";
import type { RolloutGroup, RolloutRow } from "./rollouts.ts";

type Metrics = Record<string, number>;

/**
 * Log-probs that the training engine must give before the update: those of the reference when there is a KL term, and
 * `old` where the sampler's own do not serve: with `rescore_logprobs`, for tokens that the environment wrote, and at a
 * temperature other than 1, at which the training policy is the one with divided logits while samplers report temperature
 * 1. `onScored` sees each batch of rows with what that pass gave; it makes the pass happen.
 */
export async function scoreAgain(
  model: Model,
  reference: Forward | undefined,
  config: ReadyConfig,
  groups: readonly RolloutGroup[],
  {
    values,
    onScored,
  }: Pick<ForwardOptions, "values"> & {
    onScored?: (micro: MicroBatch<RolloutRow>, result: ForwardResult) => void;
  } = {},
): Promise<{ rescored: boolean; metrics: Metrics }> {
  const { temperature } = config;
  const rescored = onScored !== undefined || config.rescore_logprobs || config.train_tool_results || temperature !== 1;
  if (!rescored && config.beta === 0) return { rescored, metrics: {} };
  const differences = new Differences();
  for (const micro of packMicroBatches(trainedBundles(groups), config.micro_batch_tokens)) {
    if (config.beta > 0) {
      if (reference === undefined) throw new Error("beta is above 0, and no reference was given");
      const { logprobs } = await reference(micro.batch, { temperature });
      for (const { row, offset } of micro.rows) row.reference = sliceOf(logprobs, row, offset);
    }
    if (!rescored) continue;
    const result = await model.forward(micro.batch, { temperature, ...(values !== undefined && { values }) });
    const plain = temperature === 1 ? result : await model.forward(micro.batch, { temperature: 1 });
    differences.add(micro, plain);
    for (const { row, offset } of micro.rows) row.old = sliceOf(result.logprobs, row, offset);
    onScored?.(micro, result);
  }
  return { rescored, metrics: { ...differences.metrics(), ...(rescored && { "sampling/rescored": 1 }) } };
}

/** What one pass over rows is worth: the policy's loss and, where there is a critic, the critic's. */
export interface PassLoss extends LossResult<PolicyStat> {
  critic?: { loss: number; dValues: Float64Array[]; stats: Stats<"clip_fraction"> };
}

/** What an update works towards. */
export interface Objective {
  values?: ForwardOptions["values"];
  loss(micro: MicroBatch<RolloutRow>, result: ForwardResult, normalisers: Normalisers): PassLoss;
  /** False: only the critic learns, and the policy stays exactly as it is. Default true. */
  trainsPolicy?: boolean;
  /** The critic's learning rate as a multiple of the policy's. */
  criticRate?: number;
}

export interface UpdateOptions {
  /** Optimizer steps done before. */
  firstStep: number;
  /** Optimizer steps of the schedule. */
  totalSteps: number;
  nonFiniteInARow: number;
  /** Turns of an episode at most. */
  maxTurns: number;
  /** Compare the sampler's log-probs with those of the first forward pass. */
  measureMismatch: boolean;
}

export async function updatePolicy(
  model: Model,
  config: ReadyConfig,
  groups: readonly RolloutGroup[],
  objective: Objective,
  options: UpdateOptions,
): Promise<{ metrics: Metrics; nonFiniteInARow: number }> {
  const schedule = makeSchedule(config, options.totalSteps);
  const steps: (OptimizerStep & { iteration: number })[] = [];
  let { nonFiniteInARow } = options;
  const differences = new Differences();
  for (let iteration = 0; iteration < config.num_iterations; iteration++) {
    for (const [i, miniBatch] of cut(groups, config.num_mini_batches).entries()) {
      const bundles = trainedBundles(miniBatch);
      // Without a trained token there is no gradient, and momentum alone must not move the weights.
      if (bundles.length === 0) continue;
      const lr = learningRate(schedule, options.firstStep + iteration * config.num_mini_batches + i);
      const compared = steps.length === 0 && options.measureMismatch ? differences : undefined;
      const step = await optimizerStep(model, config, bundles, objective, lr, options.maxTurns, compared);
      nonFiniteInARow = step.nonFinite ? nonFiniteInARow + 1 : 0;
      steps.push({ ...step, iteration });
    }
  }
  return { metrics: { ...summary(steps), ...differences.metrics() }, nonFiniteInARow };
}

interface OptimizerStep {
  lr: number;
  loss: number;
  critic: { loss: number; stats: Stats<"clip_fraction">; lr: number; gradNorm: number | undefined } | undefined;
  stats: Stats<PolicyStat>;
  /** Of the policy; undefined when it was not trained. */
  gradNorm: number | undefined;
  shareWeightsChanged: number | undefined;
  nonFinite: boolean;
}

/** Gradients of all micro-batches are those of one loss over the whole mini-batch: they are summed, never averaged. */
async function optimizerStep(
  model: Model,
  config: ReadyConfig,
  bundles: readonly (readonly RolloutRow[])[],
  objective: Objective,
  lr: number,
  maxTurns: number,
  differences: Differences | undefined,
): Promise<OptimizerStep> {
  const { values, trainsPolicy = true, criticRate } = objective;
  const named = bundles.flat().map(({ mask, rollout }) => ({ mask, trajectory: rollout.id }));
  const normalisers = stepNormalisers(named, maxTurns * config.max_completion_length);
  const parts: PassLoss[] = [];
  for (const micro of packMicroBatches(bundles, config.micro_batch_tokens)) {
    const result = await model.forward(micro.batch, {
      grad: true,
      temperature: config.temperature,
      ...(values !== undefined && { values }),
    });
    differences?.add(micro, result);
    const loss = objective.loss(micro, result, normalisers);
    await model.backward(
      trainsPolicy ? spread(micro, loss.dLogprobs) : null,
      trainsPolicy && loss.dEntropy !== undefined ? spread(micro, loss.dEntropy) : undefined,
      loss.critic === undefined ? undefined : spread(micro, loss.critic.dValues),
    );
    parts.push(loss);
  }
  const criticLr = criticRate === undefined ? undefined : criticRate * lr;
  const settings: OptimStepOptions = {
    ...optimizerOptions(config, lr),
    ...(!trainsPolicy && { lr: null }),
    ...(criticLr !== undefined && { valueLr: criticLr }),
  };
  const stepped = await model.optimStep(settings);
  const critics = parts.flatMap(({ critic }) => critic ?? []);
  return {
    lr: trainsPolicy ? lr : 0,
    loss: sum(parts.map(({ loss }) => loss)),
    stats: mergeStats(parts.map(({ stats }) => stats)),
    critic:
      criticLr === undefined
        ? undefined
        : {
            loss: sum(critics.map(({ loss }) => loss)),
            stats: mergeStats(critics.map(({ stats }) => stats)),
            lr: criticLr,
            gradNorm: stepped.valueGradNorm,
          },
    gradNorm: trainsPolicy ? stepped.gradNorm : undefined,
    shareWeightsChanged: trainsPolicy ? stepped.shareWeightsChanged : undefined,
    nonFinite: stepped.nonFinite > 0,
  };
}

/** What a policy loss needs of each row, in the order of the micro-batch's. */
export function policyRows({ rows }: MicroBatch<RolloutRow>, result: ForwardResult) {
  return rows.map(({ row, offset }) => ({
    lp: sliceOf(result.logprobs, row, offset),
    old: row.old,
    ...(row.reference !== undefined && { ref: row.reference }),
    entropy: sliceOf(result.entropy, row, offset),
    mask: row.mask,
    advantage: row.rollout.advantage,
    trajectory: row.rollout.id,
  }));
}

/** The rows of every rollout that is in the loss, each rollout a bundle. */
function trainedBundles(groups: readonly RolloutGroup[]): RolloutRow[][] {
  return groups
    .flatMap(({ rollouts }) => rollouts)
    .filter(({ trained }) => trained)
    .map(({ rows }) => rows.filter(({ ids }) => ids.length > 0))
    .filter((rows) => rows.length > 0);
}

/** Consecutive parts of nearly equal size. */
function cut<T>(items: readonly T[], parts: number): T[][] {
  return Array.from({ length: parts }, (_, i) =>
    items.slice(Math.floor((i * items.length) / parts), Math.floor(((i + 1) * items.length) / parts)),
  );
}

/** |sampler's log-prob − trainer's| over the tokens that were drawn. */
class Differences {
  readonly #stats: Stats<"difference"> = {};
  #largest = 0;

  add({ rows }: MicroBatch<RolloutRow>, { logprobs }: ForwardResult): void {
    for (const { row, offset } of rows) {
      row.sampled.forEach((sampled, i) => {
        if (Number.isNaN(sampled)) return;
        const difference = Math.abs(sampled - logprobs[offset + i]);
        count(this.#stats, "difference", difference);
        this.#largest = Math.max(this.#largest, difference);
      });
    }
  }

  metrics(): Metrics {
    const { difference } = this.#stats;
    if (difference === undefined) return {};
    return {
      "sampling/sampling_logp_difference/mean": statMean(difference),
      "sampling/sampling_logp_difference/max": this.#largest,
    };
  }
}

/** One row of metrics for all optimizer steps on one batch of rollouts. */
function summary(steps: readonly (OptimizerStep & { iteration: number })[]): Metrics {
  if (steps.length === 0) return {};
  const each = <T>(value: (step: OptimizerStep) => T | undefined) =>
    steps.map(value).filter((one): one is T => one !== undefined);
  const last = steps[steps.length - 1];
  const clipped = steps.map(({ stats }) => policyMetrics(stats));
  // Of the first pass only: later ones repeat the same tokens under a policy that did not write them.
  const first = steps.filter(({ iteration }) => iteration === 0);
  const { entropy } = policyMetrics(mergeStats(first.map(({ stats }) => stats)));
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
    ...criticSummary(each(({ critic }) => critic)),
  };
}

function criticSummary(critics: readonly NonNullable<OptimizerStep["critic"]>[]): Metrics {
  if (critics.length === 0) return {};
  const { clip_fraction } = mergeStats(critics.map(({ stats }) => stats));
  return {
    critic_value_loss: mean(critics.map(({ loss }) => loss)),
    critic_clipfrac: clip_fraction === undefined ? NaN : statMean(clip_fraction),
    critic_learning_rate: critics[critics.length - 1].lr,
    critic_grad_norm: mean(critics.flatMap(({ gradNorm }) => gradNorm ?? [])),
  };
}
