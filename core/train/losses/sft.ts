/**
 * Supervised fine-tuning: the mean negative log-prob of the trained tokens of the whole optimizer step.
 *
 *     L = − Σ m·lp / N        ∂L/∂lp = − m/N
 */

import { count } from "./stats.ts";
import type { Floats, LossResult, Normalisers } from "./types.ts";

export interface SftRow {
  lp: Floats;
  entropy?: Floats;
  /** 1 where the token is the most likely one. */
  correct?: Uint8Array;
  mask: Uint8Array;
}

export type SftStat = "entropy" | "correct";

export function sftLoss(rows: readonly SftRow[], { tokens }: Pick<Normalisers, "tokens">): LossResult<SftStat> {
  const result: LossResult<SftStat> = { loss: 0, dLogprobs: [], stats: {} };
  for (const { lp, entropy, correct, mask } of rows) {
    const gradient = new Float64Array(mask.length);
    for (let t = 0; t < mask.length; t++) {
      if (mask[t] === 0) continue;
      result.loss -= lp[t] / tokens;
      gradient[t] = -1 / tokens;
      if (entropy !== undefined) count(result.stats, "entropy", entropy[t]);
      if (correct !== undefined) count(result.stats, "correct", correct[t]);
    }
    result.dLogprobs.push(gradient);
  }
  return result;
}
