/** Rows of a user's data as Hone understands them, whatever file and shape they came from. */

import type { ChatMessage, ToolDefinition } from "./chat.ts";

/** What a row is for, told by its exact keys. */
export const dataShapes = {
  messages: "a conversation",
  completion: "a prompt and its answer",
  text: "plain text",
  prompt: "a prompt, with columns for a reward",
  preference: "a prompt with a better and a worse answer",
  tokens: "token ids with a loss mask",
  label: "a prompt, an answer and whether it was good",
} as const;
export type DataShape = keyof typeof dataShapes;

/** How the rows are stored. `dataset`: one of Hone's own, with its history. */
export const dataFormats = ["jsonl", "json", "csv", "tsv", "parquet", "text", "dataset"] as const;
export type DataFormat = (typeof dataFormats)[number];

/** Where a row stands: `row` counts records from 1, `line` physical lines from 1 (in Parquet both are the record). */
export interface RowPlace {
  row: number;
  line: number;
}

interface RowBase {
  place: RowPlace;
  /** Every column that the shape does not use, as it stands in the file: what a reward may look at. */
  columns: Record<string, unknown>;
  tools?: ToolDefinition[];
}

export type DataRow = RowBase &
  (
    | { shape: "messages"; messages: ChatMessage[] }
    | { shape: "completion"; prompt: ChatMessage[]; completion: ChatMessage[] }
    | { shape: "text"; text: string }
    | { shape: "prompt"; prompt: ChatMessage[] }
    | { shape: "preference"; prompt: ChatMessage[]; chosen: ChatMessage[]; rejected: ChatMessage[] }
    | { shape: "tokens"; tokens: number[]; loss_mask: number[] }
    /** KTO's shape: recognised, no method trains on it yet. */
    | { shape: "label"; prompt: ChatMessage[]; completion: ChatMessage[]; label: boolean }
  );

/** A row that nothing can be done with. The reason names the field and the way out. */
export interface SetAsideRow {
  place: RowPlace;
  reason: string;
}

export type DataEntry = DataRow | SetAsideRow;

export function isSetAside(entry: DataEntry): entry is SetAsideRow {
  return "reason" in entry;
}
