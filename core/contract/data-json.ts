/** What the commands of `hone data` print with `--json`: one document per command, in these shapes. */

import { z } from "zod";
import { dataFormats, dataShapes, type DataShape } from "./data.ts";

const count = z.number().int().min(0);
const shape = z.enum(Object.keys(dataShapes) as [DataShape, ...DataShape[]]);

/** `hone data check`. */
export const dataReportSchema = z.object({
  format: z.enum(dataFormats),
  /** That of most rows; null when no row has one. */
  shape: shape.nullable(),
  /** Records, good and bad. */
  rows: count,
  ok: count,
  /** Good rows of each shape. */
  shapes: z.partialRecord(shape, count),
  /** The first bad rows, at most a thousand of them. */
  set_aside: z.array(z.object({ line: count, row: count, reason: z.string() })),
  set_aside_count: count,
  columns: z.array(z.string()),
  /** Field → column, for rows of the main shape. */
  mapping: z.record(z.string(), z.string()),
  warnings: z.array(z.string()),
  /** Of the file, in hex. */
  sha256: z.string(),
});
export type DataReport = z.infer<typeof dataReportSchema>;

const tokenFields = { ids: z.array(count), pieces: z.array(z.string()), trained: z.array(z.boolean()) };

/** `hone data tokens`. Of a preference row the better answer, and the worse one under `rejected`. */
export const tokenViewSchema = z.object({ ...tokenFields, rejected: z.object(tokenFields).optional() });
export type TokenView = z.infer<typeof tokenViewSchema>;

/** Rows by what they are in, first the row that stands first. */
const groups = z.object({ count, groups: z.array(z.array(count)) });

/** `hone data stats`. Lists are cut off at a hundred entries, counts are not. */
export const dataStatsSchema = z.object({
  rows: count,
  ok: count,
  set_aside_count: count,
  shapes: z.partialRecord(shape, count),
  /** Messages of each role. */
  roles: z.record(z.string(), count),
  /** `tokens` with `--model`, otherwise `characters`. */
  unit: z.enum(["tokens", "characters"]),
  length: z.object({
    total: z.number(),
    mean: z.number(),
    min: count,
    median: count,
    p95: count,
    max: count,
    /** Counts of rows with a length in [from, to). */
    histogram: z.array(z.object({ from: count, to: count, rows: count })),
  }),
  /** Tokens that a loss would use; null without a model. */
  trained: z.number().nullable(),
  longest_row: count.nullable(),
  /** Rows over and above the first of each group of equal ones. */
  duplicates: groups,
  /** The same for rows that share at least 80 % of their word triples (estimated), equal ones left out. */
  near_duplicates: groups.extend({ rows_compared: count }),
  /** Rows with one prompt and several answers. */
  repeated_prompts: count,
  empty_answers: z.object({ count, rows: z.array(count) }),
  /** With `--against`: rows whose prompt stands in the other file, too. */
  leaked: z.object({ count, rows: z.array(z.object({ row: count, other_row: count })) }).nullable(),
  /** Rows that the model's template or context refuses. */
  refused: z.object({ count, rows: z.array(z.object({ row: count, reason: z.string() })) }),
});
export type DataStats = z.infer<typeof dataStatsSchema>;

/** `hone data split`. */
export const splitOutputSchema = z.object({
  out: z.string(),
  seed: z.union([z.number(), z.string()]),
  train: count,
  validation: count,
  test: count,
  /** Sets of rows that had to stay together. */
  groups: count,
  set_aside_count: count,
});

/** `hone data export`. */
export const exportOutputSchema = z.object({
  out: z.string(),
  format: z.enum(["jsonl", "json", "csv", "parquet"]),
  rows: count,
  set_aside: dataReportSchema.shape.set_aside,
  set_aside_count: count,
});

const record = z.record(z.string(), z.unknown());

/** One row before and after; null where there is none. */
export const rowChangeSchema = z.object({
  /** Stays with a row, wherever it moves. */
  id: z.number().int().min(1),
  before: record.nullable(),
  after: record.nullable(),
});
export type RowChange = z.infer<typeof rowChangeSchema>;

/** One line of a dataset's history. Point 0 is the import. */
export const historyEntrySchema = z.object({
  point: z.number().int().min(1),
  /** Seconds since 1970. */
  time: z.number(),
  kind: z.enum(["edit", "add", "delete", "undo", "redo", "restore"]),
  note: z.string(),
  /** The point that is undone, redone or gone back to. */
  of: count.optional(),
  changes: z.array(rowChangeSchema),
});
export type HistoryEntry = z.infer<typeof historyEntrySchema>;

/** `dataset.json` in a dataset's folder. */
export const datasetFileSchema = z.object({
  version: z.literal(1),
  name: z.string(),
  created: z.iso.datetime(),
  /** What it was imported from. */
  source: z.string(),
  source_sha256: z.string(),
  rows: count,
  set_aside_count: count,
});

/** `hone data import`, and the entries of `hone data list`. */
export const datasetSummarySchema = z.object({
  name: z.string(),
  path: z.string(),
  rows: count,
  /** Entries of the history. */
  point: count,
  created: z.string(),
  source: z.string(),
  set_aside_count: count,
});
export type DatasetSummary = z.infer<typeof datasetSummarySchema>;
export const datasetListSchema = z.object({ datasets: z.array(datasetSummarySchema) });

/** `hone data delete`: what it was. */
export const datasetDeletedSchema = datasetSummarySchema.extend({ bytes: count });

/** `hone data edit`, `undo`, `redo`, `restore`, `rate` and `keep`. */
export const datasetChangeSchema = z.object({
  name: z.string(),
  rows: count,
  point: count,
  kind: historyEntrySchema.shape.kind,
  note: z.string(),
  changes: z.array(rowChangeSchema),
});

/** `hone data history` and `hone data diff`. */
export const historyOutputSchema = z.object({ name: z.string(), history: z.array(historyEntrySchema) });
export const diffOutputSchema = z.object({
  name: z.string(),
  from: count,
  to: count,
  changes: z.array(rowChangeSchema),
});
