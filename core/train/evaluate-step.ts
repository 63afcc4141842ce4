/** Measures a model in training on fixed validation rows: by its method's own yardstick, and by the reward if there is one. */

import { isRl } from "../contract/config.ts";
import type { Interval } from "../contract/eval.ts";
import { HoneError } from "../contract/errors.ts";
import { evaluateTask } from "../evaluate/evaluate-task.ts";
import { preferenceAccuracy } from "../evaluate/preference-accuracy.ts";
import { solutionLoss } from "../evaluate/solution-loss.ts";
import { rowsFor } from "../tasks/task.ts";
import type { BestMetric } from "./events.ts";
import type { PairReference } from "./examples/pair-reference.ts";
import type { PreparedRun } from "./prepare-run.ts";
import type { RunFolder } from "./run-folder/run-folder.ts";

type Metrics = Record<string, number>;

export interface EvaluateStepOptions {
  folder: RunFolder;
  step: number;
  signal: AbortSignal;
  /** DPO's. */
  reference?: PairReference;
}

/** What checkpoints are compared by: the reward where the task has one. */
export function bestMetric({ config, task }: Pick<PreparedRun, "config" | "task">): BestMetric {
  if (task.rewardParts.length > 0) return { metric: "eval_reward", better: "higher" };
  // Not `eval_rewards/accuracies`: before the first step no pair has moved, so that one begins at 0.
  if (config.method === "dpo") return { metric: "eval_preference_accuracy", better: "higher" };
  return { metric: "eval_loss", better: "lower" };
}

/** Metrics named `eval_…`, with the same draws every time; none without validation rows. */
export async function evaluateStep(prepared: PreparedRun, options: EvaluateStepOptions): Promise<Metrics> {
  const { config, task, rows } = prepared;
  if (rows.validation.length === 0) return {};
  const rewards = () => measureReward(prepared, options);
  return {
    ...(config.method === "sft" && (await unlessNoRows(() => measureLoss(prepared, options)))),
    ...(config.method === "dpo" && (await unlessNoRows(() => measurePreference(prepared, options)))),
    ...(task.rewardParts.length > 0 && (await (isRl(config.method) ? rewards() : unlessNoRows(rewards)))),
  };
}

/** Validation rows that are all too long measure nothing, which is no reason to end a run. */
async function unlessNoRows(measure: () => Promise<Metrics>): Promise<Metrics> {
  try {
    return await measure();
  } catch (error) {
    if (error instanceof HoneError && ["no-rows", "prompt-too-long"].includes(error.code)) return {};
    throw error;
  }
}

async function measureLoss(prepared: PreparedRun, { signal }: EvaluateStepOptions): Promise<Metrics> {
  const { config, task, rows, maxLength } = prepared;
  const { loss } = await solutionLoss(prepared, task, rows.validation, {
    seed: config.seed,
    loss: config.loss_mask,
    maxLength,
    batchTokens: config.micro_batch_tokens,
    signal,
  });
  return withInterval("eval_loss", loss);
}

async function measurePreference(prepared: PreparedRun, options: EvaluateStepOptions): Promise<Metrics> {
  const { config, task, rows, maxLength } = prepared;
  const { accuracy, reward_accuracy, margin, loss, logps } = await preferenceAccuracy(prepared, task, rows.validation, {
    seed: config.seed,
    ...(options.reference !== undefined && { reference: options.reference }),
    beta: config.beta,
    labelSmoothing: config.label_smoothing,
    maxLength,
    batchTokens: config.micro_batch_tokens,
    signal: options.signal,
  });
  return {
    ...withInterval("eval_preference_accuracy", accuracy),
    ...withInterval("eval_rewards/accuracies", reward_accuracy),
    ...(margin !== null && { "eval_rewards/margins": margin.mean }),
    ...withInterval("eval_loss", loss),
    "eval_logps/chosen": logps.chosen,
    "eval_logps/rejected": logps.rejected,
  };
}

async function measureReward(prepared: PreparedRun, { folder, step, signal }: EvaluateStepOptions): Promise<Metrics> {
  const { config, task, policy, maxLength } = prepared;
  const rows = rowsFor(task, prepared.rows.validation, "prompt");
  if (rows.length === 0) return {};
  const evaluation = await evaluateTask(task, policy, {
    model: `${folder.name}:${step}`,
    split: "validation",
    splitSeed: config.split_seed,
    rows,
    samples: config.num_generations_eval,
    seed: config.seed,
    temperature: config.temperature,
    maxTokens: config.max_completion_length,
    episodes: {
      maxLength,
      invalidRewards: config.invalid_rewards,
      ...(config.max_turns !== null && { maxTurns: config.max_turns }),
      ...(config.episode_seconds !== null && { episodeSeconds: config.episode_seconds }),
    },
    greedy: false,
    games: false,
    signal,
  });
  folder.writeEvaluation(step, "validation", evaluation);
  const { report } = evaluation;
  const rates = Object.entries(report.rates).flatMap(([name, rate]) =>
    rate === null ? [] : [[`eval_outcomes/${name}`, rate.mean] as const],
  );
  return {
    ...withInterval("eval_reward", report.reward),
    ...Object.fromEntries(rates),
    "eval_completions/mean_length": report.response_length.mean,
    "eval_completions/max_length": report.response_length.max,
    "eval_completions/clipped_ratio": report.truncated_rate,
  };
}

function withInterval(name: string, value: Interval | null): Metrics {
  return value === null ? {} : { [name]: value.mean, [`${name}/lo`]: value.lo, [`${name}/hi`]: value.hi };
}
