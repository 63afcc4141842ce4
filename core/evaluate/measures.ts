/** From stored answers to the figures of a report. */

import type {
  EvalChange,
  EvalItem,
  Evaluation,
  Interval,
  Measures,
  PreferenceItem,
  SolutionItem,
} from "../contract/eval.ts";
import { HoneError } from "../contract/errors.ts";
import { mean, sum, tally } from "../contract/numbers.ts";
import type { Seed } from "../contract/random.ts";
import { isCut } from "../text/parse-assistant.ts";
import { clusterBy, oncePerCluster, seededInterval, type Cluster } from "./bootstrap.ts";

const problemOf = (item: { problem: string }) => item.problem;

/** Names to list even when they did not happen. */
export interface MeasureNames {
  failures: readonly string[];
  outcomes: readonly string[];
}

/**
 * Figures of one pass. Episodes that the environment failed are counted, and are in no other figure. Throws `HoneError`
 * `environment-failed` when there are no others.
 */
export function measure(all: readonly EvalItem[], names: MeasureNames, seed: Seed): Measures {
  const items = all.filter(({ invalid }) => invalid === null);
  if (items.length === 0) throw allInvalid(all);
  const interval = (name: string, value: (item: EvalItem) => number | undefined, perProblem = false) => {
    const clusters = clusterBy(items, problemOf, value);
    return seededInterval(perProblem ? oncePerCluster(clusters) : clusters, seed, name) ?? null;
  };
  const reward = (item: EvalItem) => item.reward ?? undefined;
  const outcomes = new Set([...names.outcomes, ...items.flatMap((item) => Object.keys(item.outcomes))]);
  const kinds = tally(items.map(({ failure }) => failure).filter((failure) => failure !== null));
  const lengths = items.map(responseLength);
  const fault = (group: EvalItem["fault"]) => mean(items.map((item) => Number(item.fault === group)));
  return {
    reward: interval("reward", reward),
    reward_by_problem: interval("reward_by_problem", reward, true),
    reward_given_allowed: interval("reward_given_allowed", (item) =>
      item.fault === null || item.fault === "choice" ? reward(item) : undefined,
    ),
    rates: Object.fromEntries(
      [...outcomes].map((name) => [name, interval(name, (item) => asNumber(item.outcomes[name]))]),
    ),
    failures: Object.fromEntries(
      [...new Set([...names.failures, ...kinds.keys()])].map((kind) => [kind, kinds.get(kind) ?? 0]),
    ),
    faults: { call: fault("call"), rules: fault("rules"), state: fault("state"), choice: fault("choice") },
    response_length: { mean: mean(lengths), max: lengths.reduce((most, length) => Math.max(most, length), 0) },
    thinking_tokens: meanThinking(items),
    turns: mean(items.map(({ turns }) => turns.length)),
    truncated_rate: mean(items.map((item) => Number(isCut(item.stop_reason)))),
    invalid: all.length - items.length,
    most_chosen: mostChosen(items),
  };
}

/** Tokens that the model wrote in an episode. */
function responseLength({ turns }: EvalItem): number {
  return sum(turns.map(({ tokens }) => tokens.length));
}

/** Over the episodes of which it is known; null when that is none. */
function meanThinking(items: readonly EvalItem[]): number | null {
  const counts = items.flatMap(({ turns }) => {
    const known = turns.map(({ thinking_tokens }) => thinking_tokens).filter((tokens) => tokens !== null);
    return known.length === 0 ? [] : [sum(known)];
  });
  return counts.length === 0 ? null : mean(counts);
}

