/** What the evaluation and the training loop see of a model: chat messages in, answers out. */

import type { ChatMessage, ToolDefinition } from "../contract/chat.ts";
import type { TokenEvent } from "../engine/types.ts";
import type { Action } from "../tasks/task.ts";

export interface PolicyItem {
  messages: readonly ChatMessage[];
  tools: readonly ToolDefinition[];
  /** The tool that the answer must call, when the task forces one. */
  toolChoice?: string;
  /** Several calls in one answer count, each on its own merits. Default false: then none of them does. */
  parallelCalls?: boolean;
  /** The messages as token ids, where they have been rendered before. */
  promptTokens?: Int32Array;
  /** 0 … 2^31 − 1. An item's answer depends on it, not on what else is in the batch. */
  seed: number;
}

export interface PolicySettings {
  /** 0 is greedy. */
  temperature: number;
  /** New tokens. */
  maxTokens: number;
  /** Prompt and new tokens together. Default: as many as the model was made for. */
  maxLength?: number;
  topP?: number;
  topK?: number;
  minP?: number;
  signal?: AbortSignal;
  /** Every token as it is drawn, for who watches. */
  onToken?: (event: TokenEvent) => void;
}

export interface Answer extends Action {
  /** Ids of the prompt as the model got it. */
  promptTokens: Int32Array;
  /** Ids as they were drawn, the end token included. */
  tokens: Int32Array;
  /** Natural logs at temperature 1, one per token. */
  logprobs: Float32Array;
  /** Tokens among them that were thinking. Absent when nothing is known of it. */
  thinkingTokens?: number;
}

/** Tokens of a prompt, and how many prompt and answer together may have: an answer needs more than the prompt takes. */
export interface PromptRoom {
  tokens: number;
  limit: number;
  /** The prompt itself, where it had to be rendered to be counted. */
  promptTokens?: Int32Array;
}

export interface Policy {
  /** What a prompt takes of the room that there is. A policy without it takes any. */
  promptRoom?(item: Omit<PolicyItem, "seed">, settings: Pick<PolicySettings, "maxLength">): PromptRoom;
  /** Answers in the order of the items. Throws `prompt-too-long` when a prompt leaves no room for an answer. */
  answer(items: PolicyItem[], settings: PolicySettings): Promise<Answer[]>;
  /**
   * `n` answers to one prompt, each there as soon as it ends; answer i depends on the item's seed and i only. A policy
   * without it is asked for one answer at a time.
   */
  answerGroup?(item: PolicyItem, n: number, settings: PolicySettings): Promise<Answer>[];
}

/** An answer's generated part as it is stored. */
export function answerFields({ text, tokens, logprobs, stopReason }: Answer) {
  return { text, tokens: [...tokens], logprobs: [...logprobs], stop_reason: stopReason };
}
