/** From stored answers to the figures of a report. */

import type { EvalChange, EvalItem, Interval, Measures } from "../contract/eval.ts";
import { HoneError } from "../contract/errors.ts";
import type { Seed } from "../contract/random.ts";
import { clusterBy, oncePerCluster, seededInterval, type Cluster } from "./bootstrap.ts";

const problemOf = (item: { problem: string }) => item.problem;

/** Figures of one pass. `failureKinds`: those to list even when they did not happen. `items` must not be empty. */
export function measure(items: readonly EvalItem[], failureKinds: readonly string[], seed: Seed): Measures {
  const interval = (name: string, value: (item: EvalItem) => number | undefined, perProblem = false) => {
    const clusters = clusterBy(items, problemOf, value);
    return seededInterval(perProblem ? oncePerCluster(clusters) : clusters, seed, name);
  };
  const rate = (name: string) => interval(name, (item) => asNumber(item.outcomes[name])) ?? null;
  const lengths = items.map((item) => item.tokens.length);
  return {
    reward: required(interval("reward", (item) => item.reward)),
    reward_by_problem: required(interval("reward_by_problem", (item) => item.reward, true)),
    reward_given_legal:
      interval("reward_given_legal", (item) => (item.outcomes["legal"] ? item.reward : undefined)) ?? null,
    legal_rate: rate("legal"),
    immediate_win_rate: rate("immediate_win"),
    optimal_rate: rate("optimal"),
    threat_block_rate: rate("threat_block"),
    failures: Object.fromEntries(
      failureKinds.map((kind) => [kind, items.filter((item) => item.failure === kind).length]),
    ),
    response_length: { mean: mean(lengths), max: lengths.reduce((most, length) => Math.max(most, length), 0) },
    truncated_rate: mean(items.map((item) => Number(isCut(item.stop_reason)))),
    most_chosen: mostChosen(items),
  };
}

/** `undefined` when no problem has two rows to compare. */
export function symmetryAgreement(items: readonly EvalItem[], seed: Seed): Interval | undefined {
  const clusters: Cluster[] = [];
  for (const group of Map.groupBy(items, problemOf).values()) {
    if (group.length < 2) continue;
    const choices = group.map((item) => item.problem_choice).filter((choice) => choice !== null);
    clusters.push({ sum: Math.max(0, ...tally(choices).values()) / group.length, count: 1 });
  }
  return seededInterval(clusters, seed, "symmetry_agreement");
}

/**
 * After minus before in one pass, paired by row and sample. Throws `HoneError` `not-paired` when the two did not answer
 * the same rows equally often.
 */
export function compare(
  beforeItems: readonly EvalItem[],
  afterItems: readonly EvalItem[],
  seed: Seed,
  pass: EvalItem["pass"] = "sampled",
): EvalChange {
  const before = beforeItems.filter((item) => item.pass === pass);
  const after = afterItems.filter((item) => item.pass === pass);
  const key = (item: EvalItem) => `${item.row_id} ${item.sample}`;
  const earlier = new Map(before.map((item) => [key(item), item]));
  const pairs = after.map((item) => ({ problem: item.problem, before: earlier.get(key(item)), after: item }));
  const paired = pairs.filter((pair): pair is Pair => pair.before !== undefined);
  if (paired.length !== before.length || paired.length !== after.length || paired.length === 0) {
    throw new HoneError(
      "not-paired",
      `the evaluations cannot be compared: ${before.length} and ${after.length} answers, ${paired.length} to the same rows`,
      { fix: "evaluate both models with the same split, split seed and number of samples" },
    );
  }
  const change = (name: string, value: (item: EvalItem) => number | undefined, perProblem = false) => {
    const clusters = clusterBy(paired, problemOf, (pair) => difference(value(pair.after), value(pair.before)));
    return seededInterval(perProblem ? oncePerCluster(clusters) : clusters, seed, `change ${name}`);
  };
  const rate = (name: string) => change(name, (item) => asNumber(item.outcomes[name])) ?? null;
  return {
    reward: required(change("reward", (item) => item.reward)),
    reward_by_problem: required(change("reward_by_problem", (item) => item.reward, true)),
    legal_rate: rate("legal"),
    immediate_win_rate: rate("immediate_win"),
    optimal_rate: rate("optimal"),
    threat_block_rate: rate("threat_block"),
    response_length: required(change("response_length", (item) => item.tokens.length)),
  };
}

interface Pair {
  problem: string;
  before: EvalItem;
  after: EvalItem;
}

function required(interval: Interval | undefined): Interval {
  if (interval === undefined) throw new Error("no answers to measure");
  return interval;
}

function mostChosen(items: readonly EvalItem[]): Measures["most_chosen"] {
  const counts = tally(items.map((item) => item.choice).filter((choice) => choice !== null));
  const [top] = [...counts].sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1));
  return top === undefined ? null : { choice: top[0], share: top[1] / items.length };
}

function tally(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

export function isCut(stopReason: string): boolean {
  return stopReason === "length" || stopReason === "context_full";
}

function asNumber(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function difference(after: number | undefined, before: number | undefined): number | undefined {
  return after === undefined || before === undefined ? undefined : after - before;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
