/** What a model's odds at a position come to, beside what the moves are worth. */

import type { MoveOdds, Position, SampledOdds } from "../../../core/contract/api/play-calls.ts";

/** Shares of all answers; they add up to 1. */
export interface OddsSummary {
  /** On moves with the best value. */
  best: number;
  /** On other free squares. */
  worse: number;
  /** On taken squares. */
  taken: number;
  /** In another form, or none. */
  other: number;
}

const rank = { win: 2, draw: 1, loss: 0 } as const;

export function bestSquares({ values }: Pick<Position, "values">): number[] {
  const ranks = values.map((value) => (value === null ? -1 : rank[value]));
  const top = Math.max(...ranks);
  return top < 0 ? [] : ranks.flatMap((one, i) => (one === top ? [i + 1] : []));
}

export function summarizeOdds(squares: readonly number[], position: Position): OddsSummary {
  const best = bestSquares(position);
  const sums = { best: 0, worse: 0, taken: 0 };
  squares.forEach((share, i) => {
    const kind = position.board[i] !== "." ? "taken" : best.includes(i + 1) ? "best" : "worse";
    sums[kind] += share;
  });
  return { ...sums, other: Math.max(0, 1 - sums.best - sums.worse - sums.taken) };
}

export function sampledShares({ squares, count }: SampledOdds): number[] {
  return squares.map((drawn) => drawn / count);
}

/** Whether the nine calls are so small a part of the model's answers that drawn ones tell more. */
export function isMostlyOther({ other }: Pick<MoveOdds, "other">): boolean {
  return other > 0.5;
}

/** The board after these squares, X first. */
export function boardOf(moves: readonly number[]): string {
  const cells = Array.from({ length: 9 }, () => ".");
  moves.forEach((square, i) => (cells[square - 1] = i % 2 === 0 ? "X" : "O"));
  return cells.join("");
}
