/** Weighted means that can be collected in parts, so that a metric does not depend on how a step was cut. */

export interface Stat {
  weight: number;
  /** Σ weight · value */
  sum: number;
  /** Σ weight · value² */
  squares: number;
}

/** What the losses of policies count. */
export type PolicyStat = "ratio" | "clip_low" | "clip_high" | "dual_clip" | "kl" | "entropy";

export type Stats<Name extends string> = Partial<Record<Name, Stat>>;

/** Adds a value to a named mean. */
export function count<Name extends string>(stats: Stats<Name>, name: Name, value: number, weight = 1): void {
  const stat = (stats[name] ??= { weight: 0, sum: 0, squares: 0 });
  stat.weight += weight;
  stat.sum += weight * value;
  stat.squares += weight * value * value;
}

export function mergeStats<Name extends string>(parts: readonly Stats<Name>[]): Stats<Name> {
  const merged: Stats<Name> = {};
  for (const part of parts) {
    for (const name of Object.keys(part) as Name[]) {
      const stat = part[name];
      if (stat === undefined) continue;
      const total = (merged[name] ??= { weight: 0, sum: 0, squares: 0 });
      total.weight += stat.weight;
      total.sum += stat.sum;
      total.squares += stat.squares;
    }
  }
  return merged;
}

export function statMean(stat: Stat): number {
  return stat.sum / stat.weight;
}

function statStd(stat: Stat): number {
  return Math.sqrt(Math.max(0, stat.squares / stat.weight - statMean(stat) ** 2));
}

/**
 * A policy loss's stats of one optimizer step under TRL's names (the ratio under AReno's, TRL has none). Absent where
 * there is nothing to report.
 */
export function policyMetrics(stats: Stats<PolicyStat>): Record<string, number> {
  const metrics: Record<string, number> = {};
  const { ratio, clip_low, clip_high, dual_clip, kl, entropy } = stats;
  if (ratio !== undefined) {
    metrics["ratio_mean"] = statMean(ratio);
    metrics["ratio_std"] = statStd(ratio);
  }
  if (clip_low !== undefined && clip_high !== undefined) {
    metrics["clip_ratio/low_mean"] = statMean(clip_low);
    metrics["clip_ratio/high_mean"] = statMean(clip_high);
    metrics["clip_ratio/region_mean"] = statMean(clip_low) + statMean(clip_high);
  }
  if (dual_clip !== undefined) metrics["clip_ratio/dual_mean"] = statMean(dual_clip);
  if (kl !== undefined) metrics["kl"] = statMean(kl);
  if (entropy !== undefined) metrics["entropy"] = statMean(entropy);
  return metrics;
}
