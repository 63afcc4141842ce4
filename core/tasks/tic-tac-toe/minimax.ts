/** Perfect play. Values are from X's view: 1 X wins, 0 draw, −1 O wins; no discount for late wins. */

import { emptySquares, markToMove, outcome, place, type Board } from "./board.ts";

const values = new Map<Board, number>();

/** Value of a position when both sides play best. */
export function gameValue(board: Board): number {
  const known = values.get(board);
  if (known !== undefined) return known;
  const end = outcome(board);
  let value: number;
  if (end !== undefined) value = end === "draw" ? 0 : end === "X" ? 1 : -1;
  else
    value = best(
      board,
      emptySquares(board).map((square) => valueAfter(board, square)),
    );
  values.set(board, value);
  return value;
}

/** Moves of the side to move whose value equals the position's. */
export function optimalSquares(board: Board): number[] {
  return emptySquares(board).filter((square) => valueAfter(board, square) === gameValue(board));
}

function valueAfter(board: Board, square: number): number {
  return gameValue(place(board, square, markToMove(board)));
}

function best(board: Board, outcomes: number[]): number {
  return markToMove(board) === "X" ? Math.max(...outcomes) : Math.min(...outcomes);
}