function allInvalid(items: readonly EvalItem[]): HoneError {
  return new HoneError(
    "environment-failed",
    `the environment failed in all ${items.length} episodes, first with: ${items.at(0)?.invalid ?? "no episode at all"}`,
    { fix: "nothing is known of the model yet: mend what the task calls, then measure again" },
  );
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

/** What a comparison needs of an evaluation. */
export type Compared = Pick<Evaluation, "items"> & Partial<Pick<Evaluation, "solutions" | "preferences">>;

/**
 * After minus before in one pass, paired by row and sample; right answers and pairs by row. Throws `HoneError`
 * `not-paired` when the two did not answer the same rows equally often.
 */
export function compare(
  beforeAll: Compared,
  afterAll: Compared,
  seed: Seed,
  pass: EvalItem["pass"] = "sampled",
): EvalChange {
  const of = ({ items }: Compared) => items.filter((item) => item.pass === pass);
  const all = pairUp(of(beforeAll), of(afterAll), ({ row_id, sample }) => `${row_id} ${sample}`);
  const counted = all.filter(({ before, after }) => before.invalid === null && after.invalid === null);
  if (counted.length === 0)
    throw allInvalid(all.flatMap(({ before, after }) => [before, after]).filter(({ invalid }) => invalid !== null));
  const change = (name: string, value: (item: EvalItem) => number | undefined, perProblem = false) => {
    const clusters = clusterBy(counted, problemOf, (pair) => difference(value(pair.after), value(pair.before)));
    return seededInterval(perProblem ? oncePerCluster(clusters) : clusters, seed, `change ${name}`) ?? null;
  };
  const outcomes = new Set(
    counted.flatMap(({ before, after }) => Object.keys({ ...before.outcomes, ...after.outcomes })),
  );
  const reward = (item: EvalItem) => item.reward ?? undefined;
  return {
    reward: change("reward", reward),
    reward_by_problem: change("reward_by_problem", reward, true),
    rates: Object.fromEntries(
      [...outcomes].map((name) => [name, change(name, (item) => asNumber(item.outcomes[name]))]),
    ),
    response_length: change("response_length", responseLength) ?? { mean: 0, lo: 0, hi: 0 },
    solution_loss: solutionChange(beforeAll.solutions ?? [], afterAll.solutions ?? [], seed),
    preference_accuracy: preferenceChange(beforeAll.preferences ?? [], afterAll.preferences ?? [], seed),
  };
}

function solutionChange(before: readonly SolutionItem[], after: readonly SolutionItem[], seed: Seed): Interval | null {
  if (before.length === 0 || after.length === 0) return null;
  const clusters = [
    ...Map.groupBy(
      pairUp(before, after, ({ row_id }) => row_id),
      problemOf,
    ).values(),
  ].map((pairs) => ({
    sum: sum(pairs.map((pair) => pair.before.logprob - pair.after.logprob)),
    count: sum(pairs.map((pair) => pair.after.tokens)),
  }));
  return seededInterval(clusters, seed, "change solution_loss") ?? null;
}

function preferenceChange(
  before: readonly PreferenceItem[],
  after: readonly PreferenceItem[],
  seed: Seed,
): Interval | null {
  if (before.length === 0 || after.length === 0) return null;
  const right = ({ chosen, rejected }: PreferenceItem) => Number(chosen > rejected);
  const clusters = clusterBy(
    pairUp(before, after, ({ row_id }) => row_id),
    problemOf,
    (pair) => right(pair.after) - right(pair.before),
  );
  return seededInterval(clusters, seed, "change preference_accuracy") ?? null;
}

function pairUp<Item extends { problem: string }>(
  before: readonly Item[],
  after: readonly Item[],
  key: (item: Item) => string,
): Pair<Item>[] {
  const earlier = new Map(before.map((item) => [key(item), item]));
  const pairs = after.flatMap((item): Pair<Item>[] => {
    const first = earlier.get(key(item));
    return first === undefined ? [] : [{ problem: item.problem, before: first, after: item }];
  });
  if (pairs.length === before.length && pairs.length === after.length && pairs.length > 0) return pairs;
  throw new HoneError(
    "not-paired",
    `the evaluations cannot be compared: ${before.length} and ${after.length} answers, ${pairs.length} to the same rows`,
    { fix: "evaluate both models with the same split, split seed and number of samples" },
  );
}

interface Pair<Item> {
  problem: string;
  before: Item;
  after: Item;
}

function mostChosen(items: readonly EvalItem[]): Measures["most_chosen"] {
  const counts = tally(items.map((item) => item.choice).filter((choice) => choice !== null));
  const [top] = [...counts].sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1));
  return top === undefined ? null : { choice: top[0], share: top[1] / items.length };
}

function asNumber(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function difference(after: number | undefined, before: number | undefined): number | undefined {
  return after === undefined || before === undefined ? undefined : after - before;
}
