/** What the evaluation and the training loop see of a model: chat messages in, answers out. */

import type { ChatMessage, ToolDefinition } from "../contract/chat.ts";
import type { Action } from "../tasks/task.ts";

export interface PolicyItem {
  messages: ChatMessage[];
  tools: ToolDefinition[];
  /** The tool that the answer must call, when the task forces one. */
  toolChoice?: string;
  /** 0 … 2^31 − 1. An item's answer depends on it, not on what else is in the batch. */
  seed: number;
}

export interface PolicySettings {
  /** 0 is greedy. */
  temperature: number;
  /** New tokens. */
  maxTokens: number;
  signal?: AbortSignal;
}

export interface Answer extends Action {
  /** Ids of the prompt as the model got it. */
  promptTokens: Int32Array;
  /** Ids as they were drawn, the end token included. */
  tokens: Int32Array;
  /** Natural logs at temperature 1, one per token. */
  logprobs: Float32Array;
}

export interface Policy {
  /** Answers in the order of the items. */
  answer(items: PolicyItem[], settings: PolicySettings): Promise<Answer[]>;
}

/** An answer's generated part as it is stored. */
export function answerFields({ text, tokens, logprobs, stopReason }: Answer) {
  return { text, tokens: [...tokens], logprobs: [...logprobs], stop_reason: stopReason };
}
