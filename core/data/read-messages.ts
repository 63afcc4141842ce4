/** Conversations and tools as users' files have them, into those of the contract. */

import type { ChatMessage, ToolCallMessage, ToolDefinition } from "../contract/chat.ts";
import { HoneError } from "../contract/errors.ts";
import { isRecord } from "../contract/is-record.ts";
import { parseJson, pathName } from "./parse-json.ts";

/** Something that a person should know about a row that is used all the same. */
export type Note = (text: string) => void;

/** `reason` names the field and the way out. */
export function badRow(reason: string): HoneError {
  return new HoneError("bad-row", reason);
}

const roles: Record<string, string> = {
  system: "system",
  developer: "system",
  user: "user",
  human: "user",
  prompter: "user",
  assistant: "assistant",
  gpt: "assistant",
  chatgpt: "assistant",
  bot: "assistant",
  ai: "assistant",
  model: "assistant",
  function_call: "assistant",
  tool_call: "assistant",
  tool: "tool",
  function: "tool",
  observation: "tool",
  tool_response: "tool",
  function_response: "tool",
  ipython: "tool",
};

const usedKeys = new Set([
  ...["role", "content", "from", "value", "name", "tool_calls", "function_call", "tool_call_id"],
  ...["reasoning_content", "reasoning", "thinking"],
]);

/** What a value is, in words. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "missing";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : typeof value === "string" ? "text" : `a ${typeof value}`;
}

/** A list that may stand as JSON text, as it must in a cell of CSV. */
export function readList(value: unknown, field: string): unknown[] {
  const read = typeof value === "string" ? readJsonText(value, field) : value;
  if (Array.isArray(read)) return read;
  throw badRow(`${field} is ${kindOf(read)}; it must be a list`);
}

/** The value of JSON text in a field. No number in it may be one that would be changed. */
function readJsonText(text: string, field: string): unknown {
  const parsed = parseJson(text.trim());
  if ("fault" in parsed) throw badRow(`${field}: its JSON text: ${parsed.fault}`);
  const [big] = parsed.bigIntegers;
  if (big !== undefined) throw tooBig(`${field}: ${pathName(big.path)}`, big.digits);
  return parsed.value;
}

export function tooBig(place: string, digits: string): HoneError {
  return badRow(`${place}: ${digits} is beyond 2^53 and would be rounded; write it as text in quotes`);
}

/** Messages with `role` and `content`, or ShareGPT's `from` and `value`. Throws `bad-row`. */
export function readMessages(value: unknown, field: string, note: Note): ChatMessage[] {
  const list = readList(value, field);
  if (list.length === 0) throw badRow(`${field} is empty; it needs at least one message`);
  return list.map((message, i) => readMessage(message, `${field}[${i}]`, note));
}

function readMessage(given: unknown, place: string, note: Note): ChatMessage {
  if (!isRecord(given)) throw badRow(`${place} is ${kindOf(given)}; a message is {"role": …, "content": …}`);
  const [roleKey, contentKey] =
    given["role"] == null && given["from"] != null ? ["from", "value"] : ["role", "content"];
  const spelled = given[roleKey];
  if (typeof spelled !== "string") {
    throw badRow(`${place}.${roleKey} is ${kindOf(spelled)}; it must be system, user, assistant or tool`);
  }
  const role = Object.hasOwn(roles, spelled.trim().toLowerCase()) ? roles[spelled.trim().toLowerCase()] : undefined;
  if (role === undefined) {
    throw badRow(`${place}.${roleKey} is ${JSON.stringify(spelled)}; use system, user, assistant or tool`);
  }
  if (role !== spelled && roleKey === "role") note(`the role ${JSON.stringify(spelled)} is read as ${role}`);
  for (const key of Object.keys(given)) {
    if (!usedKeys.has(key) && given[key] != null) note(`the key ${JSON.stringify(key)} of messages is not used`);
  }

  const content = readContent(given[contentKey], `${place}.${contentKey}`);
  const reasoning = given["reasoning_content"] ?? given["reasoning"] ?? given["thinking"];
  if (reasoning != null && typeof reasoning !== "string") {
    throw badRow(`${place}: what was thought is ${kindOf(reasoning)}; it must be text`);
  }
  const isCall = spelled === "function_call" || spelled === "tool_call";
  const calls = isCall
    ? readCalls(content, `${place}.${contentKey}`)
    : role === "assistant"
      ? readCalls(given["tool_calls"] ?? given["function_call"], `${place}.tool_calls`)
      : [];
  if (content === undefined && role !== "tool" && calls.length === 0 && reasoning == null) {
    throw badRow(`${place}.${contentKey} is missing; only a message with tool_calls may lack it`);
  }
  return {
    role,
    content: isCall ? null : (content ?? (role === "tool" ? "" : null)),
    ...(reasoning != null && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...optionalText(given, "tool_call_id", place),
    ...optionalText(given, "name", place),
  };
}

function optionalText(given: Record<string, unknown>, key: string, place: string): Record<string, string> {
  const value = given[key];
  if (value == null) return {};
  if (typeof value === "string") return { [key]: value };
  throw badRow(`${place}.${key} is ${kindOf(value)}; it must be text`);
}

/** Text, or a list of text parts. */
function readContent(value: unknown, place: string): string | undefined {
  if (value == null) return undefined;
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) throw badRow(`${place} is ${kindOf(value)}; it must be text`);
  return value
    .map((part: unknown, i) => {
      if (typeof part === "string") return part;
      if (isRecord(part) && typeof part["text"] === "string" && (part["type"] ?? "text") === "text")
        return part["text"];
      const what = isRecord(part) && typeof part["type"] === "string" ? `a part of type ${part["type"]}` : kindOf(part);
      throw badRow(`${place}[${i}] is ${what}; only text parts {"type": "text", "text": …} can be used`);
    })
    .join("");
}

