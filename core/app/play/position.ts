/** A game of tic-tac-toe as the Play page shows it: what stands where, and what every move was and would be worth. */

import type { MoveValue, PlayedSquare, Position } from "../../contract/api/play-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import {
  cellAt,
  emptyBoard,
  lines,
  markToMove,
  outcome,
  place,
  squares,
  winningSquares,
  type Board,
} from "../../tasks/tic-tac-toe/board.ts";
import { ticTacToeGame as game } from "../../tasks/tic-tac-toe/game.ts";
import { gameValue, optimalSquares } from "../../tasks/tic-tac-toe/minimax.ts";

/** The board after these squares in turn, X first. Throws `bad-moves`. */
export function boardAfter(moves: readonly number[]): Board {
  let board = emptyBoard;
  moves.forEach((square, i) => {
    const why =
      outcome(board) !== undefined ? "the game is over before it" : cellAt(board, square) !== "." ? "it is taken" : "";
    if (why !== "") {
      throw new HoneError("bad-moves", `move ${i + 1} cannot be on square ${square}: ${why}`, {
        fix: "begin a new game",
      });
    }
    board = place(board, square, markToMove(board));
  });
  return board;
}

export function positionAfter(moves: readonly number[]): Position {
  const board = boardAfter(moves);
  const line = lines.find(
    ([a, b, c]) => cellAt(board, a) !== "." && new Set([a, b, c].map((s) => cellAt(board, s))).size === 1,
  );
  return {
    board,
    moves: moves.map((square, i) => playedSquare(boardAfter(moves.slice(0, i)), square)),
    to_move: game.toMove(board),
    result: game.result(board) ?? null,
    line: line === undefined ? null : [...line],
    values: squares.map((square) =>
      outcome(board) === undefined && cellAt(board, square) === "." ? moveValue(board, square) : null,
    ),
  };
}

function playedSquare(before: Board, square: number): PlayedSquare {
  const wins = winningSquares(before, markToMove(before));
  return {
    square,
    side: game.toMove(before),
    value: moveValue(before, square),
    blunder: !optimalSquares(before).includes(square),
    missed_win: wins.length > 0 && !wins.includes(square),
  };
}

/** For the side that moves. */
function moveValue(board: Board, square: number): MoveValue {
  const mark = markToMove(board);
  const value = gameValue(place(board, square, mark)) * (mark === "X" ? 1 : -1);
  return value > 0 ? "win" : value < 0 ? "loss" : "draw";
}
