/** What each move earns. X is to move. */

import { emptySquares, squares, winningSquares, type Board } from "./board.ts";
import { optimalSquares } from "./minimax.ts";

/** No valid call, an unreadable argument, or an occupied square. */
export const illegalReward = -1;
export const winReward = 1;
export const optimalReward = 0.8;
export const otherReward = 0;

export interface BoardRewards {
  /** `rewards[s - 1]` for square s; −1 where it is occupied. */
  rewards: readonly number[];
  empty: readonly number[];
  winning: readonly number[];
  optimal: readonly number[];
  /** The one square that O threatens to win on, where X has no win of its own; otherwise undefined. */
  singleThreat: number | undefined;
}

const memo = new Map<Board, BoardRewards>();

export function boardRewards(board: Board): BoardRewards {
  let found = memo.get(board);
  if (found === undefined) {
    found = computeRewards(board);
    memo.set(board, found);
  }
  return found;
}

export function moveReward(board: Board, square: number): number {
  return boardRewards(board).rewards[square - 1] ?? illegalReward;
}

function computeRewards(board: Board): BoardRewards {
  const empty = emptySquares(board);
  const winning = winningSquares(board, "X");
  const optimal = optimalSquares(board);
  const threats = winningSquares(board, "O");
  const rewards = squares.map((square) => {
    if (!empty.includes(square)) return illegalReward;
    if (winning.includes(square)) return winReward;
    return optimal.includes(square) ? optimalReward : otherReward;
  });
  const singleThreat = winning.length === 0 && threats.length === 1 ? threats[0] : undefined;
  return { rewards, empty, winning, optimal, singleThreat };
}
