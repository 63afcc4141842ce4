/** Arithmetic on lists, in float64. A mean of nothing is NaN. */

export function sum(values: ArrayLike<number>): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i];
  return total;
}

export function mean(values: ArrayLike<number>): number {
  return sum(values) / values.length;
}

/** Of the whole population (divided by n), in two passes. */
export function variance(values: ArrayLike<number>): number {
  const center = mean(values);
  return mean(Array.from(values, (value) => (value - center) ** 2));
}

/** Of the whole population. */
export function standardDeviation(values: ArrayLike<number>): number {
  return Math.sqrt(variance(values));
}

/** Of ascending values, with linear interpolation. `share` in 0 … 1. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  const position = share * (sorted.length - 1);
  const below = Math.floor(position);
  return sorted[below] + (position - below) * (sorted[Math.ceil(position)] - sorted[below]);
}

/** Compared as stored, without a tolerance. */
export function allEqual(values: readonly number[]): boolean {
  return values.every((value) => value === values[0]);
}

/** How often each value occurs, in the order of their first occurrence. */
export function tally<T>(values: Iterable<T>): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** At most `count` of a list, evenly spaced, always the same ones. */
export function evenly<T>(items: readonly T[], count: number): T[] {
  if (items.length <= count) return [...items];
  return Array.from({ length: count }, (_, i) => items[Math.floor((i * items.length) / count)]);
}

/** What the rest takes at the speed so far; null before anything is done. */
export function secondsLeft(passed: number, done: number, total: number): number | null {
  return done === 0 ? null : (passed / done) * (total - done);
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}

/** log(1 + e^x) without overflow. */
export function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

/** 1 / (1 + e^−x) without overflow. */
export function sigmoid(x: number): number {
  return x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x));
}
