/** From an assistant's answer to a square, or to the reason why it names none. */

import { isCut, type ProblemCode } from "../../text/parse-assistant.ts";
import type { Action, FailureKind } from "../task.ts";
import { cellAt, type Board } from "./board.ts";
import { chooseSquareTool } from "./prompt.ts";

/** Every reason of a reward of −1. */
export const failures = {
  no_call: { meaning: "no complete call of the tool", group: "call" },
  several_calls: { meaning: "more than one call", group: "call" },
  wrong_tool: { meaning: "a call of another tool", group: "call" },
  bad_argument: { meaning: "the argument is not a whole number in plain digits", group: "call" },
  truncated: { meaning: "cut off by the token limit", group: "call" },
  out_of_range: { meaning: "the number is outside 1 to 9", group: "rules" },
  occupied: { meaning: "the square is taken", group: "state" },
} as const satisfies Record<string, FailureKind>;

export type Failure = keyof typeof failures;

/** The reason to store when the text layer found several problems: the first of these. */
const problemFailures: [ProblemCode, Failure][] = [
  ["truncated", "truncated"],
  ["several_calls", "several_calls"],
  ["wrong_tool", "wrong_tool"],
  ["no_call", "no_call"],
  ["malformed", "no_call"],
  ["bad_argument", "bad_argument"],
  ["out_of_range", "out_of_range"],
];

/**
 * Exactly one closed call of the tool with a whole number. An answer that the token limit cut is no answer, whatever it
 * holds. The text layer has decoded the argument by the tool's schema: here nothing is converted.
 */
export function readSquare({ parsed, stopReason }: Action): { square: number } | { failure: Failure } {
  if (isCut(stopReason)) return { failure: "truncated" };
  for (const [code, failure] of problemFailures) {
    if (parsed.problems.some((problem) => problem.code === code)) return { failure };
  }
  const [call, ...others] = parsed.tool_calls;
  if (call === undefined) return { failure: "no_call" };
  if (others.length > 0) return { failure: "several_calls" };
  if (call.name !== chooseSquareTool.function.name) return { failure: "wrong_tool" };
  const { square, ...rest } = call.arguments;
  if (typeof square !== "number" || !Number.isInteger(square) || Object.keys(rest).length > 0) {
    return { failure: "bad_argument" };
  }
  return square < 1 || square > 9 ? { failure: "out_of_range" } : { square };
}

/** As `readSquare`; a taken square is a failure too. */
export function readMove(board: Board, action: Action): { square: number } | { failure: Failure; square?: number } {
  const read = readSquare(action);
  if ("failure" in read || cellAt(board, read.square) === ".") return read;
  return { failure: "occupied", square: read.square };
}
