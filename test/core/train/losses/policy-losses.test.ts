import type { PolicyStat } from "../../../../core/train/losses/stats.ts";
import { describe, expect, test } from "vitest";
import { Random } from "../../../../core/contract/random.ts";
import { grpoLoss } from "../../../../core/train/losses/grpo.ts";
import { gspoLoss } from "../../../../core/train/losses/gspo.ts";
import { klEstimators } from "../../../../core/train/losses/kl.ts";
import { ppoLoss } from "../../../../core/train/losses/ppo.ts";
import { mergeStats, policyMetrics } from "../../../../core/train/losses/stats.ts";
import {
  stepNormalisers,
  type LossResult,
  type Normalisers,
  type PolicyLossOptions,
  type PolicyRow,
} from "../../../../core/train/losses/types.ts";

type Row = Required<Omit<PolicyRow, "trajectory">> & { trajectory?: string; advantages: Float64Array };
type Loss = (rows: Row[], options: PolicyLossOptions, normalisers: Normalisers) => LossResult<PolicyStat>;

const losses: Record<string, Loss> = {
  grpo: grpoLoss,
  gspo: gspoLoss,
  ppo: (rows, options, normalisers) => ppoLoss(rows, { ...options, dual_clip: 3 }, normalisers),
};

const options: PolicyLossOptions = {
  epsilon: 0.2,
  epsilon_high: 0.28,
  beta: 0.04,
  entropy_coef: 0.02,
  loss_type: "token_mean",
};

/** Ragged rows with holes in their masks, one empty row, and two rows that are turns of one trajectory. */
function makeRows(seed: number, drift = 0.3): Row[] {
  const random = new Random(seed);
  const values = (n: number, scale: number) => Float64Array.from({ length: n }, () => scale * (random.next() - 0.5));
  return [5, 1, 9, 3, 0, 7, 4].map((length, i) => {
    const lp = values(length, 1).map((value) => value - 1.5);
    const near = (scale: number) => values(length, scale).map((value, t) => lp[t] + value);
    const advantage = i === 6 ? 0.7 : 2 * (random.next() - 0.5);
    const mask = Uint8Array.from({ length }, (_, t) => Number(i !== 1 && (t % 4 !== 2 || t === length - 1)));
    return {
      lp,
      old: near(2 * drift),
      ref: near(0.4),
      entropy: values(length, 1).map((value) => value + 1),
      mask,
      advantage: i === 5 ? 0.7 : advantage,
      advantages: values(length, 2),
      ...(i >= 5 && { trajectory: "two turns" }),
    };
  });
}

