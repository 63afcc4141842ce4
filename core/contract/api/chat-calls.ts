/** Calls of the Chat page: any model, streamed; answers kept as rows and pairs. */

import { z } from "zod";
import { chatMessageSchema, toolSchema, type ChatMessage } from "../chat.ts";
import { call } from "./call.ts";
import type { DrawnToken } from "./play-calls.ts";

const messages = z.array(chatMessageSchema).min(1);
const tools = z.array(toolSchema).default([]);
const dataset = z.string().trim().min(1);

export interface ChatModel {
  model: string;
  parameters: number;
  context_length: number;
  /** The chat template has a switch for thinking. */
  can_switch_thinking: boolean;
}

export interface ChatReply {
  /** The answer as the conversation goes on with it. */
  message: ChatMessage;
  /** Exactly as written. */
  text: string;
  /** What was wrong with tool calls in it. */
  problems: string[];
  /** `length`: cut by the limit of tokens. `stopped`: by the person; the message is what was there. */
  finish_reason: "stop" | "length" | "tool_calls" | "stopped";
  prompt_tokens: number;
  completion_tokens: number;
  context_length: number;
  /** Until the first token, and in all. */
  first_token_seconds: number;
  seconds: number;
  tokens: DrawnToken[];
}

export const chatCalls = {
  "chat.model": call<ChatModel>()(z.object({ model: z.string().min(1) })),
  /**
   * The next answer. Told on the topic `stream` with the key `stream` while it is written, as `AnswerSoFar`. Cancelled, it
   * answers with what was there (`stopped`).
   */
  "chat.answer": call<ChatReply>()(
    z.object({
      model: z.string().min(1),
      messages,
      tools,
      /** 0 is greedy. */
      temperature: z.number().min(0).max(5).default(0.7),
      top_p: z.number().gt(0).max(1).default(1),
      top_k: z.number().int().min(0).default(0),
      max_tokens: z.number().int().min(1).default(1024),
      seed: z.number().int().min(0).default(42),
      /** Null: as the template does by itself. */
      thinking: z.boolean().nullable().default(null),
      stream: z.string().nullable().default(null),
    }),
  ),
  /** Adds an answer with everything before it as a row for SFT. */
  "chat.keep": call<{ dataset: string; rows: number }>()(
    z.object({ dataset, prompt: messages, answer: chatMessageSchema, tools }),
  ),
  /** Adds two answers to the same prompt as a pair for DPO. */
  "chat.rate": call<{ dataset: string; rows: number }>()(
    z.object({ dataset, prompt: messages, chosen: chatMessageSchema, rejected: chatMessageSchema, tools }),
  ),
};
