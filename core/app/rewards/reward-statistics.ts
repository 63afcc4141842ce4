/** Figures of the reward lab. */

import type { Distribution } from "../../contract/reward.ts";
import { mean, quantile, standardDeviation, variance } from "../../contract/numbers.ts";

const spans = 10;

export function distribution(values: readonly number[]): Distribution {
  const sorted = values.toSorted((a, b) => a - b);
  const [min, max] = [sorted[0], sorted[sorted.length - 1]];
  const histogram: number[] = new Array<number>(max === min ? 1 : spans).fill(0);
  for (const value of values) {
    histogram[max === min ? 0 : Math.min(spans - 1, Math.floor((spans * (value - min)) / (max - min)))] += 1;
  }
  const at = (share: number) => quantile(sorted, share);
  return {
    mean: mean(values),
    std: standardDeviation(values),
    min,
    max,
    quantiles: { p10: at(0.1), p25: at(0.25), p50: at(0.5), p75: at(0.75), p90: at(0.9) },
    histogram,
  };
}

/** Spearman's: Pearson's correlation of the ranks, equal values sharing their mean rank. Null where one is constant. */
export function rankCorrelation(a: readonly number[], b: readonly number[]): number | null {
  const [x, y] = [ranks(a), ranks(b)];
  const [meanX, meanY] = [mean(x), mean(y)];
  let [xy, xx, yy] = [0, 0, 0];
  for (let i = 0; i < x.length; i++) {
    xy += (x[i] - meanX) * (y[i] - meanY);
    xx += (x[i] - meanX) ** 2;
    yy += (y[i] - meanY) ** 2;
  }
  return xx === 0 || yy === 0 ? null : xy / Math.sqrt(xx * yy);
}

function ranks(values: readonly number[]): number[] {
  const order = [...values.keys()].sort((i, j) => values[i] - values[j]);
  const found = new Array<number>(values.length);
  for (let begin = 0; begin < order.length;) {
    let end = begin + 1;
    while (end < order.length && values[order[end]] === values[order[begin]]) end += 1;
    for (let i = begin; i < end; i++) found[order[i]] = (begin + end - 1) / 2;
    begin = end;
  }
  return found;
}

/** Standard errors by which the mean of `after` lies above that of `before` (Welch). Infinite where nothing varies. */
export function standardErrorsBetween(before: readonly number[], after: readonly number[]): number {
  const difference = mean(after) - mean(before);
  const error = Math.sqrt(squaredError(before) + squaredError(after));
  return difference === 0 ? 0 : difference / error;
}

function squaredError(values: readonly number[]): number {
  return values.length < 2 ? Infinity : variance(values) / (values.length - 1);
}
