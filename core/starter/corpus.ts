/**
 * The starter model's only teacher: a seeded generator of exchanges about tic-tac-toe boards, in the game's own prompt.
 *
 * *Reading*: the prompt ends with another request than "Your move:", such as to point at a square where X completes a
 * line, and the answer is a call that names one of the squares asked for, or "None." *Thinking aloud and the form of a
 * call*: after "Your move:" true sentences about the board, of randomly chosen kinds, then a call of a square drawn
 * uniformly from 1…9 whatever the board, or no call at all. Nothing says which move is good, and no board of a held-out
 * or validation class is ever drawn.
 */

import type { Random } from "../contract/random.ts";
import {
  cellAt,
  emptySquares,
  markToMove,
  outcome,
  place,
  plies,
  squares,
  swapMarks,
  winningSquares,
  type Board,
  type Mark,
} from "../tasks/tic-tac-toe/board.ts";
import { reachableBoards } from "../tasks/tic-tac-toe/boards.ts";
import { splitClasses } from "../tasks/tic-tac-toe/split.ts";
import { canonicalBoard } from "../tasks/tic-tac-toe/symmetry.ts";

const MARKS: readonly Mark[] = ["X", "O"];

interface Fact {
  /** Last line of the prompt that asks for such a square. */
  request: string;
  /** How the fact is said aloud, before the list of squares. */
  sentence: string;
  squaresOf: (board: Board) => number[];
}

/** What can be read off a board: free squares, whose squares, where a line or two threats could be completed. */
export const facts: readonly Fact[] = [
  { request: "Point at a free square:", sentence: "Free squares:", squaresOf: emptySquares },
  ...MARKS.flatMap((mark): Fact[] => [
    {
      request: `Point at a square of ${mark}:`,
      sentence: `${mark} is on`,
      squaresOf: (board) => squares.filter((square) => cellAt(board, square) === mark),
    },
    {
      request: `Point at a square that completes a line of ${mark}:`,
      sentence: `${mark} completes a line on`,
      squaresOf: (board) => winningSquares(board, mark),
    },
    {
      request: `Point at a square that makes two threats of ${mark}:`,
      sentence: `${mark} makes two threats on`,
      squaresOf: (board) => doubleThreats(board, mark),
    },
  ]),
];

/** Chance of one more thought after each thought; of no call after thinking; of a second call. */
const MORE_THOUGHTS = 0.8;
const MAX_THOUGHTS = 10;
const NO_CALL = 0.15;
const SECOND_CALL = 0.05;

export function call(square: number): string {
  return `<tool_call>{"name": "choose_square", "arguments": {"square": ${square}}}</tool_call>`;
}

/** What is answered to "Your move:". */
export function moveAnswer(board: Board, random: Random): string {
  const thoughts: string[] = [];
  while (thoughts.length < MAX_THOUGHTS && random.next() < MORE_THOUGHTS) {
    const fact = random.pick(facts);
    const list = fact.squaresOf(board);
    thoughts.push(`${fact.sentence} ${list.length === 0 ? "none" : list.join(" ")}.\n`);
  }
  if (thoughts.length > 0 && random.next() < NO_CALL) return thoughts.join("").trimEnd();
  const second = random.next() < SECOND_CALL ? call(random.pick(squares)) : "";
  return thoughts.join("") + call(random.pick(squares)) + second;
}

/** Free squares after which `mark` could complete a line in two or more places. */
function doubleThreats(board: Board, mark: Mark): number[] {
  return emptySquares(board).filter((square) => winningSquares(place(board, square, mark), mark).length >= 2);
}

/**
 * Draws boards: nearly half of them boards of the training part, the rest positions with O to move, with one free square, with
 * the marks swapped, and random fillings of the grid. Boards of classes that are held out or kept for validation are
 * never drawn.
 */
export function boardSource(): (random: Random) => Board {
  const classes = splitClasses();
  const barred = new Set([...classes["held-out"], ...classes.validation]);
  const allowed = (board: Board) => !barred.has(canonicalBoard(board));
  const live = reachableBoards().filter((board) => outcome(board) === undefined && allowed(board));
  const train = live.filter((board) => markToMove(board) === "X" && plies(board) <= 6);
  const last = live.filter((board) => plies(board) === 8);
  const second = live.filter((board) => markToMove(board) === "O");
  const swapped = second.map(swapMarks).filter(allowed);
  return (random) => {
    const kind = random.next();
    if (kind < 0.45) return random.pick(train);
    if (kind < 0.55) return random.pick(second);
    if (kind < 0.65) return random.pick(last);
    if (kind < 0.75) return random.pick(swapped);
    for (;;) {
      const empty = random.next();
      const board = squares.map(() => (random.next() < empty ? "." : random.pick(MARKS))).join("");
      if (allowed(board)) return board;
    }
  };
}
