/** What one step's rollouts look like, under TRL's metric names. A metric that cannot be computed is absent. */

import { isCut } from "../evaluate/measures.ts";
import { allEqual } from "./advantages.ts";
import { mean } from "./losses/numbers.ts";
import type { RolloutGroup } from "./rollouts.ts";

type Metrics = Record<string, number>;

/** Population standard deviation, two passes. */
function standardDeviation(values: readonly number[]): number {
  const center = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - center) ** 2)));
}

/** `failureKinds`: those to count even when they did not happen. */
export function rolloutMetrics(groups: readonly RolloutGroup[], failureKinds: readonly string[]): Metrics {
  const rollouts = groups.flatMap((group) => group.answers);
  const rewards = rollouts.map(({ score }) => score.reward);
  const metrics: Metrics = {
    reward: mean(rewards),
    // TRL: the mean over groups, so it says how much there is to compare.
    reward_std: mean(groups.map(({ answers }) => standardDeviation(answers.map(({ score }) => score.reward)))),
    reward_min: Math.min(...rewards),
    reward_max: Math.max(...rewards),
    frac_reward_zero_std: mean(groups.map(({ answers }) => Number(allEqual(answers.map(({ score }) => score.reward))))),
    "advantages/mean": mean(rollouts.map(({ advantage }) => advantage)),
    "advantages/std": standardDeviation(rollouts.map(({ advantage }) => advantage)),
  };
  for (const part of Object.keys(rollouts[0].score.parts)) {
    const values = rollouts.map(({ score }) => score.parts[part]);
    metrics[`rewards/${part}/mean`] = mean(values);
    metrics[`rewards/${part}/std`] = standardDeviation(values);
  }
  return { ...metrics, ...lengthMetrics(groups), ...answerMetrics(groups, failureKinds) };
}

function lengthMetrics(groups: readonly RolloutGroup[]): Metrics {
  const rollouts = groups.flatMap((group) => group.answers);
  const lengths = rollouts.map(({ ids }) => ids.length);
  const cut = rollouts.map(({ answer }) => isCut(answer.stopReason));
  const terminated = lengths.filter((_, i) => !cut[i]);
  const metrics: Metrics = {
    "completions/mean_length": mean(lengths),
    "completions/min_length": Math.min(...lengths),
    "completions/max_length": Math.max(...lengths),
    "completions/clipped_ratio": mean(cut.map(Number)),
  };
  if (terminated.length > 0) {
    metrics["completions/mean_terminated_length"] = mean(terminated);
    metrics["completions/min_terminated_length"] = Math.min(...terminated);
    metrics["completions/max_terminated_length"] = Math.max(...terminated);
  }
  return metrics;
}

/** Stop reasons, tool calls, the task's own rates, failures, and how often the most frequent choice was made. */
function answerMetrics(groups: readonly RolloutGroup[], failureKinds: readonly string[]): Metrics {
  const rollouts = groups.flatMap((group) => group.answers);
  const metrics: Metrics = {
    "tools/call_frequency": mean(rollouts.map(({ answer }) => answer.parsed.tool_calls.length)),
  };
  const calls = rollouts.filter(({ answer }) => answer.parsed.tool_calls.length > 0);
  if (calls.length > 0) {
    metrics["tools/failure_frequency"] = mean(calls.map(({ score }) => Number(score.info.failure !== undefined)));
  }
  addShares(
    metrics,
    "stop_reason",
    ["eos", "length"],
    rollouts.map(({ answer }) => answer.stopReason),
  );
  addShares(
    metrics,
    "failures",
    failureKinds,
    rollouts.map(({ score }) => score.info.failure),
  );
  for (const name of new Set(rollouts.flatMap(({ score }) => Object.keys(score.info.outcomes)))) {
    const asked = rollouts.map(({ score }) => score.info.outcomes[name]).filter((value) => value !== undefined);
    metrics[`outcomes/${name}`] = mean(asked.map(Number));
  }
  const choices = rollouts.map(({ score }) => score.info.choice);
  const counts = [...tally(choices).values()];
  if (counts.length > 0) metrics["choices/top_share"] = Math.max(...counts) / rollouts.length;
  return metrics;
}

function addShares(
  metrics: Metrics,
  prefix: string,
  known: readonly string[],
  labels: readonly (string | undefined)[],
): void {
  for (const label of known) metrics[`${prefix}/${label}`] = 0;
  for (const [label, count] of tally(labels)) metrics[`${prefix}/${label}`] = count / labels.length;
}

function tally(labels: readonly (string | undefined)[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const label of labels) if (label !== undefined) counts.set(label, (counts.get(label) ?? 0) + 1);
  return counts;
}
