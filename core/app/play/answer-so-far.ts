/** An answer for who watches it being written: all of it, a few times a second. */

import type { AnswerSoFar } from "../../contract/api/play-calls.ts";
import type { ToolDefinition } from "../../contract/chat.ts";
import type { TextChat } from "../../evaluate/text-chat.ts";
import { TextStream } from "../../text/text-stream.ts";

/** Milliseconds between two tellings. */
const interval = 60;

/** Returns what is to be called with each token. `tell` undefined: nobody watches. */
export function watchAnswer(
  chat: TextChat,
  tools: readonly ToolDefinition[],
  thinkingOpen: boolean,
  tell: ((soFar: AnswerSoFar) => void) | undefined,
): (token: number) => void {
  if (tell === undefined) return () => undefined;
  const stream = new TextStream(chat.text.tokenizer, { continues: true });
  const stop = new Set(chat.stopIds);
  const begin = performance.now();
  let [text, tokens, last] = ["", 0, -Infinity];
  return (token) => {
    tokens++;
    if (!stop.has(token)) text += stream.push(token);
    const now = performance.now();
    if (now - last < interval) return;
    last = now;
    const { content, reasoning } = chat.text.parse(text, tools, { thinkingOpen, parallel: true });
    tell({ content, reasoning, tokens, seconds: (now - begin) / 1000 });
  };
}
