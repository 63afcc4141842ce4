/**
 * GRPO: one ratio per token.
 *
 *     r    = exp(lp − old)
 *     ℓ    = − min( r·A, clip(r, 1 − ε_low, 1 + ε_high)·A ) + β·k3(lp − ref) − c·entropy
 *     L    = Σ w·ℓ over trained tokens, w by `loss_type` (see `tokenWeight`)
 *     ∂ℓ/∂lp = 0 where clipped, otherwise − r·A;  plus β·(1 − exp(ref − lp))
 *
 * `old` is what the sampler recorded. On the first update after sampling r = 1 and nothing clips; the bounds act from the
 * second optimizer step on the same rollouts.
 *
 * Sources: Shao et al. 2024 (DeepSeekMath); ε_high > ε_low and `token_mean` from DAPO (Yu et al. 2025).
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

export function grpoLoss(
  rows: readonly PolicyRow[],
  options: PolicyLossOptions,
  normalisers: Normalisers,
): LossResult<PolicyStat> {
  const result = emptyResult(rows, options.entropy_coef);
  for (const trajectory of groupTrajectories(rows)) {
    const weight = tokenWeight(options.loss_type, trajectory.tokens, normalisers);
    for (const index of trajectory.rows) {
      const { lp, old, mask, advantage } = rows[index];
      for (let t = 0; t < mask.length; t++) {
        if (mask[t] === 0) continue;
        const ratio = Math.exp(lp[t] - old[t]);
        const { objective, slope, clipped } = clippedSurrogate(ratio, advantage, options.epsilon, options.epsilon_high);
        result.loss -= weight * objective;
        result.dLogprobs[index][t] -= weight * slope * ratio;
        count(result.stats, "ratio", ratio);
        count(result.stats, "clip_low", Number(clipped === "low"));
        count(result.stats, "clip_high", Number(clipped === "high"));
      }
      addRegularisers(result, rows[index], index, weight, options);
    }
  }
  return result;
}
