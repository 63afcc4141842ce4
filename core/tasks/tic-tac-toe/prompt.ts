/** The one prompt of tic-tac-toe: training, evaluation and play all use it. */

import type { ChatMessage, ToolDefinition } from "../../contract/chat.ts";
import { numberedRows, type Board } from "./board.ts";

export const chooseSquareTool: ToolDefinition = {
  type: "function",
  function: {
    name: "choose_square",
    description: "Put an X on one free square of the board.",
    parameters: {
      type: "object",
      properties: {
        square: { type: "integer", minimum: 1, maximum: 9, description: "Number of the square." },
      },
      required: ["square"],
      additionalProperties: false,
    },
  },
};

/** X is to move. Neither the rules nor the legal moves are told: that would be another task with another baseline. */
export function promptMessages(board: Board): ChatMessage[] {
  return [
    {
      role: "system",
      content:
        "You play X in tic-tac-toe, with care. Answer with exactly one call of choose_square that names a free square.",
    },
    {
      role: "user",
      content: [
        "Choose the square for your next X.",
        "The squares are numbered 1 to 9, row by row from the top left; a free square shows its number.",
        "",
        ...numberedRows(board).map((row) => row.join(" ")),
        "",
        "Your move:",
      ].join("\n"),
    },
  ];
}
