/** Log-probs of given answers: no sampling, one forward pass over packed rows. */

import type { Batch, ForwardOptions, ForwardResult } from "../engine/types.ts";

/** One sequence for the model: a prefix that is not scored, and what follows it. */
export interface ScoredRow {
  /** Neighbours with this very array share its computation. */
  promptIds: Int32Array;
  ids: Int32Array;
  /** One per id: 1 where the token counts. */
  mask: Uint8Array;
}

/** A forward pass without gradients: a model's own, or the same with the adapter off. */
export type Forward = (batch: Batch, options?: ForwardOptions) => Promise<ForwardResult>;

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
  rows: readonly ScoredRow[],
  { batchTokens = 2048, signal }: ScoreOptions = {},
): Promise<RowScore[]> {
  const scores: RowScore[] = [];
  let start = 0;
  while (start < rows.length) {
    signal?.throwIfAborted();
    let end = start + 1;
    let size = newTokens(rows, start, start);
    while (end < rows.length && size + newTokens(rows, end, start) <= batchTokens) {
      size += newTokens(rows, end, start);
      end += 1;
    }
    scores.push(...(await scorePack(forward, rows.slice(start, end))));
    start = end;
  }
  return scores;
}

/** What row i adds to a pack that begins with row `first`. */
function newTokens(rows: readonly ScoredRow[], i: number, first: number): number {
  const shares = i > first && rows[i - 1].promptIds === rows[i].promptIds;
  return rows[i].ids.length + (shares ? 0 : rows[i].promptIds.length);
}

async function scorePack(forward: Forward, rows: readonly ScoredRow[]): Promise<RowScore[]> {
  const tokens: number[] = [];
  const mask: number[] = [];
  const segments: Batch["segments"] = [];
  const offsets: number[] = [];
  let parent = -1;
  rows.forEach(({ promptIds, ids, mask: counted }, i) => {
    if (i === 0 || rows[i - 1].promptIds !== promptIds) {
      parent = segments.length;
      segments.push({ length: promptIds.length });
      for (const id of promptIds) tokens.push(id);
      for (let t = 0; t < promptIds.length; t++) mask.push(0);
    }
    offsets.push(tokens.length);
    segments.push({ length: ids.length, parent });
    for (const id of ids) tokens.push(id);
    for (const m of counted) mask.push(m);
  });
  const { logprobs } = await forward({ tokens: Int32Array.from(tokens), segments, mask: Uint8Array.from(mask) });
  return rows.map(({ mask: counted }, i) => {
    const score: RowScore = { logprob: 0, tokens: 0 };
    counted.forEach((m, t) => {
      if (m === 0) return;
      score.logprob += logprobs[offsets[i] + t];
      score.tokens += 1;
    });
    return score;
  });
}
