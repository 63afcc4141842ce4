/** Whole games: whose turn it is, how a side is shown to a model, and the fixed opponents. */

import type { Game } from "../task.ts";
import { readMove } from "./answer.ts";
import { emptyBoard, emptySquares, markToMove, outcome, place, swapMarks, type Board } from "./board.ts";
import { optimalSquares } from "./minimax.ts";
import { promptMessages } from "./prompt.ts";

export const ticTacToeGame: Game = {
  start: emptyBoard,
  toMove: (board) => (markToMove(board) === "X" ? "x" : "o"),
  result(board) {
    const end = outcome(board);
    if (end === undefined || end === "draw") return end;
    return end === "X" ? "x" : "o";
  },
  play: (board, square) => place(board, square, markToMove(board)),
  prompt: (board) => promptMessages(seenBoard(board)),
  readMove(board, action) {
    const move = readMove(seenBoard(board), action);
    return "failure" in move ? { failure: move.failure } : { move: move.square };
  },
  opponents: {
    /** Uniform over legal moves. */
    random: (board, random) => random.pick(emptySquares(board)),
    /** Uniform over optimal moves. */
    minimax: (board, random) => random.pick(optimalSquares(board)),
  },
  sides: {
    x: "the board as it is",
    o: "X and O swapped, squares unchanged, so the model still plays X; such boards hold one O more, which training never shows",
  },
};

/** The board as a model sees it that is to move: the prompt always says that it plays X. */
export function seenBoard(board: Board): Board {
  return markToMove(board) === "X" ? board : swapMarks(board);
}
