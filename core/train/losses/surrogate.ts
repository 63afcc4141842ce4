/**
 * The clipped objective of PPO, GRPO and GSPO:
 *
 *     J(r) = min( r·A, clip(r, 1 − ε_low, 1 + ε_high)·A )
 *
 * Beyond the bound in the direction that A rewards it is constant, so its slope there is 0; elsewhere it is r·A.
 */
export interface Surrogate {
  objective: number;
  /** dJ / dr */
  slope: number;
  clipped: "low" | "high" | undefined;
}

export function clippedSurrogate(ratio: number, advantage: number, low: number, high: number): Surrogate {
  if (advantage > 0 && ratio > 1 + high) return { objective: (1 + high) * advantage, slope: 0, clipped: "high" };
  if (advantage < 0 && ratio < 1 - low) return { objective: (1 - low) * advantage, slope: 0, clipped: "low" };
  return { objective: ratio * advantage, slope: advantage, clipped: undefined };
}
