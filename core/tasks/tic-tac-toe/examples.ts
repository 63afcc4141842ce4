/** Right answers to imitate, and pairs to choose between. */

import type { ChatMessage } from "../../contract/chat.ts";
import { Random } from "../../contract/random.ts";
import { squares, type Board } from "./board.ts";
import { chooseSquareTool } from "./prompt.ts";
import { boardRewards } from "./reward.ts";

/** The call of a best move: of several the first one, so that the same board always has the same answer. */
export function bestMove(board: Board): ChatMessage[] {
  return [squareCall(bestSquare(board))];
}

/**
 * A best move and one that is worth less, drawn by the board from all of them: legal or not. On the empty board, where
 * all moves are worth the same, the worse one names no square.
 */
export function movePair(board: Board): { chosen: ChatMessage[]; rejected: ChatMessage[] } {
  const best = bestSquare(board);
  const { rewards } = boardRewards(board);
  const worse = squares.filter((square) => rewards[square - 1] < rewards[best - 1]);
  return {
    chosen: [squareCall(best)],
    rejected: [squareCall(worse.length === 0 ? squares.length + 1 : new Random(board).split("worse move").pick(worse))],
  };
}

function bestSquare(board: Board): number {
  const { rewards } = boardRewards(board);
  return 1 + rewards.indexOf(Math.max(...rewards));
}

/** The answer that chooses this square, and says nothing else. */
export function squareCall(square: number): ChatMessage {
  const name = chooseSquareTool.function.name;
  return { role: "assistant", tool_calls: [{ type: "function", function: { name, arguments: { square } } }] };
}
