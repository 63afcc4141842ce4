/** A policy that answers with plain text. */

import { messageText } from "../../../core/contract/chat.ts";
import type { Answer, Policy, PolicyItem, PolicySettings } from "../../../core/evaluate/policy-types.ts";

export interface TextPolicy extends Policy {
  calls: { size: number; settings: PolicySettings }[];
}

/** `say` gets the last message and the whole item. */
export function textPolicy(say: (prompt: string, item: PolicyItem) => string): TextPolicy {
  const calls: TextPolicy["calls"] = [];
  return {
    calls,
    answer(items, settings) {
      calls.push({ size: items.length, settings });
      return Promise.resolve(
        items.map((item) => answerOf(say(messageText(item.messages[item.messages.length - 1]), item))),
      );
    },
  };
}

function answerOf(text: string): Answer {
  return {
    text,
    parsed: { content: text, reasoning: "", tool_calls: [], problems: [] },
    stopReason: "eos",
    promptTokens: Int32Array.of(1),
    tokens: Int32Array.from(text, (character) => character.charCodeAt(0)),
    logprobs: new Float32Array(text.length),
  };
}
