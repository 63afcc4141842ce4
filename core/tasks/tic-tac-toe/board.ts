/** A tic-tac-toe board: nine cells in one string, row by row. Squares are numbered 1 … 9 in the same order. */

export type Mark = "X" | "O";
export type Cell = Mark | ".";

/** Nine characters, each `X`, `O` or `.` (empty). */
export type Board = string;

export const emptyBoard: Board = ".........";

export const squares = [1, 2, 3, 4, 5, 6, 7, 8, 9] as const;

/** The eight winning lines, as squares. */
export const lines = [
  [1, 2, 3],
  [4, 5, 6],
  [7, 8, 9],
  [1, 4, 7],
  [2, 5, 8],
  [3, 6, 9],
  [1, 5, 9],
  [3, 5, 7],
] as const;

export function cellAt(board: Board, square: number): Cell {
  return board.charAt(square - 1) as Cell;
}

export function place(board: Board, square: number, mark: Mark): Board {
  return board.slice(0, square - 1) + mark + board.slice(square);
}

export function emptySquares(board: Board): number[] {
  return squares.filter((square) => cellAt(board, square) === ".");
}

export function plies(board: Board): number {
  return 9 - emptySquares(board).length;
}

/** X moves first, so X is to move when both have as many marks. */
export function markToMove(board: Board): Mark {
  return plies(board) % 2 === 0 ? "X" : "O";
}

export function otherMark(mark: Mark): Mark {
  return mark === "X" ? "O" : "X";
}

export function hasLine(board: Board, mark: Mark): boolean {
  return lines.some((line) => line.every((square) => cellAt(board, square) === mark));
}

/** The mark that has a line, `draw` on a full board without one, otherwise undefined: the game goes on. */
export function outcome(board: Board): Mark | "draw" | undefined {
  if (hasLine(board, "X")) return "X";
  if (hasLine(board, "O")) return "O";
  return board.includes(".") ? undefined : "draw";
}

/** Empty squares that would complete a line of `mark`. */
export function winningSquares(board: Board, mark: Mark): number[] {
  return emptySquares(board).filter((square) => hasLine(place(board, square, mark), mark));
}

/** X becomes O and O becomes X; squares keep their numbers. */
export function swapMarks(board: Board): Board {
  return board.replace(/[XO]/g, (mark) => otherMark(mark as Mark));
}

/** A board for people: a free square shows its number. */
export function drawBoard(board: Board): string {
  return numberedRows(board)
    .map((row) => " " + row.join(" | ") + " ")
    .join("\n---+---+---\n");
}

/** Three rows of three cells, with its number in place of every empty cell. */
export function numberedRows(board: Board): string[][] {
  const cells = squares.map((square) => (cellAt(board, square) === "." ? String(square) : cellAt(board, square)));
  return [cells.slice(0, 3), cells.slice(3, 6), cells.slice(6, 9)];
}
