/**
 * GSPO: one ratio per trajectory, over all trained tokens of all its turns.
 *
 *     s    = exp( (1/n) Σ (lp − old) )
 *     ℓ    = − min( s·A, clip(s, 1 − ε_low, 1 + ε_high)·A ), the same for each of its n tokens
 *     L    = Σ w·(ℓ + β·k3(lp − ref) − c·entropy) over trained tokens, w by `loss_type`; `seq_mean` is the mean over
 *            trajectories
 *     ∂L/∂lp = 0 where clipped, otherwise − w·s·A: through the mean the gradient reaches every token
 *
 * s is a geometric mean per token, so its bounds are tiny (3e-4): the mean difference is taken in float64.
 *
 * Source: Zheng et al. 2025 (Group Sequence Policy Optimization).
 */

import { addRegularisers, emptyResult } from "./regularise.ts";
import { count, type PolicyStat } from "./stats.ts";
import { clippedSurrogate } from "./surrogate.ts";
import {
  groupTrajectories,
  tokenWeight,
  type LossResult,
  type Normalisers,
  type PolicyLossOptions,
  type PolicyRow,
} from "./types.ts";

export function gspoLoss(
  rows: readonly PolicyRow[],
  options: PolicyLossOptions,
  normalisers: Normalisers,
): LossResult<PolicyStat> {
  const result = emptyResult(rows, options.entropy_coef);
  for (const { rows: turns, tokens, advantage } of groupTrajectories(rows)) {
    const weight = tokenWeight(options.loss_type, tokens, normalisers);
    let difference = 0;
    for (const index of turns) difference += sumDifference(rows[index]);
    const ratio = Math.exp(difference / tokens);
    const { objective, slope, clipped } = clippedSurrogate(ratio, advantage, options.epsilon, options.epsilon_high);
    result.loss -= weight * tokens * objective;
    count(result.stats, "ratio", ratio);
    count(result.stats, "clip_low", Number(clipped === "low"));
    count(result.stats, "clip_high", Number(clipped === "high"));
    for (const index of turns) {
      const { mask } = rows[index];
      for (let t = 0; t < mask.length; t++) {
        if (mask[t] !== 0) result.dLogprobs[index][t] -= weight * slope * ratio;
      }
      addRegularisers(result, rows[index], index, weight, options);
    }
  }
  return result;
}

/** Σ m·(lp − old) */
function sumDifference({ lp, old, mask }: PolicyRow): number {
  let difference = 0;
  for (let t = 0; t < mask.length; t++) if (mask[t] !== 0) difference += lp[t] - old[t];
  return difference;
}
