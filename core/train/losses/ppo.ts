/**
 * PPO's policy loss, with an advantage per token (see `gae.ts`):
 *
 *     r = exp(lp − old), lp − old bounded to ±20
 *     J = min( r·A, clip(r, 1 − ε_low, 1 + ε_high)·A );  with dual clip c, where A < 0: J = max(J, c·A)
 *     L = − Σ m·J / N  +  mean of β·k3(lp − ref) − c·entropy
 *     ∂J/∂lp = 0 where clipped by either, otherwise r·A
 *
 * Sources: Schulman et al. 2017; dual clip from Ye et al. 2020.
 */

import { clamp } from "../../contract/numbers.ts";
import { addRegularisers, emptyResult, type RegularisedRow } from "./regularise.ts";
import { count, type PolicyStat } from "./stats.ts";
import { clippedSurrogate } from "./surrogate.ts";
import type { Floats, LossResult, Normalisers, PolicyLossOptions } from "./types.ts";

export interface PpoRow extends RegularisedRow {
  old: Floats;
  /** One per token; 0 where nothing is trained. */
  advantages: Floats;
}

export interface PpoOptions extends Omit<PolicyLossOptions, "loss_type"> {
  /** c > 1, or null: off. */
  dual_clip: number | null;
}

const maxLogRatio = 20;

export function ppoLoss(
  rows: readonly PpoRow[],
  options: PpoOptions,
  { tokens }: Pick<Normalisers, "tokens">,
): LossResult<PolicyStat> {
  const result = emptyResult(rows, options.entropy_coef);
  const dualClip = options.dual_clip ?? Infinity;
  rows.forEach((row, index) => {
    const { lp, old, mask, advantages } = row;
    for (let t = 0; t < mask.length; t++) {
      if (mask[t] === 0) continue;
      const advantage = advantages[t];
      const logRatio = lp[t] - old[t];
      const ratio = Math.exp(clamp(logRatio, -maxLogRatio, maxLogRatio));
      const surrogate = clippedSurrogate(ratio, advantage, options.epsilon, options.epsilon_high);
      const dualClipped = advantage < 0 && ratio > dualClip;
      const flat = dualClipped || Math.abs(logRatio) > maxLogRatio;
      result.loss -= (dualClipped ? dualClip * advantage : surrogate.objective) / tokens;
      if (!flat) result.dLogprobs[index][t] -= (surrogate.slope * ratio) / tokens;
      count(result.stats, "ratio", ratio);
      count(result.stats, "clip_low", Number(surrogate.clipped === "low"));
      count(result.stats, "clip_high", Number(surrogate.clipped === "high"));
      count(result.stats, "dual_clip", Number(dualClipped));
    }
    addRegularisers(result, row, index, 1 / tokens, options);
  });
  return result;
}
