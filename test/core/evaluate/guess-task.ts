/**
 * A task of several turns, small enough to be looked through: find the hidden square with one call a turn; the answer to
 * each call is "higher" or "lower".
 */

import type { ChatMessage } from "../../../core/contract/chat.ts";
import type { EngineStopReason } from "../../../core/engine/types.ts";
import type { Chat } from "../../../core/evaluate/policy.ts";
import type { Action, Episode, Score, StopReason, Task, TaskRow } from "../../../core/tasks/task.ts";
import { chooseSquareTool } from "../../../core/tasks/tic-tac-toe/prompt.ts";

export interface GuessRow extends TaskRow {
  /** 1 … 9 */
  secret: number;
}

export interface GuessOptions {
  turns?: number;
  seconds?: number;
  /** Called before each step; what it gives is waited for. */
  beforeStep?: (row: GuessRow, turn: number, action: Action) => void | Promise<void>;
  /** In place of the reward. */
  reward?: (row: GuessRow, turn: number) => number;
  /** Called with what an episode was ended for from outside. */
  onEnd?: (reason: StopReason) => void;
}

export const guessRows: GuessRow[] = Array.from({ length: 9 }, (_, i) => ({ id: `g${i + 1}`, secret: i + 1 }));

export function guessTask(options: GuessOptions = {}): Task<GuessRow> {
  const { turns = 3, seconds = 5 } = options;
  return {
    name: "guess",
    title: "Guess",
    description: "Find the hidden square.",
    tools: [chooseSquareTool],
    rewardParts: [{ name: "found", weight: 1, description: "1, less 0.25 for every turn after the first" }],
    failures: { no_call: { meaning: "no valid call", group: "call" } },
    outcomes: { found: "found" },
    limits: { turns, tokens: 8, seconds },
    rows: () => guessRows,
    parseRow: (value) => value as GuessRow,
    problem: ({ id }) => id,
    prompt: () => [{ role: "user", content: "Which square?" }],
    start: (row) => episode(row, options),
    reference: () => ({}),
    draw: ({ secret }) => String(secret),
  };
}

function episode(row: GuessRow, { beforeStep, reward, onEnd }: GuessOptions): Episode {
  let turn = 0;
  const score = (value: number, failure?: string): Score => ({
    reward: reward?.(row, turn) ?? value,
    parts: { found: value },
    info: { outcomes: { found: value > 0 }, ...(failure !== undefined && { failure }) },
  });
  return {
    async step(action) {
      turn += 1;
      await beforeStep?.(row, turn, action);
      const [call] = action.parsed.tool_calls;
      if (call === undefined) return { messages: [], done: true, score: score(-1, "no_call") };
      const square = Number(call.arguments.square);
      if (square === row.secret) return { messages: [], done: true, score: score(1 - 0.25 * (turn - 1)) };
      const content = square < row.secret ? "higher" : "lower";
      return { messages: [{ role: "tool", content }], done: false };
    },
    end(reason) {
      onEnd?.(reason);
      return score(-0.5);
    },
  };
}

/** One token a word: end, nine squares, higher, lower, question. */
export const guessIds = { end: 0, higher: 10, lower: 11, question: 12 };
export const guessVocabulary = 13;

/** `rewritesHistory`: earlier answers are shown to the model without their square, so that no prompt continues the last. */
export function guessChat({ rewritesHistory = false } = {}): Chat & { files(): Record<string, string> } {
  const idsOf = (message: ChatMessage): number[] => {
    if (message.role === "user") return [guessIds.question];
    if (message.role === "tool") return [message.content === "higher" ? guessIds.higher : guessIds.lower];
    const [call] = message.tool_calls ?? [];
    const square = call !== undefined && "function" in call && (call.function.arguments as { square: number }).square;
    return rewritesHistory || typeof square !== "number" ? [guessIds.end] : [square, guessIds.end];
  };
  return {
    stopIds: [guessIds.end],
    renderPrompt: (messages) => Int32Array.from(messages.flatMap(idsOf)),
    readAnswer: (_prompt, tokens, _tools, { stopReason }) => readGuess(tokens, stopReason),
    decode: (tokens) => [...tokens].join(" "),
    files: () => ({ "tokenizer.json": "{}\n" }),
  };
}

function readGuess(tokens: Int32Array, stopReason: EngineStopReason) {
  const text = [...tokens].join(" ");
  const [square] = tokens;
  const valid = tokens.length === 2 && stopReason === "eos" && square >= 1 && square <= 9;
  const tool_calls = valid ? [{ name: "choose_square", arguments: { square } }] : [];
  const problems = valid ? [] : [{ code: "no_call" as const, message: "no call" }];
  return { text, parsed: { content: valid ? "" : text, reasoning: "", tool_calls, problems } };
}
