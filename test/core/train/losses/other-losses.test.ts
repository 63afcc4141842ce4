import { expect, test } from "vitest";
import { Random } from "../../../../core/contract/random.ts";
import { dpoLoss, maskedSum, type DpoPair } from "../../../../core/train/losses/dpo.ts";
import { gae, whiten } from "../../../../core/train/losses/gae.ts";
import { sftLoss } from "../../../../core/train/losses/sft.ts";
import { mergeStats, statMean } from "../../../../core/train/losses/stats.ts";
import { stepNormalisers } from "../../../../core/train/losses/types.ts";
import { valueLoss } from "../../../../core/train/losses/value.ts";

const random = new Random("other losses");
const values = (n: number) => Float64Array.from({ length: n }, () => 2 * random.next() - 1.5);

function makePairs(count: number): DpoPair[] {
  const answer = () => {
    const n = 1 + random.integer(6);
    const mask = Uint8Array.from({ length: n }, (_, t) => Number(t !== 1));
    return { lp: values(n), ref: maskedSum(values(n), mask), mask };
  };
  return Array.from({ length: count }, () => ({ chosen: answer(), rejected: answer() }));
}

test("SFT: 1 × 8 = 8 × 1 = 2 × 4, with ragged rows", () => {
  const rows = Array.from({ length: 8 }, (_, i) => ({
    lp: values(1 + ((i * 5) % 7)),
    mask: Uint8Array.from({ length: 1 + ((i * 5) % 7) }, (__, t) => Number(i !== 3 && t % 3 !== 1)),
  }));
  const normalisers = stepNormalisers(rows);
  const whole = sftLoss(rows, normalisers);
  for (const size of [1, 4]) {
    const parts = Array.from({ length: 8 / size }, (_, i) =>
      sftLoss(rows.slice(i * size, (i + 1) * size), normalisers),
    );
    expect(parts.reduce((sum, part) => sum + part.loss, 0)).toBeCloseTo(whole.loss, 12);
    expect(parts.flatMap((part) => part.dLogprobs)).toEqual(whole.dLogprobs);
  }
});

test("DPO starts at ln 2 with margin 0, smoothed or not", () => {
  const pairs = makePairs(3).map(({ chosen, rejected }) => ({
    chosen: { ...chosen, ref: maskedSum(chosen.lp, chosen.mask) },
    rejected: { ...rejected, ref: maskedSum(rejected.lp, rejected.mask) },
  }));
  for (const label_smoothing of [0, 0.1]) {
    const { loss, stats } = dpoLoss(pairs, { beta: 0.1, label_smoothing }, { pairs: 3 });
    expect(loss).toBeCloseTo(Math.LN2, 14);
    expect(statMean(stats["rewards/margins"]!)).toBe(0);
    expect(statMean(stats["rewards/accuracies"]!)).toBe(0);
  }
});

test("DPO: any order and any odd micro-batches give the same loss, gradients and metrics", () => {
  const pairs = makePairs(7);
  const options = { beta: 0.3, label_smoothing: 0.05 };
  const whole = dpoLoss(pairs, options, { pairs: 7 });
  const order = new Random(4).shuffle([...pairs.keys()]);
  const bounds = [0, 1, 4, 7];
  const parts = bounds.slice(1).map((end, i) =>
    dpoLoss(
      order.slice(bounds[i], end).map((p) => pairs[p]),
      options,
      { pairs: 7 },
    ),
  );
  expect(parts.reduce((sum, part) => sum + part.loss, 0)).toBeCloseTo(whole.loss, 12);
  const chosen = parts.flatMap((part) => part.dChosen);
  const rejected = parts.flatMap((part) => part.dRejected);
  order.forEach((pair, i) => {
    expect(chosen[i]).toEqual(whole.dChosen[pair]);
    expect(rejected[i]).toEqual(whole.dRejected[pair]);
  });
  const merged = mergeStats(parts.map((part) => part.stats));
  expect(statMean(merged["rewards/margins"]!)).toBeCloseTo(statMean(whole.stats["rewards/margins"]!), 12);
});

