import { expect, test } from "vitest";
import type { Action } from "../../../../core/tasks/task.ts";
import type { ParsedAssistant, ProblemCode } from "../../../../core/text/parse-assistant.ts";
import { failures } from "../../../../core/tasks/tic-tac-toe/answer.ts";
import { drawBoard, markToMove, outcome, swapMarks } from "../../../../core/tasks/tic-tac-toe/board.ts";
import { allBoards, reachableBoards, toBoard, toRow } from "../../../../core/tasks/tic-tac-toe/boards.ts";
import { promptMessages } from "../../../../core/tasks/tic-tac-toe/prompt.ts";
import { scoreMove, ticTacToe } from "../../../../core/tasks/tic-tac-toe/tic-tac-toe.ts";

const board = "XX.OO....";
const row = toRow(board);

function answer(parsed: Partial<ParsedAssistant>, stopReason: Action["stopReason"] = "eos"): Action {
  return { text: "", stopReason, parsed: { content: "", reasoning: "", tool_calls: [], problems: [], ...parsed } };
}
const call = (args: Record<string, unknown>, name = "choose_square") => ({ name, arguments: args });
const choose = (square: unknown) => answer({ tool_calls: [call({ square })] });
const problem = (...codes: ProblemCode[]) => answer({ problems: codes.map((code) => ({ code, message: code })) });

test.each<[string, Action, number, string | undefined]>([
  ["a winning move", choose(3), 1, undefined],
  ["a legal move that throws the win away", choose(7), 0, undefined],
  ["text before the call", answer({ content: "Three wins.", tool_calls: [call({ square: 3 })] }), 1, undefined],
  ["a taken square", choose(1), -1, "occupied"],
  ["0", choose(0), -1, "out_of_range"],
  ["10", choose(10), -1, "out_of_range"],
  ["5.5", choose(5.5), -1, "bad_argument"],
  ["true", choose(true), -1, "bad_argument"],
  ['the text "3"', choose("3"), -1, "bad_argument"],
  ["five", choose("five"), -1, "bad_argument"],
  ["null", choose(null), -1, "bad_argument"],
  ["NaN", choose(NaN), -1, "bad_argument"],
  ["a list", choose([3]), -1, "bad_argument"],
  ["no argument", answer({ tool_calls: [call({})] }), -1, "bad_argument"],
  ["another argument too", answer({ tool_calls: [call({ square: 3, why: "wins" })] }), -1, "bad_argument"],
  ["another tool", answer({ tool_calls: [call({ square: 3 }, "choose")] }), -1, "wrong_tool"],
  ["two calls", answer({ tool_calls: [call({ square: 3 }), call({ square: 3 })] }), -1, "several_calls"],
  ["no call", answer({ content: "I take square 3." }), -1, "no_call"],
  ["an unclosed call", problem("malformed"), -1, "no_call"],
  ["05, which the text layer reports", problem("bad_argument"), -1, "bad_argument"],
  ["a problem beside a good call", { ...choose(3), parsed: problem("several_calls").parsed }, -1, "several_calls"],
  ["cut in mid-thought", answer({ problems: [{ code: "no_call", message: "" }] }, "length"), -1, "truncated"],
  ["cut after a call", { ...choose(3), stopReason: "length" }, -1, "truncated"],
  ["full context", answer({}, "context_full"), -1, "truncated"],
])("%s", (_, action, reward, failure) => {
  const score = scoreMove(board, action);
  expect(score.reward).toBe(reward);
  expect(score.info.failure).toBe(failure);
  if (failure !== undefined) expect(Object.keys(failures)).toContain(failure);
});

test("the parts, weighted, make up the reward on every board and square", () => {
  for (const text of allBoards()) {
    for (let square = 1; square <= 9; square++) {
      const { reward, parts } = scoreMove(text, choose(square));
      const sum = ticTacToe.rewardParts.reduce((total, { name, weight }) => total + weight * parts[name], 0);
      expect(sum).toBe(reward);
    }
  }
});

test("outcomes are absent where the question does not arise", () => {
  const outcomes = (text: string, square: number) => scoreMove(text, choose(square)).info.outcomes;
  expect(outcomes(board, 3)).toEqual({ legal: true, optimal: true, immediate_win: true });
  expect(outcomes(board, 1)).toEqual({ legal: false, optimal: false, immediate_win: false });
  expect(outcomes(".........", 5)).toEqual({ legal: true, optimal: true });
  expect(outcomes("OO..X...X", 3)).toEqual({
    legal: true,
    optimal: true,
    immediate_win: undefined,
    threat_block: true,
  });
});

test("the prompt shows the board with numbers and neither the rules nor the legal moves", () => {
  const [system, user] = promptMessages("X...O....");
  expect(system.role).toBe("system");
  expect(system.content).toMatch(/play X.*exactly one call/);
  expect(user.content).toContain("\nX 2 3\n4 O 6\n7 8 9\n");
  expect(user.content).not.toMatch(/legal|three in a row|line/i);
});

test("one prompt for training, evaluation and play; side O is shown with the marks swapped", () => {
  const game = ticTacToe.game!;
  for (const text of reachableBoards().filter((b) => outcome(b) === undefined)) {
    const seen = markToMove(text) === "X" ? text : swapMarks(text);
    expect(game.prompt(text)).toEqual(ticTacToe.prompt(toRow(seen)));
    expect(game.toMove(text)).toBe(markToMove(text) === "X" ? "x" : "o");
  }
});

test("a game is played on the real board", () => {
  const game = ticTacToe.game!;
  expect(game.play("X........", 5)).toBe("X...O....");
  expect(game.readMove("X........", choose(1))).toEqual({ failure: "occupied" });
  expect(game.readMove("X........", choose(5))).toEqual({ move: 5 });
  expect(["XXXOO....", "OOOXX.X..", "XOXXOOOXX"].map((text) => game.result(text))).toEqual(["x", "o", "draw"]);
});

test("an episode takes one action", async () => {
  const episode = ticTacToe.start(row, 1);
  expect(await episode.step(choose(3))).toMatchObject({ done: true, messages: [], score: { reward: 1 } });
  expect(() => episode.step(choose(3))).toThrow(/is over/);
});

test("rows, problems and drawing", () => {
  const heldOut = ticTacToe.rows("held-out");
  const training = new Set(ticTacToe.rows("train").map((r) => ticTacToe.problem(r)));
  expect(heldOut.some((r) => training.has(ticTacToe.problem(r)))).toBe(false);
  expect(heldOut[0].id).toBe(toBoard(heldOut[0]));
  expect(drawBoard("X...O....")).toBe(" X | 2 | 3 \n---+---+---\n 4 | O | 6 \n---+---+---\n 7 | 8 | 9 ");
});
