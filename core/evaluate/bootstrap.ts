/**
 * 95 % intervals by resampling clusters. Answers to one problem (a board and its mirror images) stand or fall together,
 * so whole problems are drawn; drawing answers would give intervals that are too narrow.
 */

import type { Interval } from "../contract/eval.ts";
import { quantile, sum } from "../contract/numbers.ts";
import { Random, type Seed } from "../contract/random.ts";

/** A problem's share of a mean: the sum of its values, and their number. */
export interface Cluster {
  sum: number;
  count: number;
}

const resamples = 2000;

/** Σ sum / Σ count with the percentile bootstrap; undefined when nothing was counted. */
export function bootstrapMean(clusters: Cluster[], random: Random): Interval | undefined {
  const counted = clusters.filter(({ count }) => count > 0);
  if (counted.length === 0) return undefined;
  const means = new Float64Array(resamples).map(() => {
    let total = 0;
    let count = 0;
    for (let i = 0; i < counted.length; i++) {
      const cluster = random.pick(counted);
      total += cluster.sum;
      count += cluster.count;
    }
    return total / count;
  });
  means.sort();
  return { mean: clusterMean(counted), lo: quantile(means, 0.025), hi: quantile(means, 0.975) };
}

/** As `bootstrapMean`; the draws depend on the seed and the measure's name only. */
export function seededInterval(clusters: Cluster[], seed: Seed, name: string): Interval | undefined {
  return bootstrapMean(clusters, new Random(seed).split("bootstrap", name));
}

function clusterMean(clusters: Cluster[]): number {
  return sum(clusters.map((cluster) => cluster.sum)) / sum(clusters.map(({ count }) => count));
}

/** Clusters of `items`; those without a value are left out. */
export function clusterBy<Item>(
  items: readonly Item[],
  problem: (item: Item) => string,
  value: (item: Item) => number | undefined,
): Cluster[] {
  return [...Map.groupBy(items, problem).values()].map((group) => {
    const values = group.map(value).filter((one) => one !== undefined);
    return { sum: sum(values), count: values.length };
  });
}

/** Every cluster counts once. */
export function oncePerCluster(clusters: Cluster[]): Cluster[] {
  return clusters.filter(({ count }) => count > 0).map(({ sum, count }) => ({ sum: sum / count, count: 1 }));
}
