/** Tic-tac-toe, one move at a time: a board on which X is to move, one call of `choose_square`, a reward for the square. */

import { oneTurnEpisode, type Action, type Score, type Task } from "../task.ts";
import { failures, readMove } from "./answer.ts";
import { drawBoard, type Board } from "./board.ts";
import { parseRow, toBoard, toRow, type TicTacToeRow } from "./boards.ts";
import { bestMove, movePair } from "./examples.ts";
import { ticTacToeGame } from "./game.ts";
import { chooseSquareTool, promptMessages } from "./prompt.ts";
import { referenceLines } from "./reference.ts";
import { boardRewards, illegalReward, optimalReward, winReward } from "./reward.ts";
import { splitBoards } from "./split.ts";
import { canonicalBoard, canonicalSquare } from "./symmetry.ts";

export const ticTacToe: Task<TicTacToeRow> = {
  name: "tic-tac-toe",
  title: "Tic-tac-toe",
  description: "Choose the best square for X on a given board, with one tool call.",
  rowName: "board",
  tools: [chooseSquareTool],
  toolChoice: chooseSquareTool.function.name,
  rewardParts: [
    { name: "legal", weight: 1, description: "−1 unless the answer is one valid call on a free square" },
    { name: "win", weight: winReward, description: "1 for a move that completes a line" },
    { name: "optimal", weight: optimalReward, description: "1 for another move that keeps the best possible outcome" },
  ],
  failures,
  outcomes: {
    legal: "legal moves",
    immediate_win: "immediate wins taken",
    threat_block: "single threats blocked",
    optimal: "optimal moves",
  },
  limits: { turns: 1, tokens: 1024, seconds: 300 },
  rows: (split, { seed } = {}) => splitBoards(split, seed).map((board) => toRow(board)),
  parseRow,
  problem: (row) => canonicalBoard(toBoard(row)),
  prompt: (row) => promptMessages(toBoard(row)),
  start: (row) => oneTurnEpisode(row, (action) => scoreMove(toBoard(row), action)),
  solution: (row) => bestMove(toBoard(row)),
  preference: (row) => movePair(toBoard(row)),
  reference: (rows) => ({ ...referenceLines(rows.map(toBoard)) }),
  draw: (row) => drawBoard(toBoard(row)),
  game: ticTacToeGame,
};

export function scoreMove(board: Board, action: Action): Score {
  const { rewards, winning, optimal, singleThreat } = boardRewards(board);
  const move = readMove(board, action);
  const legal = !("failure" in move);
  const wins = legal && winning.includes(move.square);
  const isOptimal = legal && optimal.includes(move.square);
  const outcomes: Record<string, boolean> = { legal, optimal: isOptimal };
  if (winning.length > 0) outcomes["immediate_win"] = wins;
  if (singleThreat !== undefined) outcomes["threat_block"] = legal && move.square === singleThreat;
  return {
    reward: legal ? rewards[move.square - 1] : illegalReward,
    parts: { legal: legal ? 0 : -1, win: wins ? 1 : 0, optimal: isOptimal && !wins ? 1 : 0 },
    info: {
      ...("failure" in move && { failure: move.failure }),
      ...(legal && !isOptimal && !wins && { fault: "choice" as const }),
      ...(move.square !== undefined && { choice: String(move.square) }),
      ...(legal && { problemChoice: String(canonicalSquare(board, move.square)) }),
      outcomes,
    },
  };
}
