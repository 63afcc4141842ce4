/**
 * Rewards: what one sample looks like to a reward, what a reward answers, the JSON lines that programs exchange with it,
 * and the reward file. Field names are those of the wire, so a reward reads the same in TypeScript, Python and JSON.
 */

import { z } from "zod";
import type { ChatMessage } from "./chat.ts";

/** One named part of a reward. The reward is the sum of weight × value over all parts. */
export interface RewardPart {
  name: string;
  weight: number;
  /** What is paid for, with the range of the value. */
  description: string;
}

const messageSchema: z.ZodType<ChatMessage> = z.looseObject({ role: z.string() }) as unknown as z.ZodType<ChatMessage>;

/** One answer of a model, with everything that it can be judged by. */
export const rewardSampleSchema = z.object({
  /** What the model saw first. */
  prompt: z.array(messageSchema),
  /** What the model wrote, as it wrote it, reasoning and tool calls included. Of several turns, the last. */
  completion: z.string(),
  /** `completion` without reasoning and without the calls that count. */
  answer: z.string(),
  /** What the model thought; empty when it did not. */
  reasoning: z.string(),
  /** The whole conversation: prompt, every answer, every tool result. */
  messages: z.array(messageSchema),
  /** Calls that count, of all turns in order; `result` is what the tool answered. */
  tool_calls: z.array(
    z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()), result: z.string().optional() }),
  ),
  /** What was wrong with the form of the answer: `no_call`, `malformed`, `bad_argument`, … */
  problems: z.array(z.object({ code: z.string(), message: z.string() })),
  /** `eos`, `length`, `tool_call`, `max_turns`, … */
  stop_reason: z.string(),
  /** Ids behind the prompt, as they were drawn. */
  completion_ids: z.array(z.number().int()),
  /** Natural logs at temperature 1, one per id. */
  logprobs: z.array(z.number()),
  /** One per id: 1 where the model wrote it, 0 for tool results. */
  loss_mask: z.array(z.number().int().min(0).max(1)),
  row_id: z.string(),
  /** The columns of the source row. */
  row: z.record(z.string(), z.unknown()),
  /** Prompt of the step, and answer within its group. */
  prompt_index: z.number().int(),
  sample_index: z.number().int(),
});
export type RewardSample = z.infer<typeof rewardSampleSchema>;

/** What a reward makes of a sample. */
export interface RewardResult {
  reward: number;
  /** Value of every part, before its weight. */
  parts: Record<string, number>;
  /** What a reward adds for people: console lines, a judge's words. */
  info?: Record<string, unknown>;
}
