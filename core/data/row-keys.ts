/** By what rows are the same: a short hash of what they say, with case and white space evened out. */

import { createHash } from "node:crypto";
import { messageText, functionOf, type ChatMessage } from "../contract/chat.ts";
import type { DataRow } from "../contract/data.ts";

/** What the assistant is asked, as messages; undefined for plain text and ids. */
export function promptOf(row: DataRow): ChatMessage[] | undefined {
  switch (row.shape) {
    case "text":
    case "tokens":
      return undefined;
    case "messages":
      return row.messages.slice(0, answerStart(row.messages));
    default:
      return row.prompt;
  }
}

/** Every message of a row; of a preference both answers. */
export function messagesOf(row: DataRow): readonly ChatMessage[] {
  switch (row.shape) {
    case "text":
    case "tokens":
      return [];
    case "messages":
      return row.messages;
    case "prompt":
      return row.prompt;
    case "completion":
    case "label":
      return [...row.prompt, ...row.completion];
    case "preference":
      return [...row.prompt, ...row.chosen, ...row.rejected];
  }
}

/** Index of the first message of the last answer: everything behind the last user message before it. */
export function answerStart(messages: readonly ChatMessage[]): number {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const asked = messages.findLastIndex(({ role }, i) => role === "user" && i < last);
  return asked < 0 ? messages.findIndex(({ role }) => role === "assistant") : asked + 1;
}

/** Rows with equal keys ask the same. */
export function promptKey(row: DataRow): string {
  const prompt = promptOf(row);
  return prompt === undefined ? contentKey(row) : hash(prompt.map(said));
}

/** Rows with equal keys say the same; other columns do not count. */
export function contentKey(row: DataRow): string {
  return hash(saidParts(row));
}

/** All that a row says, for measuring and comparing. */
export function rowText(row: DataRow): string {
  return saidParts(row).join("\n");
}

function saidParts(row: DataRow): string[] {
  switch (row.shape) {
    case "text":
      return [row.text];
    case "tokens":
      return [row.tokens.join(" "), row.loss_mask.join(" ")];
    case "messages":
      return row.messages.map(said);
    case "prompt":
      return row.prompt.map(said);
    case "completion":
      return [...row.prompt, ...row.completion].map(said);
    case "label":
      return [...[...row.prompt, ...row.completion].map(said), String(row.label)];
    case "preference":
      return [...row.prompt.map(said), ...row.chosen.map(said), "rejected:", ...row.rejected.map(said)];
  }
}

function said(message: ChatMessage): string {
  const calls = (message.tool_calls ?? []).map((call) => JSON.stringify(functionOf(call)));
  return [`${message.role}:`, message.reasoning_content ?? "", messageText(message), ...calls].join(" ");
}

function hash(parts: readonly string[]): string {
  const even = parts.map((part) => part.toLowerCase().replace(/\s+/gu, " ").trim());
  return createHash("sha256").update(JSON.stringify(even)).digest("base64url").slice(0, 16);
}
