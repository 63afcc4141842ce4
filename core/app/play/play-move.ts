/** The next move of a side: of a fixed opponent, or of a model with everything that it wrote. */

import type { AnswerSoFar, DrawnToken, MoveAnswer } from "../../contract/api/play-calls.ts";
import { deriveSeed, Random } from "../../contract/random.ts";
import type { TextChat } from "../../evaluate/text-chat.ts";
import { readMove } from "../../tasks/tic-tac-toe/answer.ts";
import { plies, type Board } from "../../tasks/tic-tac-toe/board.ts";
import { seenBoard, ticTacToeGame as game } from "../../tasks/tic-tac-toe/game.ts";
import { ticTacToe as task } from "../../tasks/tic-tac-toe/tic-tac-toe.ts";
import { pieces } from "../../text/pieces.ts";
import type { OpenPolicy } from "../session.ts";
import { watchAnswer } from "./answer-so-far.ts";

export function fixedMove(kind: "random" | "minimax", board: Board, seed: number): MoveAnswer {
  const square = game.opponents[kind](board, new Random(seed).split("play", plies(board)));
  return { square, illegal: null, answer: null };
}

export interface MoveSettings {
  temperature: number;
  maxTokens: number;
  seed: number;
  signal?: AbortSignal;
  onAnswer?: (soFar: AnswerSoFar) => void;
}

/** The very prompt of training. An illegal or missing move is no error: `illegal` says why there is none. */
export async function modelMove(
  { policy, chat, files }: OpenPolicy,
  board: Board,
  settings: MoveSettings,
): Promise<MoveAnswer> {
  const { temperature, maxTokens, seed, signal, onAnswer } = settings;
  const prompt = game.prompt(board);
  const begin = performance.now();
  const watch = watchAnswer(chat, task.tools, false, onAnswer);
  const [answer] = await policy.answer(
    [
      {
        messages: prompt,
        tools: task.tools,
        ...(task.toolChoice !== undefined && { toolChoice: task.toolChoice }),
        seed: deriveSeed(seed, "play", plies(board)),
      },
    ],
    {
      temperature,
      maxTokens,
      ...(signal !== undefined && { signal }),
      ...(onAnswer !== undefined && { onToken: ({ token }) => watch(token) }),
    },
  );
  const read = readMove(seenBoard(board), answer);
  const { parsed, text, tokens, logprobs, stopReason, promptTokens } = answer;
  return {
    square: "failure" in read ? null : read.square,
    illegal: "failure" in read ? { failure: read.failure, square: read.square ?? null } : null,
    answer: {
      model: files.name,
      prompt,
      prompt_tokens: promptTokens.length,
      text,
      content: parsed.content,
      reasoning: parsed.reasoning,
      tool_calls: parsed.tool_calls,
      tokens: drawnTokens(chat, tokens, logprobs),
      stop_reason: stopReason,
      seconds: (performance.now() - begin) / 1000,
    },
  };
}

/** The tokens that ended the answer are left out. */
export function drawnTokens(chat: TextChat, tokens: Int32Array, logprobs: Float32Array): DrawnToken[] {
  const stop = new Set(chat.stopIds);
  return pieces(chat.text.tokenizer, tokens).flatMap(({ id, text }, i) =>
    stop.has(id) ? [] : [{ text, logprob: Number.isFinite(logprobs[i]) ? logprobs[i] : -100 }],
  );
}
