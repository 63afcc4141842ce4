/** The tables of the tabular model, and AdamW on them. */

import type { OptimStepOptions } from "../../../core/engine/types.ts";

export type Table = Map<string, number[]>;
export type Moments = Map<string, { m: number[]; v: number[] }>;

/** A trainable table. The value head's has rows of one. */
export interface Learned {
  table: Table;
  gradients: Table;
  moments: Moments;
  steps: number;
}

export function gradientNorm(gradients: Table): { norm: number; nonFinite: number } {
  const all = [...gradients.values()].flat();
  const nonFinite = all.filter((value) => !Number.isFinite(value)).length;
  return { norm: Math.sqrt(all.reduce((sum, value) => sum + value * value, 0)), nonFinite };
}

/** One step of every row that has a gradient or has had one; returns the share of changed elements. */
export function adamw(
  { table, gradients, moments, steps }: Learned,
  norm: number,
  lr: number,
  { betas: [beta1, beta2] = [0.9, 0.999], eps = 1e-8, weightDecay = 0, maxGradNorm = 0 }: OptimStepOptions,
): number {
  const clip = maxGradNorm > 0 ? Math.min(1, maxGradNorm / (norm + 1e-6)) : 1;
  let changed = 0;
  let elements = 0;
  for (const context of new Set([...gradients.keys(), ...moments.keys()])) {
    const size = gradients.get(context)?.length ?? moments.get(context)?.m.length ?? 0;
    const zero = () => new Array<number>(size).fill(0);
    const gradient = gradients.get(context) ?? zero();
    const { m, v } = moments.get(context) ?? { m: zero(), v: zero() };
    const row = [...(table.get(context) ?? zero())];
    for (let j = 0; j < size; j++) {
      const g = gradient[j] * clip;
      m[j] = beta1 * m[j] + (1 - beta1) * g;
      v[j] = beta2 * v[j] + (1 - beta2) * g * g;
      const before = row[j];
      row[j] -= row[j] * lr * weightDecay;
      row[j] -= (lr * (m[j] / (1 - beta1 ** steps))) / (Math.sqrt(v[j] / (1 - beta2 ** steps)) + eps);
      elements += 1;
      if (row[j] !== before) changed += 1;
    }
    table.set(context, row);
    moments.set(context, { m, v });
  }
  return elements === 0 ? 0 : changed / elements;
}
