/** The eight rotations and reflections of the board. A board and its images are one problem. */

import { squares, type Board } from "./board.ts";

/** `symmetries[k][s - 1]` is the square to which symmetry k moves square s; symmetry 0 moves nothing. */
export const symmetries: readonly (readonly number[])[] = (
  [
    (r, c) => [r, c],
    (r, c) => [c, 2 - r],
    (r, c) => [2 - r, 2 - c],
    (r, c) => [2 - c, r],
    (r, c) => [r, 2 - c],
    (r, c) => [2 - r, c],
    (r, c) => [c, r],
    (r, c) => [2 - c, 2 - r],
  ] satisfies ((r: number, c: number) => [number, number])[]
).map((map) =>
  squares.map((square) => {
    const [row, column] = map(Math.floor((square - 1) / 3), (square - 1) % 3);
    return row * 3 + column + 1;
  }),
);

export function moveSquare(square: number, symmetry: readonly number[]): number {
  return symmetry[square - 1];
}

export function moveBoard(board: Board, symmetry: readonly number[]): Board {
  const cells = [...board];
  squares.forEach((square) => (cells[moveSquare(square, symmetry) - 1] = board.charAt(square - 1)));
  return cells.join("");
}

/** All eight images, repeats included. */
export function images(board: Board): Board[] {
  return symmetries.map((symmetry) => moveBoard(board, symmetry));
}

const canonicalMemo = new Map<Board, Board>();

/** The smallest image in byte order (`.` < `O` < `X`): the name of the board's class. */
export function canonicalBoard(board: Board): Board {
  let canonical = canonicalMemo.get(board);
  if (canonical === undefined) {
    canonical = images(board).reduce((least, image) => (image < least ? image : least));
    canonicalMemo.set(board, canonical);
  }
  return canonical;
}

/**
 * Where a square of this board lies on the canonical board. A symmetric board can be turned onto its canonical form in
 * several ways; then the smallest such square stands for all of them, so equivalent moves get one number.
 */
export function canonicalSquare(board: Board, square: number): number {
  const canonical = canonicalBoard(board);
  const onto = symmetries.filter((symmetry) => moveBoard(board, symmetry) === canonical);
  return Math.min(...onto.map((symmetry) => moveSquare(square, symmetry)));
}
