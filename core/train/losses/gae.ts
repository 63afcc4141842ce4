/**
 * Generalised advantage estimation over the trained tokens of a trajectory, in order, across its turns:
 *
 *     δ_t = r_t + γ·V_{t+1} − V_t        A_t = δ_t + γ·λ·A_{t+1}        R_t = A_t + V_t
 *
 * "t + 1" is the next trained token: the others are stepped over and get 0. After the last one stands the bootstrap value:
 * 0 when the episode ended, the value of the cut state when the row was cut by length.
 *
 * Source: Schulman et al. 2016.
 */

import { mean, standardDeviation } from "../../contract/numbers.ts";
import type { Floats } from "./types.ts";

export interface GaeRow {
  rewards: Floats;
  values: Floats;
  mask: Uint8Array;
}

export interface GaeOptions {
  gamma: number;
  lambda: number;
}

/** Advantages and returns of one trajectory, an array of each per turn. */
export function gae(
  turns: readonly GaeRow[],
  bootstrapValue: number,
  { gamma, lambda }: GaeOptions,
): { advantages: Float64Array[]; returns: Float64Array[] } {
  const advantages = turns.map(({ mask }) => new Float64Array(mask.length));
  const returns = turns.map(({ mask }) => new Float64Array(mask.length));
  let nextValue = bootstrapValue;
  let nextAdvantage = 0;
  for (let turn = turns.length - 1; turn >= 0; turn--) {
    const { rewards, values, mask } = turns[turn];
    for (let t = mask.length - 1; t >= 0; t--) {
      if (mask[t] === 0) continue;
      const delta = rewards[t] + gamma * nextValue - values[t];
      nextAdvantage = delta + gamma * lambda * nextAdvantage;
      nextValue = values[t];
      advantages[turn][t] = nextAdvantage;
      returns[turn][t] = nextAdvantage + values[t];
    }
  }
  return { advantages, returns };
}

/** Below this spread advantages are centred only. */
const leastStd = 1e-6;

/** A ← (A − mean) / σ over all trained tokens of the batch, with the population σ; in place. */
export function whiten(advantages: readonly Float64Array[], masks: readonly Uint8Array[]): void {
  const trained = advantages.flatMap((row, i) => [...row.filter((_, t) => masks[i][t] !== 0)]);
  if (trained.length === 0) return;
  const centre = mean(trained);
  const std = standardDeviation(trained);
  const scale = std <= leastStd ? 1 : std;
  advantages.forEach((row, i) => {
    for (let t = 0; t < row.length; t++) if (masks[i][t] !== 0) row[t] = (row[t] - centre) / scale;
  });
}