describe.each(Object.entries(losses))("%s", (name, lossOf) => {
  const types = name === "ppo" ? (["token_mean"] as const) : (["token_mean", "seq_mean", "const_length"] as const);

  test.each(types)("gradients are the loss's finite differences (%s)", (loss_type) => {
    const rows = makeRows(1);
    const normalisers = stepNormalisers(rows, 12);
    const evaluate = () => lossOf(rows, { ...options, loss_type }, normalisers);
    const { dLogprobs, dEntropy } = evaluate();
    const step = 1e-6;
    for (const [field, gradient] of [
      ["lp", dLogprobs],
      ["entropy", dEntropy!],
    ] as const) {
      rows.forEach((row, i) =>
        row.mask.forEach((_, t) => {
          const original = row[field][t];
          row[field][t] = original + step;
          const above = evaluate().loss;
          row[field][t] = original - step;
          const below = evaluate().loss;
          row[field][t] = original;
          expect(gradient[i][t]).toBeCloseTo((above - below) / (2 * step), 7);
          if (row.mask[t] === 0) expect(gradient[i][t]).toBe(0);
        }),
      );
    }
  });

  test.each(types)("micro-batches of ragged rows add up to the whole, metrics included (%s)", (loss_type) => {
    const rows = makeRows(2);
    const normalisers = stepNormalisers(rows, 12);
    const whole = lossOf(rows, { ...options, loss_type }, normalisers);
    for (const cuts of [[1, 2, 3, 4, 5], [5], [2, 3]]) {
      const bounds = [0, ...cuts, rows.length];
      const parts = bounds
        .slice(1)
        .map((end, i) => lossOf(rows.slice(bounds[i], end), { ...options, loss_type }, normalisers));
      expect(parts.reduce((sum, part) => sum + part.loss, 0)).toBeCloseTo(whole.loss, 12);
      expect(parts.flatMap((part) => part.dLogprobs)).toEqual(whole.dLogprobs);
      expect(parts.flatMap((part) => part.dEntropy)).toEqual(whole.dEntropy);
      const metrics = policyMetrics(mergeStats(parts.map((part) => part.stats)));
      for (const [metric, value] of Object.entries(policyMetrics(whole.stats))) {
        expect(metrics[metric]).toBeCloseTo(value, 12);
      }
    }
  });

  test("on the second update the ratio is real: it moves, epsilon matters, and beyond the bound nothing flows", () => {
    const plain = { ...options, beta: 0, entropy_coef: 0 };
    const rows = makeRows(3);
    const evaluate = (epsilon: number) =>
      lossOf(rows, { ...plain, epsilon, epsilon_high: epsilon }, stepNormalisers(rows));
    const loose = evaluate(10);
    const tight = evaluate(1e-4);
    expect(policyMetrics(loose.stats)["ratio_std"]).toBeGreaterThan(0.01);
    expect(policyMetrics(loose.stats)["clip_ratio/region_mean"]).toBe(0);
    expect(policyMetrics(tight.stats)["clip_ratio/region_mean"]).toBeGreaterThan(0.2);
    expect(tight.dLogprobs).not.toEqual(loose.dLogprobs);
    // What clips has no gradient; what does not clip has the same gradient as without a bound.
    let clipped = 0;
    tight.dLogprobs.forEach((row, i) =>
      row.forEach((gradient, t) => {
        if (gradient === 0 && loose.dLogprobs[i][t] !== 0) clipped += 1;
        else expect(gradient).toBe(loose.dLogprobs[i][t]);
      }),
    );
    expect(clipped).toBeGreaterThan(0);

    // On the first update old = lp: ratio 1, nothing clips, whatever epsilon.
    for (const row of rows) row.old.set(row.lp);
    expect(policyMetrics(evaluate(1e-4).stats)).toMatchObject({
      ratio_mean: 1,
      ratio_std: 0,
      "clip_ratio/region_mean": 0,
    });
    expect(evaluate(1e-4).dLogprobs).toEqual(evaluate(10).dLogprobs);
  });

  test("rows without trained tokens count nowhere", () => {
    const rows = makeRows(4);
    const kept = rows.filter((row) => row.mask.some((m) => m !== 0));
    expect(kept).toHaveLength(5);
    expect(stepNormalisers(rows)).toEqual(stepNormalisers(kept));
    const normalisers = stepNormalisers(rows);
    expect(lossOf(rows, options, normalisers).loss).toBe(lossOf(kept, options, normalisers).loss);
    expect(lossOf([], options, normalisers)).toMatchObject({ loss: 0, dLogprobs: [], stats: {} });
  });

  test("zero advantages give no policy gradient", () => {
    const rows = makeRows(5).map((row) => ({ ...row, advantage: 0, advantages: row.advantages.map(() => 0) }));
    const { dLogprobs } = lossOf(rows, { ...options, beta: 0 }, stepNormalisers(rows));
    expect(dLogprobs.every((row) => row.every((gradient) => gradient === 0))).toBe(true);
  });

  test("float32 log-probs are taken as they are", () => {
    const rows = makeRows(6);
    const single = rows.map((row) => ({ ...row, lp: new Float32Array(row.lp), old: new Float32Array(row.old) }));
    const double = single.map((row) => ({ ...row, lp: new Float64Array(row.lp), old: new Float64Array(row.old) }));
    const normalisers = stepNormalisers(rows);
    expect(lossOf(single as Row[], options, normalisers)).toEqual(lossOf(double, options, normalisers));
  });

  test("a KL term without a reference and a bonus without entropy are defects, not zeros", () => {
    const [{ ref: _ref, entropy: _entropy, ...bare }] = makeRows(7);
    expect(() => lossOf([bare as Row], options, stepNormalisers([bare]))).toThrow(/reference/);
    expect(() => lossOf([bare as Row], { ...options, beta: 0 }, stepNormalisers([bare]))).toThrow(/entropy/);
  });
});

