/** Terms that any policy loss may carry: β · KL(π ‖ ref) with k3, and − c · entropy, weighted like its tokens. */

import { klEstimators } from "./kl.ts";
import { count, type PolicyStat } from "./stats.ts";
import type { Floats, LossResult } from "./types.ts";

export interface RegularisedRow {
  lp: Floats;
  ref?: Floats;
  entropy?: Floats;
  mask: Uint8Array;
}

/** Adds both terms of one row to `result`; `weight` is that of each of its trained tokens. Both are reported when known. */
export function addRegularisers(
  result: LossResult<PolicyStat>,
  row: RegularisedRow,
  index: number,
  weight: number,
  { beta, entropy_coef }: { beta: number; entropy_coef: number },
): void {
  const { lp, ref, entropy, mask } = row;
  if (beta !== 0 && ref === undefined) throw new Error("a KL term needs the reference's log-probs");
  if (entropy_coef !== 0 && entropy === undefined) throw new Error("an entropy bonus needs the policy's entropy");
  for (let t = 0; t < mask.length; t++) {
    if (mask[t] === 0) continue;
    if (ref !== undefined) {
      const kl = klEstimators.k3(lp[t] - ref[t]);
      result.loss += weight * beta * kl.value;
      result.dLogprobs[index][t] += weight * beta * kl.slope;
      count(result.stats, "kl", kl.value);
    }
    if (entropy !== undefined) {
      result.loss -= weight * entropy_coef * entropy[t];
      if (result.dEntropy !== undefined) result.dEntropy[index][t] = -weight * entropy_coef;
      count(result.stats, "entropy", entropy[t]);
    }
  }
}

/** An empty result with gradients of the rows' lengths. */
export function emptyResult(rows: readonly RegularisedRow[], entropyCoef: number): LossResult<PolicyStat> {
  const zeros = () => rows.map(({ mask }) => new Float64Array(mask.length));
  return { loss: 0, dLogprobs: zeros(), ...(entropyCoef !== 0 && { dEntropy: zeros() }), stats: {} };
}
