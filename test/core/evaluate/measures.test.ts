import { expect, test } from "vitest";
import type { EvalItem, EvalTurn } from "../../../core/contract/eval.ts";
import { Random } from "../../../core/contract/random.ts";
import { bootstrapMean, clusterBy } from "../../../core/evaluate/bootstrap.ts";
import { compare, measure } from "../../../core/evaluate/measures.ts";

test("the interval of independent values is the normal one", () => {
  const random = new Random("coin");
  const clusters = Array.from({ length: 400 }, () => ({ sum: random.integer(2), count: 1 }));
  const interval = bootstrapMean(clusters, new Random(1))!;
  const half = 1.96 * Math.sqrt((interval.mean * (1 - interval.mean)) / 400);
  expect(interval.hi - interval.mean).toBeCloseTo(half, 2);
  expect(interval.mean - interval.lo).toBeCloseTo(half, 2);
});

test("resampling problems gives wider intervals than resampling equal answers to them", () => {
  const items = Array.from({ length: 400 }, (_, i) => ({ id: i, problem: i >> 3, value: (i >> 3) % 2 }));
  const width = (problem: (item: (typeof items)[number]) => number) => {
    const { lo, hi } = bootstrapMean(
      clusterBy(
        items,
        (item) => String(problem(item)),
        (item) => item.value,
      ),
      new Random(1),
    )!;
    return hi - lo;
  };
  const ratio = width((item) => item.problem) / width((item) => item.id);
  expect(ratio).toBeGreaterThan(2.4);
  expect(ratio).toBeLessThan(3.3);
});

function compareItems(before: EvalItem[], after: EvalItem[], seed: number, pass?: EvalItem["pass"]) {
  return compare({ items: before }, { items: after }, seed, pass);
}

const names = { failures: [], outcomes: ["legal", "immediate_win", "threat_block"] };

function turn(length: number, thinking: number | null = null): EvalTurn {
  const tokens = Array<number>(length).fill(0);
  return {
    prompt_length: 1,
    text: "",
    tokens,
    logprobs: tokens,
    stop_reason: "eos",
    thinking_tokens: thinking,
    replies: [],
  };
}

function item(row: number, reward: number, length = 3, sample = 0): EvalItem {
  return {
    pass: "sampled",
    row_id: `row ${row}`,
    problem: `problem ${row >> 1}`,
    sample,
    seed: 0,
    turns: [turn(length)],
    stop_reason: "eos",
    reward,
    reward_parts: {},
    outcomes: { legal: reward >= 0, ...(row === 0 && { immediate_win: reward === 1 }) },
    failure: null,
    fault: null,
    choice: null,
    problem_choice: null,
    invalid: null,
  };
}

test("problems with more rows weigh more in the row mean, equally in the problem mean", () => {
  const items = [item(0, 1), item(1, 1), item(2, 0)];
  const measures = measure(items, names, 1);
  expect(measures.reward!.mean).toBeCloseTo(2 / 3, 12);
  expect(measures.reward_by_problem!.mean).toBeCloseTo(1 / 2, 12);
  expect(measures.rates.immediate_win).toEqual({ mean: 1, lo: 1, hi: 1 });
  expect(measures.rates.threat_block).toBeNull();
});

test("a paired difference sees a small change that two separate intervals would hide", () => {
  const random = new Random(3);
  const before = Array.from({ length: 200 }, (_, i) => item(i, random.integer(11) / 10));
  const after = before.map((one, i) => ({ ...item(i, one.reward! + 0.05, 2), reward: one.reward! + 0.05 }));
  const change = compareItems(before, after, 1);
  expect(change.reward!.mean).toBeCloseTo(0.05, 12);
  expect(change.reward!.lo).toBeGreaterThan(0.049);
  expect(change.reward!.hi).toBeLessThan(0.051);
  expect(change.response_length.mean).toBe(-1);
  expect(change.rates.legal).toEqual({ mean: 0, lo: 0, hi: 0 });
  expect(measure(before, names, 1).reward!.hi).toBeGreaterThan(measure(after, names, 1).reward!.lo);
});

