/** Conversations and tools as OpenAI's API and Hugging Face's chat templates have them. */

import { z } from "zod";

export interface FunctionCall {
  name: string;
  /** A JSON object, or its text as OpenAI's API sends it. */
  arguments: Record<string, unknown> | string;
}

export interface ToolCallMessage {
  id?: string;
  type?: "function";
  function: FunctionCall;
}

export interface ChatMessage {
  role: string;
  /** Text, or OpenAI's list of text parts; null or absent beside tool calls. */
  content?: string | readonly { type: string; text?: string }[] | null;
  /** What the model thought before it answered. */
  reasoning_content?: string | null;
  tool_calls?: readonly (ToolCallMessage | FunctionCall)[] | null;
  tool_call_id?: string;
  name?: string;
}

/** Messages from outside: whoever uses them checks the rest, and names the message. */
export const chatMessageSchema = z.looseObject({ role: z.string() }) as unknown as z.ZodType<ChatMessage>;

/** The call itself, in whichever of the two ways it is written. */
export function functionOf(call: ToolCallMessage | FunctionCall): FunctionCall {
  return "function" in call ? call.function : call;
}

export interface ToolDefinition {
  type: "function";
  function: {
    name: string;
    description?: string;
    /** JSON Schema of the arguments object. Absent: no arguments. */
    parameters?: Record<string, unknown>;
  };
}

export const toolSchema = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({
    name: z.string().min(1),
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
  }),
}) as unknown as z.ZodType<ToolDefinition>;

/** What a message says; parts that are no text are left out. */
export function messageText({ content }: Pick<ChatMessage, "content">): string {
  if (content == null) return "";
  return typeof content === "string" ? content : content.map(({ text = "" }) => text).join("");
}
