/** Which runs of the list are shown, and in which order. */

import type { ListedRun } from "../../../core/contract/api/run-calls.ts";

export const runOrders = ["newest", "name", "measured"] as const;
export type RunOrder = (typeof runOrders)[number];

/** Every word of `text` must be somewhere in a run's name, model, task, method, tags or notes; `tag` must be one of its tags. */
export function filterRuns(
  runs: readonly ListedRun[],
  { text, tag, order }: { text: string; tag: string | null; order: RunOrder },
): ListedRun[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return runs
    .filter((run) => tag === null || run.tags.includes(tag))
    .filter(({ name, model, task, method, tags, notes }) => {
      const all = [name, model, task, method, ...tags, notes].join("\n").toLowerCase();
      return words.every((word) => all.includes(word));
    })
    .sort(comparisons[order]);
}

const comparisons: Record<RunOrder, (a: ListedRun, b: ListedRun) => number> = {
  newest: (a, b) => b.created.localeCompare(a.created),
  name: (a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }),
  measured: (a, b) => (b.best?.value ?? -Infinity) - (a.best?.value ?? -Infinity),
};

/** All tags, the most used first. */
export function tagsOf(runs: readonly ListedRun[]): string[] {
  const counts = new Map<string, number>();
  for (const tag of runs.flatMap((run) => run.tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || a.localeCompare(b)).map(([tag]) => tag);
}
