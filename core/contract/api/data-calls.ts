/**
 * Calls about rows to train on. A dataset is called by its name; a file by its path, until it is imported. Every change
 * names the point of the history that the person was looking at, and is refused (`dataset-changed`) when there is a newer
 * one. Calls that read everything tell their progress on the topic `stream` as `DataProgress`.
 */

import { z } from "zod";
import type { ChatMessage, ToolDefinition } from "../chat.ts";
import { lossMasks } from "../config.ts";
import type { DatasetSummary, DataStats, HistoryEntry, RowChange, TokenView } from "../data-json.ts";
import type { DataFormat, DataShape } from "../data.ts";
import { call } from "./call.ts";

type Row = Record<string, unknown>;

const name = z.string().min(1);
const point = z.number().int().min(0);
const row = z.number().int().min(1);
const record = z.record(z.string(), z.unknown());
const map = z.record(z.string(), z.string()).default({});
/** Key of the topic `stream` on which progress is told; null: nobody listens. */
const stream = z.string().nullable().default(null);

export interface DataProgress {
  /** Rows. */
  done: number;
  total: number;
}

/** Of Hone's own examples of what a training method takes: `sft`, `dpo`, `grpo`. */
export type DataMethod = "sft" | "dpo" | "grpo";

export interface ListedDataset extends DatasetSummary {
  /** On disk, with the history. */
  bytes: number;
  /** That of most rows. */
  shape: DataShape | null;
  /** What can train on it, the usual one first. */
  methods: DataMethod[];
}

/** A row that could not be read, in its parts. */
export interface SetAsideView {
  line: number;
  row: number;
  /** The field that is wrong, where one is. */
  field: string | null;
  what: string;
  fix: string | null;
  /** The row as it stands in the file, where it could be read at all. */
  record: Row | null;
}

/** What a row looks like in a list: texts are cut. */
export interface RowPreview {
  row: number;
  /** Column → the beginning of what it holds. */
  cells: Record<string, CellPreview>;
}

export interface CellPreview {
  kind: "text" | "messages" | "value";
  text: string;
  /** There is more of it. */
  cut: boolean;
}

/** A file before it is imported. */
export interface DataInspection {
  path: string;
  size: number;
  format: DataFormat;
  /** Records, good and bad. */
  rows: number;
  shape: DataShape | null;
  methods: DataMethod[];
  columns: string[];
  /** Field → column, as rows are read now. */
  mapping: Record<string, string>;
  /** The same for columns that are usually so called; null where nothing fits. */
  suggestion: Record<string, string> | null;
  warnings: string[];
  /** The first rows, as they stand in the file. */
  head: RowPreview[];
  /** Of the file: when it is another at the import, the file has changed. */
  version: string;
  /** A name that is free. */
  name: string;
}

/** All rows of a file, read once. */
export interface DataCheck {
  ok: number;
  set_aside_count: number;
  /** The first thousand. */
  set_aside: SetAsideView[];
  shapes: Partial<Record<DataShape, number>>;
  warnings: string[];
}

export interface DatasetView extends DatasetSummary {
  shape: DataShape | null;
  methods: DataMethod[];
  columns: string[];
  mapping: Record<string, string>;
  warnings: string[];
  /** What undo and redo would do; null where there is nothing. */
  undo: string | null;
  redo: string | null;
}

export interface RowPage {
  /** The point at which these are the rows. */
  point: number;
  /** Rows that the filter leaves. */
  total: number;
  rows: RowPreview[];
}

export interface RowView {
  point: number;
  row: number;
  record: Row;
  shape: DataShape | null;
  /** What the model is asked; null where the row has no prompt. */
  prompt: ChatMessage[] | null;
  /** What the model can call in it. */
  tools: ToolDefinition[];
}

/** After a change: where the history is now. */
export interface DatasetChange {
  point: number;
  rows: number;
  note: string;
  /** The row that was changed or added, for going there; null where there are none or many. */
  row: number | null;
}

export interface HistoryLine extends Omit<HistoryEntry, "changes"> {
  rows: number;
}

export const rowFilter = z.object({
  /** In any column, or in one; case does not count. */
  text: z.string().default(""),
  column: z.string().nullable().default(null),
  /** Only these; null: all. */
  rows: z.array(row).max(20_000).nullable().default(null),
});
export type RowFilter = z.output<typeof rowFilter>;

