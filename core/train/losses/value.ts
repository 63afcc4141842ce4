/**
 * The critic's loss, kept close to what it said before:
 *
 *     V_clip = V_old + clamp(V − V_old, ±value_clip)
 *     L      = value_coef · 0.5 · Σ m·max( (V − R)², (V_clip − R)² ) / N
 *     ∂/∂V   = value_coef · m/N · (V − R where that term is the larger or equal;
 *              otherwise V_clip − R inside the clamp, 0 outside)
 *
 * `clip_fraction`: share of trained tokens where the clipped term is the larger.
 */

import { clamp } from "../../contract/numbers.ts";
import { count, type Stats } from "./stats.ts";
import type { Floats, Normalisers } from "./types.ts";

export interface ValueRow {
  /** V of the critic that is trained, at the position that predicts the token. */
  values: Floats;
  oldValues: Floats;
  returns: Floats;
  mask: Uint8Array;
}

export interface ValueOptions {
  value_clip: number;
  value_coef: number;
}

export interface ValueLossResult {
  loss: number;
  /** d loss / d V, one array per row. */
  dValues: Float64Array[];
  stats: Stats<"clip_fraction">;
}

export function valueLoss(
  rows: readonly ValueRow[],
  { value_clip, value_coef }: ValueOptions,
  { tokens }: Pick<Normalisers, "tokens">,
): ValueLossResult {
  const result: ValueLossResult = { loss: 0, dValues: [], stats: {} };
  for (const { values, oldValues, returns, mask } of rows) {
    const gradient = new Float64Array(mask.length);
    for (let t = 0; t < mask.length; t++) {
      if (mask[t] === 0) continue;
      const change = values[t] - oldValues[t];
      const error = values[t] - returns[t];
      const clippedError = oldValues[t] + clamp(change, -value_clip, value_clip) - returns[t];
      const clipped = clippedError ** 2 > error ** 2;
      result.loss += (value_coef * 0.5 * Math.max(error ** 2, clippedError ** 2)) / tokens;
      const slope = !clipped ? error : Math.abs(change) < value_clip ? clippedError : 0;
      gradient[t] = (value_coef * slope) / tokens;
      count(result.stats, "clip_fraction", Number(clipped));
    }
    result.dValues.push(gradient);
  }
  return result;
}
