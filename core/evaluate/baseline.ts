/** What a baseline says about errors and groups: answers of one model to some rows, several each. */

import type { EvalItem, FailureGroup } from "../contract/eval.ts";
import { mean } from "../contract/numbers.ts";

export interface Baseline {
  /** Rows that were answered. */
  rows: number;
  /** Answers per row at temperature 1. */
  samples: number;
  /** Share of sampled answers with an error. */
  error_rate: number;
  /** Share of rows whose greedy answer has an error. */
  greedy_error_rate: number;
  /** Of the rows with a greedy error: the share of sampled answers that have the very same one. Null without such rows. */
  same_error_rate: number | null;
  /** The most frequent error and its share of all sampled answers. */
  top_error: { name: string; share: number } | null;
  faults: Record<FailureGroup, number>;
  mean_reward: number;
  lowest_reward: number;
  highest_reward: number;
  /** Share of rows whose answers are not all worth the same: what RL learns from. */
  mixed_groups: number;
  /** Share of rows with an answer that is worth more than the lowest reward that was met. */
  some_success: number;
}

const epsilon = 1e-9;

/**
 * From the items of an evaluation with a sampled and a greedy pass. `best`: what a right answer earns, where it is known:
 * then an answer without a named failure that earns less has the error `worth less than a right answer`. Undefined when
 * no answer has a reward.
 */
export function baselineOf(items: readonly EvalItem[], best: number | null): Baseline | undefined {
  const scored = items.filter((item) => item.reward !== null && item.invalid === null);
  const sampled = scored.filter(({ pass }) => pass === "sampled");
  const greedy = new Map(scored.filter(({ pass }) => pass === "greedy").map((item) => [item.row_id, item]));
  if (sampled.length === 0) return undefined;
  const rewards = sampled.map(rewardOf);
  const [lowest, highest] = [Math.min(...rewards), Math.max(...rewards)];
  const errorOf = (item: EvalItem) => {
    if (item.failure !== null) return item.failure;
    if (item.fault !== null) return item.fault;
    return rewardOf(item) < (best ?? highest) - epsilon ? "worth less than a right answer" : null;
  };
  const groups = [...Map.groupBy(sampled, ({ row_id }) => row_id).values()];
  const shareOf = (test: (item: EvalItem) => boolean) => mean(sampled.map((item) => Number(test(item))));
  const same = groups.flatMap((group) => {
    const first = greedy.get(group[0].row_id);
    const error = first === undefined ? null : errorOf(first);
    return error === null ? [] : [mean(group.map((item) => Number(errorOf(item) === error)))];
  });
  const errors = sampled.map(errorOf).filter((error) => error !== null);
  const counts = [...Map.groupBy(errors, (error) => error)].map(([name, all]) => ({
    name,
    share: all.length / sampled.length,
  }));
  const [top] = counts.toSorted((a, b) => b.share - a.share);
  return {
    rows: groups.length,
    samples: Math.round(sampled.length / groups.length),
    error_rate: errors.length / sampled.length,
    greedy_error_rate: greedy.size === 0 ? 0 : mean([...greedy.values()].map((item) => Number(errorOf(item) !== null))),
    same_error_rate: same.length === 0 ? null : mean(same),
    top_error: top ?? null,
    faults: {
      call: shareOf(({ fault }) => fault === "call"),
      rules: shareOf(({ fault }) => fault === "rules"),
      state: shareOf(({ fault }) => fault === "state"),
      choice: shareOf(({ fault }) => fault === "choice"),
    },
    mean_reward: mean(rewards),
    lowest_reward: lowest,
    highest_reward: highest,
    mixed_groups: mean(groups.map((group) => Number(spread(group.map(rewardOf)) > epsilon))),
    some_success: mean(groups.map((group) => Number(group.some((item) => rewardOf(item) > lowest + epsilon)))),
  };
}

function rewardOf({ reward }: EvalItem): number {
  return reward ?? 0;
}

function spread(values: readonly number[]): number {
  return Math.max(...values) - Math.min(...values);
}
