/**
 * From rewards of a group (all samples of one prompt) to advantages, in float64 and two passes: μ first, then Σ(r − μ)².
 *
 *     group_std   (r − μ) / (σ + ε)                GRPO, GSPO
 *     group_mean  r − μ                            Dr.GRPO
 *     rloo        (r − μ)·n / (n − 1)              r minus the mean of the others
 *     batch_std   (r − μ) / (σ of the batch + ε)
 *
 * Equal rewards give exactly 0, whatever the estimator: compared as stored, before any division. Otherwise rounding errors
 * divided by a tiny σ would teach noise.
 */

import type { advantageEstimators } from "../../contract/config.ts";
import { HoneError } from "../../contract/errors.ts";
import { allEqual, mean, variance } from "../../contract/numbers.ts";

export type AdvantageEstimator = (typeof advantageEstimators)[number];

export interface AdvantageOptions {
  estimator: AdvantageEstimator;
  /** Added to σ. Default 1e-6. */
  epsilon?: number;
  /** Divisor of the variance: n (default) or n − 1 (`sample`, as TRL does). */
  std?: "population" | "sample";
}

export interface Advantages {
  /** One per reward. */
  advantages: Float64Array;
  groups: number;
  /** Share of groups with equal rewards: they teach nothing. TRL's `frac_reward_zero_std`. */
  fracRewardZeroStd: number;
  /** Mean over groups of σ. */
  rewardStd: number;
}

/**
 * `groups[i]` names the group of reward i. Leave out samples that failed for reasons that are not the policy's. Throws
 * `HoneError` `non-finite-reward` naming the sample.
 */
export function groupAdvantages(
  rewards: ArrayLike<number>,
  groups: ArrayLike<number | string>,
  { estimator, epsilon = 1e-6, std = "population" }: AdvantageOptions,
): Advantages {
  const all = Array.from(rewards);
  all.forEach((reward, i) => {
    if (!Number.isFinite(reward)) {
      throw new HoneError("non-finite-reward", `sample ${i} (group ${groups[i]}) has the reward ${reward}`, {
        fix: "check the reward function: every sample needs a finite number",
      });
    }
  });
  const members = [...Map.groupBy(all.keys(), (i) => groups[i]).values()];
  const batchStd = deviation(all, std);
  const advantages = new Float64Array(all.length);
  let equalGroups = 0;
  const groupStds: number[] = [];
  for (const group of members) {
    const values = group.map((i) => all[i]);
    const sigma = deviation(values, std);
    groupStds.push(sigma);
    if (allEqual(values)) {
      equalGroups += 1;
      continue;
    }
    const mu = mean(values);
    const n = values.length;
    const scale = {
      group_std: 1 / (sigma + epsilon),
      group_mean: 1,
      rloo: n / (n - 1),
      batch_std: 1 / (batchStd + epsilon),
    }[estimator];
    for (const i of group) advantages[i] = (all[i] - mu) * scale;
  }
  return {
    advantages,
    groups: members.length,
    fracRewardZeroStd: members.length === 0 ? 0 : equalGroups / members.length,
    rewardStd: members.length === 0 ? 0 : mean(groupStds),
  };
}

/** 0 for equal values, exactly. */
function deviation(values: readonly number[], std: "population" | "sample"): number {
  if (allEqual(values)) return 0;
  const n = values.length;
  return Math.sqrt(variance(values) * (std === "sample" ? n / (n - 1) : 1));
}
