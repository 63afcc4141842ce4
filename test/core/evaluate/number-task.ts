/** A task small enough to be worked out by hand: the prompt shows a digit, and the right answer is that digit. */

import { messageText, type ChatMessage } from "../../../core/contract/chat.ts";
import type { RowChat } from "../../../core/evaluate/trained-row.ts";
import { oneTurnEpisode, type Task } from "../../../core/tasks/task.ts";

export interface NumberRow {
  id: string;
  digit: number;
}

export const endId = 0;

const say = (role: string, content: string): ChatMessage => ({ role, content });

export const numberTask: Task<NumberRow> = {
  name: "numbers",
  title: "Numbers",
  description: "Say the digit that is shown.",
  tools: [],
  rewardParts: [{ name: "right", weight: 1, description: "1 for the digit that was shown" }],
  failures: {
    no_digit: { meaning: "no digit at all", group: "call" },
    wrong: { meaning: "another digit", group: "choice" },
  },
  outcomes: { right: "right digits" },
  limits: { turns: 1, tokens: 8, seconds: 10 },
  rows: () => [1, 2, 3, 4].map((digit) => ({ id: `row-${digit}`, digit })),
  parseRow: (value) => value as NumberRow,
  problem: ({ digit }) => `parity ${digit % 2}`,
  prompt: ({ digit }) => [say("user", String(digit))],
  start: (row) =>
    oneTurnEpisode(row, ({ text }) => {
      const right = text.trim() === String(row.digit);
      const failure = right ? undefined : /\d/.test(text) ? "wrong" : "no_digit";
      return {
        reward: Number(right),
        parts: { right: Number(right) },
        info: { outcomes: { right }, ...(failure !== undefined && { failure }) },
      };
    }),
  solution: ({ digit }) => [say("assistant", String(digit))],
  preference: ({ digit }) => ({
    chosen: [say("assistant", String(digit))],
    rejected: [say("assistant", String(digit + 1))],
  }),
  reference: () => ({}),
  draw: ({ digit }) => String(digit),
};

/** Every digit is its own token; an answer ends with `endId`, which is part of the loss. */
export const digitChat: RowChat = {
  renderTrained(messages, _tools, _loss, completionFrom = messages.length - 1) {
    const ids = (part: readonly ChatMessage[]) => [...part.map(messageText).join("")].map(Number);
    const answer = [...ids(messages.slice(completionFrom)), endId];
    return {
      promptIds: Int32Array.from(ids(messages.slice(0, completionFrom))),
      ids: Int32Array.from(answer),
      mask: new Uint8Array(answer.length).fill(1),
    };
  },
  vocabSize: 1000,
  textIds: (text) => Int32Array.from([...text, endId].map(Number)),
};
