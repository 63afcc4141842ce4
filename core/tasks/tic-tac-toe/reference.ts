/** What known players score, exactly: the lines that every chart shows. */

import { emptySquares, emptyBoard, markToMove, outcome, place, type Board, type Mark } from "./board.ts";
import { optimalSquares } from "./minimax.ts";
import { boardRewards } from "./reward.ts";
import { canonicalBoard } from "./symmetry.ts";

/** Mean rewards. */
export interface ReferenceLines {
  never_legal: number;
  /** Uniform over all nine squares, taken ones included. */
  uniform_squares: number;
  worst_legal: number;
  uniform_legal: number;
  best: number;
}

/** Over all 2,201 boards, each counting once. */
export const boardReference: ReferenceLines = {
  never_legal: -1,
  uniform_squares: -0.3767984249583523,
  worst_legal: 0.17192185370286375,
  uniform_legal: 0.48269660976612183,
  best: 0.9232167196728644,
};

/** Over the 304 symmetry classes, each counting once. */
export const classReference: ReferenceLines = {
  never_legal: -1,
  uniform_squares: -0.3633771929824565,
  worst_legal: 0.1861842105263156,
  uniform_legal: 0.48702380952380986,
  best: 0.9210526315789489,
};

/** The lines for any set of boards; with `byClass` every symmetry class counts once, however many of its boards are there. */
export function referenceLines(boards: readonly Board[], { byClass = false } = {}): ReferenceLines {
  const groups = byClass ? [...Map.groupBy(boards, canonicalBoard).values()] : [[...boards]];
  const score = (player: (rewards: readonly number[], legal: number[]) => number) =>
    mean(
      groups.map((group) =>
        mean(
          group.map((board) => {
            const { rewards, empty } = boardRewards(board);
            return player(
              rewards,
              empty.map((square) => rewards[square - 1]),
            );
          }),
        ),
      ),
    );
  return {
    never_legal: -1,
    uniform_squares: score((rewards) => mean(rewards)),
    worst_legal: score((_, legal) => Math.min(...legal)),
    uniform_legal: score((_, legal) => mean(legal)),
    best: score((_, legal) => Math.max(...legal)),
  };
}

export type FixedPlayer = "random" | "minimax";

export interface GameOdds {
  x: number;
  draw: number;
  o: number;
}

/** Exact chances of a whole game between two fixed players, by going through every game. */
export function gameOdds(players: Record<Mark, FixedPlayer>): GameOdds {
  const memo = new Map<Board, GameOdds>();
  const from = (board: Board): GameOdds => {
    const end = outcome(board);
    if (end !== undefined) return { x: end === "X" ? 1 : 0, draw: end === "draw" ? 1 : 0, o: end === "O" ? 1 : 0 };
    const known = memo.get(board);
    if (known !== undefined) return known;
    const mark = markToMove(board);
    const moves = players[mark] === "random" ? emptySquares(board) : optimalSquares(board);
    const next = moves.map((square) => from(place(board, square, mark)));
    const odds = {
      x: mean(next.map((o) => o.x)),
      draw: mean(next.map((o) => o.draw)),
      o: mean(next.map((o) => o.o)),
    };
    memo.set(board, odds);
    return odds;
  };
  return from(emptyBoard);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