test("GSPO has one ratio per trajectory: two turns are as one long row", () => {
  const rows = makeRows(8, 0.001);
  const joined = (a: Row, b: Row): Row => ({
    ...a,
    lp: Float64Array.of(...a.lp, ...b.lp),
    old: Float64Array.of(...a.old, ...b.old),
    ref: Float64Array.of(...a.ref, ...b.ref),
    entropy: Float64Array.of(...a.entropy, ...b.entropy),
    mask: Uint8Array.of(...a.mask, ...b.mask),
  });
  const whole = [...rows.slice(0, 5), joined(rows[5], rows[6])];
  for (const loss_type of ["seq_mean", "token_mean", "const_length"] as const) {
    const settings = { ...options, loss_type, epsilon: 3e-4, epsilon_high: 4e-4 };
    const apart = gspoLoss(rows, settings, stepNormalisers(rows, 12));
    const together = gspoLoss(whole, settings, stepNormalisers(whole, 12));
    expect(apart.loss).toBeCloseTo(together.loss, 14);
    expect([...apart.dLogprobs[5], ...apart.dLogprobs[6]]).toEqual([...together.dLogprobs[5]]);
    const lone = rows.map(({ trajectory: _, ...row }) => row);
    expect(gspoLoss(lone, settings, stepNormalisers(lone, 12)).dLogprobs).not.toEqual(apart.dLogprobs);
  }
  rows[6].advantage = -1;
  expect(() => gspoLoss(rows, options, stepNormalisers(rows))).toThrow(/two advantages/);
});

test("the dual clip and the bound of the log-ratio end the slope", () => {
  const row = (lp: number, advantage: number) => ({
    lp: Float64Array.of(lp),
    old: Float64Array.of(0),
    mask: Uint8Array.of(1),
    advantages: Float64Array.of(advantage),
  });
  const ppo = { epsilon: 0.2, epsilon_high: 0.2, beta: 0, entropy_coef: 0 };
  const evaluate = (lp: number, advantage: number, dual_clip: number | null) =>
    ppoLoss([row(lp, advantage)], { ...ppo, dual_clip }, { tokens: 1 });
  expect(evaluate(2, -1, 3)).toMatchObject({ loss: 3, dLogprobs: [Float64Array.of(0)] });
  expect(evaluate(2, -1, null).loss).toBeCloseTo(Math.exp(2), 12);
  expect(evaluate(50, -1, null)).toMatchObject({ loss: Math.exp(20), dLogprobs: [Float64Array.of(0)] });
});

test.each(Object.entries(klEstimators))("KL estimator %s: slope and value at 0", (_, estimate) => {
  for (const x of [-1.3, -1e-3, 0.2, 2]) {
    const step = 1e-6;
    const difference = (estimate(x + step).value - estimate(x - step).value) / (2 * step);
    expect(estimate(x).slope).toBeCloseTo(difference, 6);
  }
  expect(estimate(0).value).toBe(0);
});

test("k3 is never negative, also where e^−x + x − 1 would round to below 0", () => {
  for (let x = -1e-6; x < 1e-6; x += 1e-8) expect(klEstimators.k3(x).value).toBeGreaterThanOrEqual(0);
});
