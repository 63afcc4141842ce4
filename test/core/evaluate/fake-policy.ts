/** Players in place of a model: they read the board from the prompt, as a model must. */

import { messageText } from "../../../core/contract/chat.ts";
import { Random } from "../../../core/contract/random.ts";
import type { Answer, Policy, PolicyItem, PolicySettings } from "../../../core/evaluate/policy-types.ts";
import type { Board } from "../../../core/tasks/tic-tac-toe/board.ts";

/** A square to choose, or a text without a call. */
export type Choice = number | string;

export interface FakePolicy extends Policy {
  /** Every board that was shown, in order. */
  seen: Board[];
  calls: { size: number; settings: PolicySettings }[];
}

export function boardOfPrompt({ messages }: PolicyItem): Board {
  const rows = /\n([XO1-9]) ([XO1-9]) ([XO1-9])\n([XO1-9]) ([XO1-9]) ([XO1-9])\n([XO1-9]) ([XO1-9]) ([XO1-9])\n/;
  const cells = rows.exec(messageText(messages[1]));
  if (cells === null) throw new Error(`no board in: ${messageText(messages[1])}`);
  return cells.slice(1).join("").replace(/[1-9]/g, ".");
}

export function fakePolicy(choose: (board: Board, random: Random, settings: PolicySettings) => Choice): FakePolicy {
  const seen: Board[] = [];
  const calls: FakePolicy["calls"] = [];
  return {
    seen,
    calls,
    answer(items, settings) {
      calls.push({ size: items.length, settings });
      return Promise.resolve(
        items.map((item) => {
          const board = boardOfPrompt(item);
          seen.push(board);
          return answerOf(choose(board, new Random(item.seed), settings));
        }),
      );
    },
  };
}

function answerOf(choice: Choice): Answer {
  const text = typeof choice === "number" ? `call ${choice}` : choice;
  return {
    text,
    parsed: {
      content: "",
      reasoning: "",
      tool_calls: typeof choice === "number" ? [{ name: "choose_square", arguments: { square: choice } }] : [],
      problems: typeof choice === "number" ? [] : [{ code: "no_call", message: "no call" }],
    },
    stopReason: choice === "cut" ? "length" : choice === "cancelled" ? "cancelled" : "eos",
    promptTokens: Int32Array.of(1, 2, 3),
    tokens: Int32Array.from(text, (character) => character.charCodeAt(0)),
    logprobs: new Float32Array(text.length).fill(-0.5),
  };
}
