/** Levels of a run's metrics: means over a few steps, so that one odd batch raises nothing. */

import type { MetricsRow } from "../../contract/run.ts";
import { mean } from "../../contract/numbers.ts";

/** What is seen, in plain words, and one thing to do. */
export interface Finding {
  message: string;
  action: string;
}

/** Whether something holds after the last row. */
export type Check = (rows: readonly MetricsRow[]) => Finding | undefined;

/** Steps that a level is averaged over. */
export const span = 5;

/** Values of a metric in step order; steps that lack it are passed over. */
export function values(rows: readonly MetricsRow[], name: string): number[] {
  return rows.map((row) => row[name]).filter((value): value is number => value !== undefined);
}

export function count(rows: readonly MetricsRow[], name: string): number {
  return values(rows, name).length;
}

export function lastValues(rows: readonly MetricsRow[], name: string, n: number): number[] {
  return values(rows, name).slice(-n);
}

/** Mean of the `width` values that end with the `end`-th; undefined when there are not so many. */
export function levelAt(rows: readonly MetricsRow[], name: string, end: number, width = span): number | undefined {
  if (end < width) return undefined;
  const window = values(rows, name).slice(end - width, end);
  return window.length < width ? undefined : mean(window);
}

export function levelNow(rows: readonly MetricsRow[], name: string, width = span): number | undefined {
  return levelAt(rows, name, count(rows, name), width);
}

/** The present level, and the lowest or highest level of all earlier windows that do not overlap it. */
export function fromLevel(
  rows: readonly MetricsRow[],
  name: string,
  pick: (a: number, b: number) => number,
): { now: number; extreme: number } | undefined {
  const all = values(rows, name);
  if (all.length < 2 * span) return undefined;
  const level = (end: number) => mean(all.slice(end - span, end));
  let extreme = level(span);
  for (let end = span + 1; end <= all.length - span; end++) extreme = pick(extreme, level(end));
  return { now: level(all.length), extreme };
}

/** Three digits. */
export function show(value: number): string {
  return String(Number(value.toPrecision(3)));
}
