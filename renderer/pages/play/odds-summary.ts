/** What a model's odds at a position come to, beside what the moves are worth. */

import type { DrawnAnswers, MoveOdds, Position } from "../../../core/contract/api/play-calls.ts";

/** Shares of all answers; they add up to 1. */
export interface OddsSummary {
  /** On moves with the best value. */
  best: number;
  /** On other free squares. */
  worse: number;
  /** On taken squares. */
  taken: number;
  /** No square, or not known. */
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

/** The exact odds, and what the drawn answers tell of the rest: they stand for all answers that are more than the call. */
export function allShares({ squares, other }: MoveOdds, drawn: DrawnAnswers | null): number[] {
  const rest = drawn === null ? 0 : drawn.count - drawn.plain;
  if (drawn === null || rest === 0) return [...squares];
  return squares.map((share, i) => share + (other * drawn.squares[i]) / rest);
}

/** The board after these squares, X first. */
export function boardOf(moves: readonly number[]): string {
  const cells = Array.from({ length: 9 }, () => ".");
  moves.forEach((square, i) => (cells[square - 1] = i % 2 === 0 ? "X" : "O"));
  return cells.join("");
}
