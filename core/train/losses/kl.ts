/**
 * Estimators of KL(π ‖ ref) from tokens that π drew, with x = lp − ref:
 *
 *     k1   x                    unbiased, noisy; as a loss its expected gradient is zero: for rewards and diagnosis only
 *     abs  |x|                  for diagnosis
 *     k2   x² / 2               the right gradient on policy
 *     k3   e^(−x) + x − 1       never negative, little variance: the default
 */

export interface KlTerm {
  value: number;
  /** d value / d lp */
  slope: number;
}

export const klEstimators = {
  k1: (x: number): KlTerm => ({ value: x, slope: 1 }),
  abs: (x: number): KlTerm => ({ value: Math.abs(x), slope: Math.sign(x) }),
  k2: (x: number): KlTerm => ({ value: (x * x) / 2, slope: x }),
  // expm1 keeps the digits that e^(−x) − 1 loses near 0.
  k3: (x: number): KlTerm => ({ value: Math.expm1(-x) + x, slope: -Math.expm1(-x) }),
} as const;