test("DPO is finite for hopeless and for certain pairs", () => {
  const pair = (lp: number): DpoPair => ({
    chosen: { lp: Float64Array.of(lp), ref: 0, mask: Uint8Array.of(1) },
    rejected: { lp: Float64Array.of(0), ref: 0, mask: Uint8Array.of(1) },
  });
  const evaluate = (lp: number) => dpoLoss([pair(lp)], { beta: 1, label_smoothing: 0 }, { pairs: 1 });
  expect(evaluate(-5000)).toMatchObject({ loss: 5000, dChosen: [Float64Array.of(-1)] });
  expect(evaluate(5000)).toMatchObject({ loss: 0, dChosen: [Float64Array.of(0)] });
});

test("value loss: gradient is the finite difference, and the clamp stops it", () => {
  const rows = [5, 3].map((n) => ({
    values: values(n),
    oldValues: values(n),
    returns: values(n),
    mask: Uint8Array.from({ length: n }, (_, t) => Number(t !== 2)),
  }));
  const options = { value_clip: 0.5, value_coef: 0.5 };
  const evaluate = () => valueLoss(rows, options, stepNormalisers(rows));
  const { dValues } = evaluate();
  rows.forEach((row, i) =>
    row.values.forEach((value, t) => {
      row.values[t] = value + 1e-6;
      const above = evaluate().loss;
      row.values[t] = value - 1e-6;
      const below = evaluate().loss;
      row.values[t] = value;
      expect(dValues[i][t]).toBeCloseTo((above - below) / 2e-6, 7);
    }),
  );
});

test("GAE steps over holes in the mask, and a trajectory's turns are as one row", () => {
  const dense = { rewards: values(5), values: values(5), mask: new Uint8Array(5).fill(1) };
  const options = { gamma: 0.9, lambda: 0.8 };
  const expected = gae([dense], 0.3, options);

  const places = [0, 1, 4, 6, 7];
  const spread = (from: Float64Array) => {
    const holes = new Float64Array(9).fill(123);
    places.forEach((place, i) => (holes[place] = from[i]));
    return holes;
  };
  const mask = Uint8Array.from({ length: 9 }, (_, t) => Number(places.includes(t)));
  const holed = gae([{ rewards: spread(dense.rewards), values: spread(dense.values), mask }], 0.3, options);
  expect(places.map((place) => holed.advantages[0][place])).toEqual([...expected.advantages[0]]);
  expect(places.map((place) => holed.returns[0][place])).toEqual([...expected.returns[0]]);
  expect([2, 3, 5, 8].map((place) => holed.advantages[0][place])).toEqual([0, 0, 0, 0]);

  const turn = (start: number, end?: number) => ({
    rewards: dense.rewards.slice(start, end),
    values: dense.values.slice(start, end),
    mask: dense.mask.slice(start, end),
  });
  const turns = gae([turn(0, 2), turn(2)], 0.3, options);
  expect(turns.advantages.flatMap((row) => [...row])).toEqual([...expected.advantages[0]]);
});

test("whitening centres and scales trained tokens only; a flat batch is centred only", () => {
  const rows = [values(4), values(3)];
  const masks = [Uint8Array.of(1, 0, 1, 1), Uint8Array.of(1, 1, 0)];
  const hole = rows[0][1];
  whiten(rows, masks);
  const trained = rows.flatMap((row, i) => [...row].filter((_, t) => masks[i][t] === 1));
  expect(trained.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 12);
  expect(trained.reduce((sum, value) => sum + value * value, 0) / trained.length).toBeCloseTo(1, 12);
  expect(rows[0][1]).toBe(hole);

  const flat = [Float64Array.of(3, 3 + 1e-7)];
  whiten(flat, [Uint8Array.of(1, 1)]);
  expect(Math.abs(flat[0][0])).toBeLessThan(1e-6);
});
