/** A task for tests: rows that say themselves what SFT and DPO learn from them. */

import type { ChatMessage } from "../../../core/contract/chat.ts";
import type { Example, Task, TaskRow } from "../../../core/tasks/task.ts";

export interface MadeRow extends TaskRow {
  prompt?: string;
  answer?: ChatMessage[];
  worse?: ChatMessage[];
  example?: Example;
}

export const say = (content: string): ChatMessage[] => [{ role: "assistant", content }];

export function madeTask(
  rows: readonly MadeRow[],
  abilities: ("solution" | "example" | "preference")[],
): Task<MadeRow> {
  const answerOf = (row: MadeRow) => row.answer ?? [];
  return {
    name: "made",
    title: "Made",
    description: "Rows of a test.",
    tools: [],
    rewardParts: [],
    failures: {},
    outcomes: {},
    limits: { turns: 1, tokens: 16, seconds: 10 },
    rows: (split) => (split === "train" ? [...rows] : []),
    parseRow: (value) => value as MadeRow,
    problem: ({ id }) => id,
    prompt: ({ prompt = "?" }) => [{ role: "user", content: prompt }],
    start: () => {
      throw new Error("there are no episodes");
    },
    ...(abilities.includes("solution") && { solution: answerOf }),
    ...(abilities.includes("example") && { example: ({ example }) => example }),
    ...(abilities.includes("preference") && {
      preference: (row) => ({ chosen: answerOf(row), rejected: row.worse ?? [] }),
    }),
    reference: () => ({}),
    draw: ({ id }) => id,
  };
}
