/** The boards with X to move: all of them by enumeration, or some of them from the seeded generator. */

import { createHash } from "node:crypto";
import { HoneError } from "../../contract/errors.ts";
import { Random, type Seed } from "../../contract/random.ts";
import { emptyBoard, emptySquares, markToMove, outcome, place, plies, type Board, type Cell } from "./board.ts";

/** A row of the task as files hold it: three rows of three one-character strings. */
export interface TicTacToeRow {
  id: string;
  board: Cell[][];
}

/** Most plies on a generated board. Boards with 8 plies leave no choice and are met in games only. */
export const maxGeneratedPlies = 6;

/** Every position that can be reached from the empty board, the empty and the finished ones included. */
export function reachableBoards(): Board[] {
  const seen = new Set<Board>([emptyBoard]);
  for (const board of seen) {
    if (outcome(board) !== undefined) continue;
    for (const square of emptySquares(board)) seen.add(place(board, square, markToMove(board)));
  }
  return [...seen].sort();
}

let enumerated: readonly Board[] | undefined;

/** All 2,201 boards that the generator can give: X to move, game not over, at most 6 plies. Sorted by byte value. */
export function allBoards(): readonly Board[] {
  enumerated ??= reachableBoards().filter(
    (board) => markToMove(board) === "X" && outcome(board) === undefined && plies(board) <= maxGeneratedPlies,
  );
  return enumerated;
}

/**
 * `count` different boards by random play: up to n moves (n uniform in 0 … 6), one more by O when O is to move.
 * Few-ply boards come up again and again and are kept once, so a large count needs several times as many draws.
 */
export function generateBoards({ seed = 2026, count = 128 }: { seed?: Seed; count?: number } = {}): TicTacToeRow[] {
  const available = allBoards().length;
  if (!Number.isInteger(count) || count < 1 || count > available) {
    throw new HoneError("too-many-boards", `cannot generate ${count} different boards: there are ${available}`, {
      fix: `ask for 1 to ${available} boards`,
    });
  }
  const random = new Random(seed).split("tic-tac-toe boards");
  const kept = new Set<Board>();
  while (kept.size < count) {
    const board = randomPosition(random);
    if (outcome(board) === undefined) kept.add(board);
  }
  return [...kept].map((board, i) => toRow(board, `generated-${String(i).padStart(5, "0")}`));
}

/** A position of random play that is over or has X to move. */
function randomPosition(random: Random): Board {
  let board = emptyBoard;
  const moves = random.integer(maxGeneratedPlies + 1);
  const playOne = () => (board = place(board, random.pick(emptySquares(board)), markToMove(board)));
  for (let i = 0; i < moves && outcome(board) === undefined; i++) playOne();
  if (outcome(board) === undefined && markToMove(board) === "O") playOne();
  return board;
}

export function toRow(board: Board, id: string = board): TicTacToeRow {
  const cells = [...board] as Cell[];
  return { id, board: [cells.slice(0, 3), cells.slice(3, 6), cells.slice(6, 9)] };
}

export function toBoard(row: TicTacToeRow): Board {
  return row.board.flat().join("");
}

/** Checks a row from a file: shape, cells, and that X is to move in a game that is not over. */
export function parseRow(value: unknown): TicTacToeRow {
  const { id, board } = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const fail = (what: string): never => {
    throw new HoneError("bad-row", `row ${typeof id === "string" ? id : "without id"}: ${what}`, {
      fix: 'a row looks like {"id":"a","board":[["X","O","."],[".",".","."],[".",".","."]]}',
    });
  };
  if (typeof id !== "string" || id === "") fail('"id" is not a text');
  if (!Array.isArray(board) || board.length !== 3) return fail('"board" is not a list of 3 rows');
  for (const cells of board as unknown[]) {
    const good = Array.isArray(cells) && cells.length === 3 && cells.every((cell) => /^[XO.]$/.test(String(cell)));
    if (!good) fail('a row of "board" is not 3 cells of "X", "O" or "."');
  }
  const row: TicTacToeRow = { id: id as string, board: board as Cell[][] };
  const text = toBoard(row);
  const count = (mark: string) => text.split(mark).length - 1;
  if (count("X") !== count("O")) fail("it is not X's turn: X and O do not have the same number of marks");
  if (outcome(text) !== undefined) fail("the game is over");
  return row;
}

/** SHA-256 of the boards, sorted, one a line: goes into a run's record. */
export function hashBoards(boards: readonly Board[]): string {
  return hashLines([...boards].sort());
}

/** SHA-256 in hex of lines joined by line feeds, without a last one. */
export function hashLines(textLines: readonly string[]): string {
  return createHash("sha256").update(textLines.join("\n"), "utf8").digest("hex");
}