test("the order of answers does not matter for a comparison, their rows do", () => {
  const before = [item(0, 0), item(1, 0.8), item(2, -1)];
  const after = [item(2, 1), item(0, 0.8), item(1, 0.8)];
  expect(compareItems(before, after, 1).reward!.mean).toBeCloseTo((0.8 + 0 + 2) / 3, 12);
  expect(() => compareItems(before, after.slice(1), 1)).toThrow(/3 and 2 answers, 2 to the same rows/);
  expect(() => compareItems(before, [item(3, 1), item(0, 0), item(1, 0)], 1)).toThrow(/same rows/);
  expect(() => compareItems([], [], 1)).toThrow(/cannot be compared/);

  const greedy = (items: EvalItem[]) => items.map((one): EvalItem => ({ ...one, pass: "greedy", reward: 1 }));
  const both = compareItems([...before, ...greedy(before)], [...after, ...greedy(after)], 1);
  expect(both).toEqual(compareItems(before, after, 1));
  expect(compareItems(greedy(before), greedy(after), 1, "greedy").reward!.mean).toBe(0);
});

test("an episode's length is that of all its turns; thinking is counted where it is known", () => {
  const two = { ...item(0, 1), turns: [turn(3, 2), turn(4, 0)] };
  const measures = measure([two, item(1, 1, 5)], names, 1);
  expect(measures.response_length).toEqual({ mean: 6, max: 7 });
  expect(measures.turns).toBe(1.5);
  expect(measures.thinking_tokens).toBe(2);
  expect(measure([item(0, 1)], names, 1).thinking_tokens).toBeNull();
});

test("every answer with an error has one basic kind of it, and a poor choice does not make it disallowed", () => {
  const faults = (["call", "rules", "choice", null] as const).map((fault, i) => ({
    ...item(i, i),
    fault,
    failure: fault === "call" ? "no_call" : null,
  }));
  const measures = measure(faults, { ...names, failures: ["no_call", "occupied"] }, 1);
  expect(measures.faults).toEqual({ call: 0.25, rules: 0.25, state: 0, choice: 0.25 });
  expect(measures.failures).toEqual({ no_call: 1, occupied: 0 });
  expect(measures.reward_given_allowed?.mean).toBe(2.5);
});

test("what the environment failed counts for nothing, and nothing else is an error", () => {
  const failed = { ...item(0, 0), reward: null, invalid: "the service is away" };
  const measures = measure([failed, item(1, 1)], names, 1);
  expect(measures).toMatchObject({ invalid: 1, reward: { mean: 1 } });
  expect(() => measure([failed, failed], names, 1)).toThrow(/all 2 episodes, first with: the service is away/);
  const change = compareItems(
    [failed, item(1, 0), item(2, 0)],
    [item(0, 1), item(1, 1), { ...item(2, 1), invalid: "away" }],
    1,
  );
  expect(change.reward!.mean).toBe(1);
  expect(() => compareItems([failed], [item(0, 1)], 1)).toThrow(/environment failed/);
});

test("a task without a reward has none, before, after and between", () => {
  const without = { ...item(0, 0), reward: null, outcomes: {} };
  expect(measure([without], { failures: [], outcomes: [] }, 1)).toMatchObject({
    reward: null,
    reward_by_problem: null,
    rates: {},
  });
  expect(compareItems([without], [without], 1)).toMatchObject({ reward: null, response_length: { mean: 0 } });
});

test("right answers and pairs are compared row by row", () => {
  const items = [item(0, 0), item(1, 0)];
  const solution = (row: number, logprob: number) => ({ row_id: `row ${row}`, problem: `p${row}`, logprob, tokens: 4 });
  const pair = (row: number, gap: number) => ({ row_id: `row ${row}`, problem: `p${row}`, chosen: gap, rejected: 0 });
  const before = { items, solutions: [solution(0, -8), solution(1, -4)], preferences: [pair(0, -1), pair(1, 1)] };
  const after = { items, solutions: [solution(1, -2), solution(0, -6)], preferences: [pair(0, 2), pair(1, 1)] };
  const change = compare(before, after, 1);
  expect(change.solution_loss).toEqual({ mean: -0.5, lo: -0.5, hi: -0.5 });
  expect(change.preference_accuracy).toMatchObject({ mean: 0.5, lo: 0, hi: 1 });
  expect(compareItems(items, items, 1)).toMatchObject({ solution_loss: null, preference_accuracy: null });
  expect(() => compare(before, { ...after, solutions: [solution(0, -6)] }, 1)).toThrow(/2 and 1 answers/);
});
