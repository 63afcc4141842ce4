/** Rows in another shape, under the keys by which other software knows it. */

import { functionOf, type ChatMessage } from "../contract/chat.ts";
import type { DataRow } from "../contract/data.ts";
import { badRow } from "./read-messages.ts";
import { answerStart, promptOf } from "./row-keys.ts";

export const exportShapes = ["messages", "completion", "prompt", "text", "preference", "alpaca", "sharegpt"] as const;
export type ExportShape = (typeof exportShapes)[number];

type Row = Record<string, unknown>;

/**
 * The row under the keys of a shape (default: its own), with all its other columns. Of a preference the better answer is
 * kept where there is room for one. Throws `bad-row` where the row cannot have that shape.
 */
export function toShape(row: DataRow, shape?: ExportShape): Row {
  const body = shape === undefined ? ownKeys(row) : otherKeys(row, shape);
  const tools = row.tools === undefined ? {} : { tools: shape === "sharegpt" ? JSON.stringify(row.tools) : row.tools };
  return { ...body, ...tools, ...row.columns };
}

function ownKeys(row: DataRow): Row {
  switch (row.shape) {
    case "messages":
      return { messages: row.messages };
    case "text":
      return { text: row.text };
    case "tokens":
      return { tokens: row.tokens, loss_mask: row.loss_mask };
    case "prompt":
      return { prompt: asText(row.prompt, "user") };
    case "completion":
      return { prompt: asText(row.prompt, "user"), completion: asText(row.completion, "assistant") };
    case "label":
      return { ...ownKeys({ ...row, shape: "completion" }), label: row.label };
    case "preference":
      return {
        prompt: asText(row.prompt, "user"),
        chosen: asText(row.chosen, "assistant"),
        rejected: asText(row.rejected, "assistant"),
      };
  }
}

function otherKeys(row: DataRow, shape: ExportShape): Row {
  switch (shape) {
    case "messages":
      return { messages: conversation(row, shape) };
    case "completion": {
      const { prompt, answer } = asked(row, shape);
      return { prompt: asText(prompt, "user"), completion: asText(answer, "assistant") };
    }
    case "prompt": {
      const prompt = promptOf(row);
      if (prompt === undefined || prompt.length === 0) throw cannot(row, shape);
      return { prompt: asText(prompt, "user") };
    }
    case "text":
    case "preference":
      if (row.shape !== shape) throw cannot(row, shape);
      return ownKeys(row);
    case "alpaca": {
      const { prompt, answer } = asked(row, shape);
      const system = prompt[0]?.role === "system" ? prompt[0].content : undefined;
      const [instruction, output] = [asText(prompt.slice(system == null ? 0 : 1), "user"), asText(answer, "assistant")];
      if (typeof instruction !== "string" || typeof output !== "string") throw cannot(row, shape);
      return { ...(system != null && { system }), instruction, input: "", output };
    }
    case "sharegpt":
      return { conversations: conversation(row, shape).flatMap(turns) };
  }
}

function conversation(row: DataRow, shape: ExportShape): ChatMessage[] {
  if (row.shape === "messages") return row.messages;
  const { prompt, answer } = asked(row, shape);
  return [...prompt, ...answer];
}

/** A prompt and its answer: of a conversation the last one. */
function asked(row: DataRow, shape: ExportShape): { prompt: ChatMessage[]; answer: ChatMessage[] } {
  switch (row.shape) {
    case "completion":
      return { prompt: row.prompt, answer: row.completion };
    case "preference":
      return { prompt: row.prompt, answer: row.chosen };
    case "label":
      if (!row.label) throw badRow("label is false: this answer is not one to learn from");
      return { prompt: row.prompt, answer: row.completion };
    case "messages": {
      const start = answerStart(row.messages);
      if (start === 0) throw badRow("messages begin with an answer, so there is no prompt to put apart");
      return { prompt: row.messages.slice(0, start), answer: row.messages.slice(start) };
    }
    default:
      throw cannot(row, shape);
  }
}

function cannot(row: DataRow, shape: ExportShape): Error {
  return badRow(`a ${row.shape} row cannot be written as ${shape}; choose another --shape, or none`);
}

/** One message of nothing but text as that text. */
function asText(messages: readonly ChatMessage[], role: string): string | readonly ChatMessage[] {
  const [only] = messages;
  const isText = messages.length === 1 && only.role === role && typeof only.content === "string";
  return isText && Object.keys(only).length === 2 ? (only.content as string) : messages;
}

const shareGptRoles: Record<string, string> = { user: "human", assistant: "gpt", tool: "observation" };

function turns(message: ChatMessage): { from: string; value: string }[] {
  const calls = message.tool_calls ?? [];
  const text = typeof message.content === "string" ? message.content : "";
  const said = { from: shareGptRoles[message.role] ?? message.role, value: text };
  if (calls.length === 0) return [said];
  const functions = calls.map(functionOf);
  const value = JSON.stringify(functions.length === 1 ? functions[0] : functions);
  return [...(text === "" ? [] : [said]), { from: "function_call", value }];
}
