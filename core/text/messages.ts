/** Chat messages and tools as OpenAI's API and Hugging Face's chat templates have them. */

import type { ChatMessage, FunctionCall, ToolCallMessage } from "../contract/chat.ts";
import { HoneError } from "../contract/errors.ts";
import { isRecord } from "../contract/is-record.ts";

/** A message as templates expect it: content is one text, arguments are objects, absent things are absent. */
export interface TemplateMessage {
  role: string;
  content: string;
  reasoning_content?: string;
  tool_calls?: { id?: string; type: "function"; function: { name: string; arguments: Record<string, unknown> } }[];
  tool_call_id?: string;
  name?: string;
}

/** Checks and evens out messages. Throws `HoneError` `bad-messages`, naming the message. */
export function templateMessages(messages: readonly ChatMessage[]): TemplateMessage[] {
  if (messages.length === 0) throw new HoneError("bad-messages", "There is no message");
  return messages.map((message, i) => {
    const bad = (what: string) => new HoneError("bad-messages", `Message ${i + 1} (${String(message.role)}): ${what}`);
    if (typeof message.role !== "string" || message.role === "") {
      throw new HoneError("bad-messages", `Message ${i + 1} has no role`);
    }
    const calls = message.tool_calls ?? [];
    if (message.content == null && calls.length === 0 && message.reasoning_content == null) throw bad("no content");
    return {
      role: message.role,
      content: contentText(message.content, bad),
      ...(message.reasoning_content == null ? {} : { reasoning_content: message.reasoning_content }),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => templateCall(call, bad)) }),
      ...(message.tool_call_id === undefined ? {} : { tool_call_id: message.tool_call_id }),
      ...(message.name === undefined ? {} : { name: message.name }),
    };
  });
}

function contentText(content: ChatMessage["content"], bad: (what: string) => HoneError): string {
  if (content == null) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw bad("content is neither text nor a list of parts");
  return content
    .map((part: { type: string; text?: string }) => {
      if (part.type !== "text" || typeof part.text !== "string")
        throw bad(`a ${part.type} part; only text is supported`);
      return part.text;
    })
    .join("");
}

function templateCall(
  call: ToolCallMessage | FunctionCall,
  bad: (what: string) => HoneError,
): NonNullable<TemplateMessage["tool_calls"]>[number] {
  const { name, arguments: given } = "function" in call ? call.function : call;
  if (typeof name !== "string" || name === "") throw bad("a tool call without a name");
  let value: unknown = given;
  if (typeof given === "string") {
    try {
      value = JSON.parse(given);
    } catch (cause) {
      throw new HoneError("bad-messages", bad(`the arguments of ${name} are not valid JSON`).message, { cause });
    }
  }
  if (!isRecord(value)) throw bad(`the arguments of ${name} are not a JSON object`);
  const id = "function" in call ? call.id : undefined;
  return { ...(id === undefined ? {} : { id }), type: "function", function: { name, arguments: value } };
}
