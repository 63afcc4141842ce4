/** Log-probs of given answers: no sampling, one forward pass over packed rows. */

import { sum } from "../contract/numbers.ts";
import { packMicroBatch, planMicroBatches, sliceOf, type TokenRow } from "../engine/micro-batches.ts";
import type { Model } from "../engine/types.ts";

/** A forward pass: a model's own, or the same with the adapter off. */
export type Forward = Model["forward"];

export interface RowScore {
  /** Sum of the natural log-probs of the tokens that count. */
  logprob: number;
  /** How many they are. */
  tokens: number;
}

export interface ScoreOptions {
  /** Tokens of one forward pass; a longer row gets a pass of its own. Default 2048. */
  batchTokens?: number;
  signal?: AbortSignal;
}

/** In the order of the rows. */
export async function scoreRows(
  forward: Forward,
  rows: readonly TokenRow[],
  { batchTokens = 2048, signal }: ScoreOptions = {},
): Promise<RowScore[]> {
  const scores: RowScore[] = [];
  const bundles = rows.map((row) => [row]);
  for (const pack of planMicroBatches(bundles, batchTokens)) {
    signal?.throwIfAborted();
    const micro = packMicroBatch(pack);
    const { logprobs } = await forward(micro.batch);
    for (const { row, offset } of micro.rows) {
      const counted = sliceOf(logprobs, row, offset).filter((_, t) => row.mask[t] !== 0);
      scores.push({ logprob: sum(counted), tokens: counted.length });
    }
  }
  return scores;
}
