/**
 * What losses take and give.
 *
 * A row is what the model wrote in one go: arrays over its tokens, entry t about token t given all before it. `mask` is 1
 * where a token is trained, 0 for prompts, tool results and padding. Rows without a trained token count nowhere.
 *
 * A loss may be evaluated micro-batch by micro-batch. The normalisers are those of the whole optimizer step, so losses and
 * gradients of the parts add up to those of the whole, however it was cut. Only the rows of one trajectory must not be cut
 * apart. All arithmetic is in float64.
 */

import type { lossTypes } from "../../contract/config.ts";
import { sum } from "../../contract/numbers.ts";
import type { Stats } from "./stats.ts";

export type Floats = Float64Array | Float32Array;

/** How token losses become one number; see `tokenWeight`. */
export type LossType = (typeof lossTypes)[number];

export interface PolicyRow {
  /** Log-probs under the policy that is trained. */
  lp: Floats;
  /** Log-probs under the policy that wrote the row, as it was then. */
  old: Floats;
  /** Log-probs under the reference; needed when there is a KL term. */
  ref?: Floats;
  /** Entropy of the policy at each token; needed when there is an entropy bonus. Natural log. */
  entropy?: Floats;
  mask: Uint8Array;
  advantage: number;
  /** Rows of one name are the turns of one trajectory and stand together. Default: every row is a trajectory. */
  trajectory?: string;
}

/** Counts over the whole optimizer step. */
export interface Normalisers {
  /** N: trained tokens. */
  tokens: number;
  /** B: trajectories that have trained tokens. */
  rows: number;
  /** L_max: longest completion that sampling allowed, for `const_length`. */
  maxLength: number;
}

/** One objective over a part of an optimizer step. Gradients have one array per row, zero where nothing is trained. */
export interface LossResult<StatName extends string> {
  /** This part's share of the step's loss. */
  loss: number;
  /** d loss / d lp. */
  dLogprobs: Float64Array[];
  /** d loss / d entropy; present when there is an entropy bonus. */
  dEntropy?: Float64Array[];
  /** Merge those of all parts with `mergeStats`. */
  stats: Stats<StatName>;
}

export interface PolicyLossOptions {
  /** Lower and upper clip bound: the ratio's slope ends at 1 − epsilon and 1 + epsilon_high. */
  epsilon: number;
  epsilon_high: number;
  /** Weight of the KL to the reference (k3). */
  beta: number;
  entropy_coef: number;
  loss_type: LossType;
}

/** Trained tokens of a mask. */
function countTrained(mask: Uint8Array): number {
  return sum(mask);
}

/** Counts of a whole optimizer step, to give to every part of it. */
export function stepNormalisers(rows: readonly Pick<PolicyRow, "mask" | "trajectory">[], maxLength = 0): Normalisers {
  const trained = rows.filter(({ mask }) => countTrained(mask) > 0);
  const trajectories = new Set(trained.map(({ trajectory }, i) => trajectory ?? i));
  return { tokens: sum(trained.map(({ mask }) => countTrained(mask))), rows: trajectories.size, maxLength };
}

/** The turns of one trajectory, as indices of rows, and their trained tokens. */
export interface Trajectory {
  rows: number[];
  tokens: number;
  advantage: number;
}

/** Rows by trajectory; those without trained tokens are left out. */
export function groupTrajectories(rows: readonly PolicyRow[]): Trajectory[] {
  const found = new Map<string | number, Trajectory>();
  rows.forEach(({ trajectory, mask, advantage }, i) => {
    const tokens = countTrained(mask);
    if (tokens === 0) return;
    const known = found.get(trajectory ?? i);
    if (known === undefined) found.set(trajectory ?? i, { rows: [i], tokens, advantage });
    else {
      if (known.advantage !== advantage) throw new Error(`trajectory ${trajectory} has two advantages`);
      known.rows.push(i);
      known.tokens += tokens;
    }
  });
  return [...found.values()];
}

/**
 * Weight of one trained token of a trajectory with n of them.
 *
 *     token_mean    1 / N            every token counts equally (DAPO)
 *     seq_mean      1 / (B · n)      every trajectory counts equally (GRPO, GSPO)
 *     const_length  1 / (B · L_max)  no length in the weight at all (Dr.GRPO)
 */
export function tokenWeight(type: LossType, n: number, { tokens, rows, maxLength }: Normalisers): number {
  switch (type) {
    case "token_mean":
      return 1 / tokens;
    case "seq_mean":
      return 1 / (rows * n);
    case "const_length":
      if (maxLength < 1) throw new Error("const_length needs the longest completion length");
      return 1 / (rows * maxLength);
  }
}
