import { expect, test } from "vitest";
import type { ChatMessage, FunctionCall } from "../../../../core/contract/chat.ts";
import { moveReward } from "../../../../core/tasks/tic-tac-toe/reward.ts";
import { toBoard } from "../../../../core/tasks/tic-tac-toe/boards.ts";
import { ticTacToe } from "../../../../core/tasks/tic-tac-toe/tic-tac-toe.ts";

const rows = (["train", "validation", "held-out"] as const).flatMap((split) => ticTacToe.rows(split));

function squareOf([message, ...others]: ChatMessage[]): number {
  expect(others).toEqual([]);
  const [{ function: called }] = message.tool_calls as { function: FunctionCall }[];
  expect(called.name).toBe("choose_square");
  return (called.arguments as { square: number }).square;
}

test("every solution is a best move, and the chosen answer of every pair; the rejected one is worth less", () => {
  let illegal = 0;
  for (const row of rows) {
    const board = toBoard(row);
    const best = Math.max(...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((square) => moveReward(board, square)));
    const solution = ticTacToe.solution?.(row) ?? [];
    expect(moveReward(board, squareOf(solution))).toBe(best);
    const { chosen, rejected } = ticTacToe.preference?.(row) ?? { chosen: [], rejected: [] };
    expect(chosen).toEqual(solution);
    expect(moveReward(board, squareOf(rejected))).toBeLessThan(best);
    expect(ticTacToe.preference?.(row)).toEqual({ chosen, rejected });
    illegal += Number(moveReward(board, squareOf(rejected)) === -1);
  }
  expect(illegal / rows.length).toBeGreaterThan(0.2);
  expect(illegal / rows.length).toBeLessThan(0.95);
});
