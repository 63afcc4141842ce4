import { expect, test } from "vitest";
import type { EvalItem } from "../../../core/contract/eval.ts";
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

function item(row: number, reward: number, length = 3, sample = 0): EvalItem {
  return {
    pass: "sampled",
    row_id: `row ${row}`,
    problem: `problem ${row >> 1}`,
    sample,
    seed: 0,
    prompt_length: 1,
    text: "",
    tokens: Array<number>(length).fill(0),
    logprobs: Array<number>(length).fill(0),
    stop_reason: "eos",
    reward,
    reward_parts: {},
    outcomes: { legal: reward >= 0, ...(row === 0 && { immediate_win: reward === 1 }) },
    failure: null,
    choice: null,
    problem_choice: null,
  };
}

test("problems with more rows weigh more in the row mean, equally in the problem mean", () => {
  const items = [item(0, 1), item(1, 1), item(2, 0)];
  const measures = measure(items, [], 1);
  expect(measures.reward.mean).toBeCloseTo(2 / 3, 12);
  expect(measures.reward_by_problem.mean).toBeCloseTo(1 / 2, 12);
  expect(measures.immediate_win_rate).toEqual({ mean: 1, lo: 1, hi: 1 });
  expect(measures.threat_block_rate).toBeNull();
});

test("a paired difference sees a small change that two separate intervals would hide", () => {
  const random = new Random(3);
  const before = Array.from({ length: 200 }, (_, i) => item(i, random.integer(11) / 10));
  const after = before.map((one, i) => ({ ...item(i, one.reward + 0.05, 2), reward: one.reward + 0.05 }));
  const change = compare(before, after, 1);
  expect(change.reward.mean).toBeCloseTo(0.05, 12);
  expect(change.reward.lo).toBeGreaterThan(0.049);
  expect(change.reward.hi).toBeLessThan(0.051);
  expect(change.response_length.mean).toBe(-1);
  expect(change.legal_rate).toEqual({ mean: 0, lo: 0, hi: 0 });
  expect(measure(before, [], 1).reward.hi).toBeGreaterThan(measure(after, [], 1).reward.lo);
});

test("the order of answers does not matter for a comparison, their rows do", () => {
  const before = [item(0, 0), item(1, 0.8), item(2, -1)];
  const after = [item(2, 1), item(0, 0.8), item(1, 0.8)];
  expect(compare(before, after, 1).reward.mean).toBeCloseTo((0.8 + 0 + 2) / 3, 12);
  expect(() => compare(before, after.slice(1), 1)).toThrow(/3 and 2 answers, 2 to the same rows/);
  expect(() => compare(before, [item(3, 1), item(0, 0), item(1, 0)], 1)).toThrow(/same rows/);
  expect(() => compare([], [], 1)).toThrow(/cannot be compared/);

  const greedy = (items: EvalItem[]) => items.map((one): EvalItem => ({ ...one, pass: "greedy", reward: 1 }));
  const both = compare([...before, ...greedy(before)], [...after, ...greedy(after)], 1);
  expect(both).toEqual(compare(before, after, 1));
  expect(compare(greedy(before), greedy(after), 1, "greedy").reward.mean).toBe(0);
});
