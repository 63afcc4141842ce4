/**
 * DPO over P pairs, on summed log-probs of the answers:
 *
 *     z = β·[ (Σ m·(lp − ref)) of chosen − the same of rejected ]
 *     L = mean over pairs of − (1 − s)·log σ(z) − s·log σ(−z)          s: label smoothing, 0 ≤ s < 0.5
 *     ∂L/∂z = ( − (1 − s)·σ(−z) + s·σ(z) ) / P;   ∂z/∂lp = ±β·m
 *
 * A pair is one object, so no batching can take it apart.
 *
 * Source: Rafailov et al. 2023; label smoothing from Mitchell 2023 (conservative DPO).
 */

import { sigmoid, softplus } from "../../contract/numbers.ts";
import { count, type Stats } from "./stats.ts";
import type { Floats } from "./types.ts";

export interface DpoAnswer {
  lp: Floats;
  /** Σ m·ref: the answer's log-prob under frozen weights. */
  ref: number;
  mask: Uint8Array;
}

export interface DpoPair {
  chosen: DpoAnswer;
  rejected: DpoAnswer;
}

export interface DpoOptions {
  beta: number;
  label_smoothing: number;
}

export type DpoStat =
  "rewards/chosen" | "rewards/rejected" | "rewards/margins" | "rewards/accuracies" | "logps/chosen" | "logps/rejected";

export interface DpoResult {
  loss: number;
  /** d loss / d lp, one array per pair. */
  dChosen: Float64Array[];
  dRejected: Float64Array[];
  stats: Stats<DpoStat>;
}

/** `pairs` counts those of the whole optimizer step. */
export function dpoLoss(
  batch: readonly DpoPair[],
  { beta, label_smoothing: s }: DpoOptions,
  { pairs }: { pairs: number },
): DpoResult {
  const result: DpoResult = { loss: 0, dChosen: [], dRejected: [], stats: {} };
  for (const { chosen, rejected } of batch) {
    const logpChosen = maskedSum(chosen.lp, chosen.mask);
    const logpRejected = maskedSum(rejected.lp, rejected.mask);
    const rewardChosen = beta * (logpChosen - chosen.ref);
    const rewardRejected = beta * (logpRejected - rejected.ref);
    const z = rewardChosen - rewardRejected;
    result.loss += ((1 - s) * softplus(-z) + s * softplus(z)) / pairs;
    const slope = (beta * (-(1 - s) * sigmoid(-z) + s * sigmoid(z))) / pairs;
    result.dChosen.push(Float64Array.from(chosen.mask, (m) => (m === 0 ? 0 : slope)));
    result.dRejected.push(Float64Array.from(rejected.mask, (m) => (m === 0 ? 0 : -slope)));
    count(result.stats, "rewards/chosen", rewardChosen);
    count(result.stats, "rewards/rejected", rewardRejected);
    count(result.stats, "rewards/margins", z);
    count(result.stats, "rewards/accuracies", Number(z > 0));
    count(result.stats, "logps/chosen", logpChosen);
    count(result.stats, "logps/rejected", logpRejected);
  }
  return result;
}

export function maskedSum(values: Floats, mask: Uint8Array): number {
  let total = 0;
  for (let t = 0; t < mask.length; t++) if (mask[t] !== 0) total += values[t];
  return total;
}
