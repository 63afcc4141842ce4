/** What one step's rollouts look like, under TRL's metric names. A metric that cannot be computed is absent. */

import { allEqual, mean, standardDeviation, sum, tally } from "../../contract/numbers.ts";
import type { Task } from "../../tasks/task.ts";
import { isCut } from "../../text/parse-assistant.ts";
import type { Rollout, RolloutGroup } from "./rollouts.ts";

type Metrics = Record<string, number>;

/** `grouped`: answers are compared within their group, so that one of equal rewards teaches nothing. */
export function rolloutMetrics(
  task: Pick<Task, "failures" | "limits">,
  groups: readonly RolloutGroup[],
  { grouped }: { grouped: boolean },
): Metrics {
  const rollouts = groups.flatMap((group) => group.rollouts);
  const rewards = rollouts.map(({ score }) => score.reward);
  const rewardsOf = (group: RolloutGroup) => group.rollouts.map(({ score }) => score.reward);
  const metrics: Metrics = {
    reward: mean(rewards),
    // TRL: the mean over groups, so it says how much there is to compare.
    reward_std: mean(groups.map((group) => standardDeviation(rewardsOf(group)))),
    reward_min: Math.min(...rewards),
    reward_max: Math.max(...rewards),
    ...(grouped && { frac_reward_zero_std: mean(groups.map((group) => Number(allEqual(rewardsOf(group))))) }),
    "advantages/mean": mean(rollouts.map(({ advantage }) => advantage)),
    "advantages/std": standardDeviation(rollouts.map(({ advantage }) => advantage)),
  };
  for (const part of new Set(rollouts.flatMap(({ score }) => Object.keys(score.parts)))) {
    const values = rollouts.map(({ score }) => score.parts[part]).filter((value) => value !== undefined);
    metrics[`rewards/${part}/mean`] = mean(values);
    metrics[`rewards/${part}/std`] = standardDeviation(values);
  }
  return { ...metrics, ...lengthMetrics(rollouts), ...turnMetrics(task, rollouts), ...answerMetrics(task, rollouts) };
}

/** Lengths are what the model wrote, in all turns. */
function lengthMetrics(rollouts: readonly Rollout[]): Metrics {
  const lengths = rollouts.map(({ trajectory }) => sum(trajectory.turns.map(({ tokens }) => tokens.length)));
  const cut = rollouts.map(({ trajectory }) => isCut(trajectory.stopReason));
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
  const thinking = rollouts.flatMap(({ trajectory: { turns } }) => {
    const known = turns.flatMap(({ thinkingTokens }) => thinkingTokens ?? []);
    return known.length === 0 ? [] : [sum(known)];
  });
  if (thinking.length > 0) {
    metrics["completions/thinking_mean"] = mean(thinking);
    metrics["completions/thinking_max"] = Math.max(...thinking);
  }
  return metrics;
}

/** Turns, why they ended, and the calls made in them. */
function turnMetrics({ limits }: Pick<Task, "limits">, rollouts: readonly Rollout[]): Metrics {
  const metrics: Metrics = {};
  const turns = rollouts.flatMap(({ trajectory }) => trajectory.turns);
  const severalTurns = limits.turns > 1;
  if (severalTurns) {
    metrics["turns/mean"] = turns.length / rollouts.length;
    metrics["turns/max"] = Math.max(...rollouts.map(({ trajectory }) => trajectory.turns.length));
  }
  addShares(
    metrics,
    "stop_reason",
    severalTurns ? ["terminal", "max_turns", "length"] : ["eos", "length"],
    rollouts.map(({ trajectory }) => trajectory.stopReason),
  );
  const made = sum(turns.map(({ parsed }) => parsed.tool_calls.length));
  const malformed = sum(turns.map(({ parsed }) => parsed.problems.filter(({ code }) => isCall(code)).length));
  // In a task of one turn the call is the answer, and the task says whether it was one that could be carried out.
  const refused = severalTurns ? 0 : rollouts.filter(isRefused).length;
  metrics["tools/call_frequency"] = (made + malformed) / rollouts.length;
  if (made + malformed > 0) metrics["tools/failure_frequency"] = (malformed + refused) / (made + malformed);
  return metrics;
}

/** Problems of a call that was tried, not of its absence. */
function isCall(code: string): boolean {
  return code !== "no_call" && code !== "truncated";
}

function isRefused({ trajectory: { turns }, score }: Rollout): boolean {
  return turns[0].parsed.tool_calls.length > 0 && score.info.failure !== undefined;
}

/** The task's own rates, failures, and how often the most frequent choice was made. */
function answerMetrics({ failures }: Pick<Task, "failures">, rollouts: readonly Rollout[]): Metrics {
  const metrics: Metrics = {};
  addShares(
    metrics,
    "failures",
    Object.keys(failures),
    rollouts.map(({ score }) => score.info.failure),
  );
  for (const name of new Set(rollouts.flatMap(({ score }) => Object.keys(score.info.outcomes)))) {
    const asked = rollouts.map(({ score }) => score.info.outcomes[name]).filter((value) => value !== undefined);
    metrics[`outcomes/${name}`] = mean(asked.map(Number));
  }
  const choices = rollouts.flatMap(({ score }) => score.info.choice ?? []);
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
  for (const [label, count] of tally(labels.filter((one) => one !== undefined)))
    metrics[`${prefix}/${label}`] = count / labels.length;
}