const modelTokens = { model: z.string().min(1), loss_mask: z.enum(lossMasks).nullable().default(null) };

export const dataCalls = {
  "data.list": call<{ datasets: ListedDataset[]; damaged: { name: string; path: string; why: string }[] }>()(
    z.object({}),
  ),
  /** Looks at a file without copying anything. */
  "data.inspect": call<DataInspection>()(z.object({ path: z.string().min(1), map })),
  /** Reads every row of a file. */
  "data.check": call<DataCheck>()(z.object({ path: z.string().min(1), map, stream })),
  /** Keeps pasted text as a file, and answers with its path. */
  "data.paste": call<{ path: string }>()(z.object({ text: z.string().min(1).max(16_000_000) })),
  /** Copies the good rows of a file into a new dataset, if the file is still what was inspected (`file-changed`). */
  "data.import": call<DatasetSummary>()(
    z.object({ path: z.string().min(1), map, name: z.string().trim().min(1), version: z.string(), stream }),
  ),
  "data.open": call<DatasetView>()(z.object({ name })),
  /** A window of the rows, `from` counted from 0 among those that the filter leaves. */
  "data.rows": call<RowPage>()(
    z.object({
      name,
      filter: rowFilter.nullable().default(null),
      from: z.number().int().min(0),
      limit: z.number().int().min(1).max(500),
    }),
  ),
  "data.row": call<RowView>()(z.object({ name, row })),
  /** Puts another record in a row's place. Throws `bad-row`. */
  "data.edit": call<DatasetChange>()(z.object({ name, point, row, record })),
  /** New rows behind the last one. Throws `bad-row`. */
  "data.add": call<DatasetChange>()(z.object({ name, point, records: z.array(record).min(1) })),
  "data.delete_rows": call<DatasetChange>()(z.object({ name, point, rows: z.array(row).min(1) })),
  "data.undo": call<DatasetChange>()(z.object({ name, point })),
  "data.redo": call<DatasetChange>()(z.object({ name, point })),
  /** Makes the rows what they were at the point `to`. */
  "data.restore": call<DatasetChange>()(z.object({ name, point, to: point })),
  /** Newest first. */
  "data.history": call<{ point: number; entries: HistoryLine[] }>()(z.object({ name })),
  /** Rows that differ between two points; the first `limit` of them. */
  "data.diff": call<{ total: number; changes: RowChange[] }>()(
    z.object({ name, from: point, to: point, limit: z.number().int().min(1).max(200).default(50) }),
  ),
  /** What could not be imported; the first thousand. */
  "data.set_aside": call<{ total: number; entries: SetAsideView[] }>()(z.object({ name })),
  /** A row as the exact tokens that training sees. */
  "data.tokens": call<TokenView>()(z.object({ name, row, ...modelTokens })),
  /** In tokens with a model, otherwise in characters. `against`: a dataset or file whose prompts must not be in this one. */
  "data.stats": call<DataStats>()(
    z.object({
      name,
      ...modelTokens,
      model: z.string().min(1).nullable().default(null),
      against: z.string().nullable().default(null),
      stream,
    }),
  ),
  /** Deletes all but the first of each group of rows that say the same; `near`: also those that nearly do. */
  "data.dedupe": call<DatasetChange & { deleted: number }>()(
    z.object({ name, point, near: z.boolean().default(false), stream }),
  ),
  /** Divides into new datasets NAME-train, NAME-valid and NAME-test, rows with the same prompt together. */
  "data.split": call<{ parts: DatasetSummary[]; groups: number }>()(
    z.object({
      name,
      validation: z.number().min(0).max(1).default(0.1),
      test: z.number().min(0).max(1).default(0.1),
      seed: z.number().int().min(0).default(42),
      /** Column whose equal values stay together. */
      group: z.string().nullable().default(null),
      stream,
    }),
  ),
  "data.export": call<{ path: string; rows: number; set_aside: SetAsideView[]; set_aside_count: number }>()(
    z.object({
      name,
      path: z.string().min(1),
      format: z.enum(["jsonl", "json", "csv", "parquet"]),
      /** Null: each row's own. */
      shape: z
        .enum(["messages", "completion", "prompt", "text", "preference", "alpaca", "sharegpt"])
        .nullable()
        .default(null),
      stream,
    }),
  ),
  /** Removes a dataset with its history, for good. */
  "data.delete": call<{ freed: number }>()(z.object({ name })),
};