/** Calls as OpenAI has them, bare `{name, arguments}`, a single one, or any of these as JSON text. */
function readCalls(given: unknown, place: string): ToolCallMessage[] {
  if (given == null) return [];
  const value = typeof given === "string" ? readJsonText(given, place) : given;
  const list = Array.isArray(value) ? value : [value];
  return list.map((call: unknown, i) => {
    const at = Array.isArray(value) ? `${place}[${i}]` : place;
    const inner = isRecord(call) && isRecord(call["function"]) ? call["function"] : call;
    if (!isRecord(inner) || !isRecord(call))
      throw badRow(`${at} is ${kindOf(inner)}; a call is {"name": …, "arguments": …}`);
    if (typeof inner["name"] !== "string" || inner["name"] === "") throw badRow(`${at}.name is missing; name the tool`);
    const args = inner["arguments"] ?? {};
    const read = typeof args === "string" ? readJsonText(args === "" ? "{}" : args, `${at}.arguments`) : args;
    if (!isRecord(read)) throw badRow(`${at}.arguments is ${kindOf(read)}; it must be an object, or its JSON text`);
    const id = call["id"];
    return {
      ...(typeof id === "string" && { id }),
      type: "function",
      function: { name: inner["name"], arguments: read },
    };
  });
}

/** Tools as OpenAI has them, bare `{name, description, parameters}`, or JSON text. Throws `bad-row`. */
export function readTools(given: unknown, field: string): ToolDefinition[] {
  if (typeof given === "string" && given.trim() === "") return [];
  return readList(given, field).map((item, i) => {
    const tool = typeof item === "string" ? readJsonText(item, `${field}[${i}]`) : item;
    const inner = isRecord(tool) && isRecord(tool["function"]) ? tool["function"] : tool;
    if (!isRecord(inner) || typeof inner["name"] !== "string" || inner["name"] === "") {
      throw badRow(
        `${field}[${i}] has no name; a tool is {"type": "function", "function": {"name": …, "parameters": …}}`,
      );
    }
    const { description, parameters } = inner;
    if (description != null && typeof description !== "string") {
      throw badRow(`${field}[${i}].description is ${kindOf(description)}; it must be text`);
    }
    const schema = typeof parameters === "string" ? readJsonText(parameters, `${field}[${i}].parameters`) : parameters;
    if (schema != null && !isRecord(schema)) {
      throw badRow(`${field}[${i}].parameters is ${kindOf(schema)}; it must be a JSON schema`);
    }
    return {
      type: "function",
      function: {
        name: inner["name"],
        ...(description != null && { description }),
        ...(schema != null && { parameters: schema }),
      },
    };
  });
}

/** Checks the order of a whole conversation, or of a prompt. Throws `bad-row`. */
export function requireOrder(messages: readonly ChatMessage[], field: string): void {
  messages.forEach(({ role }, i) => {
    const before = messages[i - 1];
    if (role === "system" && i > 0) throw badRow(`${field}[${i}] is a system message; move it to the beginning`);
    if (role === "tool" && before?.role !== "tool" && (before?.tool_calls ?? []).length === 0) {
      throw badRow(
        `${field}[${i}] is a tool's result, but no message before it calls a tool; give that its tool_calls`,
      );
    }
  });
}
