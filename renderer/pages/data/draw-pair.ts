/** Two answers to the prompt of a row, to be compared. Knows nothing of React. */

import type { Api } from "../../../core/contract/api/api.ts";
import type { ChatMessage, ToolDefinition } from "../../../core/contract/chat.ts";

export interface PairWish {
  /** The dataset whose prompts are asked. */
  name: string;
  models: readonly [string, string];
  temperature: number;
  maxTokens: number;
}

export interface Pair {
  row: number;
  prompt: ChatMessage[];
  tools: ToolDefinition[];
  answers: readonly [ChatMessage, ChatMessage];
  /** There is nothing to choose. */
  same: boolean;
}

/** For the first row from `row` on that has a prompt; null behind the last one. */
export async function drawPair(
  api: Api,
  { name, models, temperature, maxTokens }: PairWish,
  row: number,
  rows: number,
  signal: AbortSignal,
): Promise<Pair | null> {
  for (let at = row; at <= rows; at++) {
    const { prompt, tools } = await api.call("data.row", { name, row: at }, { signal });
    if (prompt === null || prompt.length === 0) continue;
    // Of a greedy draw both would be the same; each row has seeds of its own, the same ones every time.
    const draw = async (which: 0 | 1) => {
      const wish = { model: models[which], messages: prompt, tools, temperature, max_tokens: maxTokens };
      return api.call("chat.answer", { ...wish, seed: 2 * at + which }, { signal });
    };
    const [a, b] = [await draw(0), await draw(1)];
    return { row: at, prompt, tools, answers: [a.message, b.message], same: a.text === b.text };
  }
  return null;
}
