/** Writes rows to a file for other software. */

import { renameSync, rmSync } from "node:fs";
import { parquetWriteBuffer } from "hyparquet-writer";
import { isSetAside, type SetAsideRow } from "../contract/data.ts";
import { HoneError } from "../contract/errors.ts";
import { isRecord } from "../contract/is-record.ts";
import { rethrowDiskFull } from "../files/disk.ts";
import { writeFileAtomic } from "../files/atomic.ts";
import { LineWriter } from "./line-writer.ts";
import { noRows, type Data } from "./open-data.ts";
import { toShape, type ExportShape } from "./shapes.ts";

export const exportFormats = ["jsonl", "json", "csv", "parquet"] as const;
export type ExportFormat = (typeof exportFormats)[number];

type Row = Record<string, unknown>;
type SchemaElement = NonNullable<Parameters<typeof parquetWriteBuffer>[0]["schema"]>[number];

/**
 * Writes all good rows, in a shape if one is given; the file appears whole. JSON and JSON Lines take no memory to speak
 * of, CSV two passes, Parquet holds everything. Returns the rows that could not be written, with the reasons. Throws
 * `no-rows` when that is all of them, and leaves what is at `path`.
 */
export async function exportData(
  data: Data,
  path: string,
  format: ExportFormat,
  shape?: ExportShape,
): Promise<{ rows: number; setAside: SetAsideRow[] }> {
  const setAside: SetAsideRow[] = [];
  const rows = async function* (): AsyncGenerator<Row> {
    setAside.length = 0;
    for await (const entry of data.entries()) {
      if (isSetAside(entry)) {
        setAside.push(entry);
        continue;
      }
      try {
        yield toShape(entry, shape);
      } catch (error) {
        if (!(error instanceof HoneError) || error.code !== "bad-row") throw error;
        setAside.push({ place: entry.place, reason: error.message });
      }
    }
  };
  const none = () => noRows(data.name, setAside[0]);
  const count =
    format === "parquet" ? await writeParquet(rows(), path, none) : await writeText(rows, path, format, none);
  return { rows: count, setAside };
}

async function writeText(
  rows: () => AsyncIterable<Row>,
  path: string,
  format: Exclude<ExportFormat, "parquet">,
  none: () => HoneError,
): Promise<number> {
  const temporary = `${path}.partial-${process.pid}`;
  try {
    const columns = format === "csv" ? await columnsOf(rows()) : [];
    const writer = new LineWriter(temporary);
    let count = 0;
    if (format === "csv") writer.writeText(columns.map(cell).join(","));
    for await (const row of rows()) {
      count++;
      if (format === "jsonl") writer.write(row);
      else if (format === "csv") writer.writeText(columns.map((column) => cell(row[column])).join(","));
      else writer.writeText(`${count === 1 ? "[" : ","}${JSON.stringify(row)}`);
    }
    if (count === 0) throw none();
    if (format === "json") writer.writeText("]");
    writer.end();
    renameSync(temporary, path);
    return count;
  } catch (error) {
    rmSync(temporary, { force: true });
    rethrowDiskFull(error, path);
  }
}

async function columnsOf(rows: AsyncIterable<Row>): Promise<string[]> {
  const columns = new Set<string>();
  for await (const row of rows) for (const column of Object.keys(row)) columns.add(column);
  return [...columns];
}

/** Lists and objects as JSON, as they are read back. */
function cell(value: unknown): string {
  if (value == null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

async function writeParquet(rows: AsyncIterable<Row>, path: string, none: () => HoneError): Promise<number> {
  const columns = new Map<string, unknown[]>();
  let count = 0;
  for await (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      const column = columns.get(name) ?? [];
      columns.set(name, column);
      while (column.length < count) column.push(null);
      column.push(value ?? null);
    }
    count++;
  }
  if (count === 0) throw none();
  for (const column of columns.values()) while (column.length < count) column.push(null);
  const stored = [...columns].map(([name, values]) => storedColumn(name, values));
  const schema: SchemaElement[] = [
    { name: "root", num_children: stored.length },
    ...stored.flatMap(({ elements }) => elements),
  ];
  const columnData = stored.map(({ name, data }) => ({ name, data }));
  writeFileAtomic(path, new Uint8Array(parquetWriteBuffer({ columnData, schema })));
  return count;
}

interface StoredColumn {
  name: string;
  data: unknown[];
  /** Its part of the file's schema. */
  elements: SchemaElement[];
}

/** Simple values and messages in Parquet's own types, as Hugging Face's libraries expect them; anything else as JSON. */
function storedColumn(name: string, values: unknown[]): StoredColumn {
  const all = (is: (value: unknown) => boolean) => values.every((value) => value === null || is(value));
  const element = (type: SchemaElement["type"]): SchemaElement => ({ name, type, repetition_type: "OPTIONAL" });
  if (all((value) => typeof value === "boolean")) return { name, data: values, elements: [element("BOOLEAN")] };
  if (all(Number.isSafeInteger)) {
    const data = values.map((value) => (value === null ? null : BigInt(value as number)));
    return { name, data, elements: [element("INT64")] };
  }
  if (all((value) => typeof value === "number")) return { name, data: values, elements: [element("DOUBLE")] };
  if (all(isMessageList)) return messageColumn(name, values as (Row[] | null)[]);
  const text = (value: unknown) => (value === null || typeof value === "string" ? value : JSON.stringify(value));
  return { name, data: values.map(text), elements: [{ ...element("BYTE_ARRAY"), converted_type: "UTF8" }] };
}

function isMessageList(value: unknown): value is Row[] {
  return (
    Array.isArray(value) && value.every((item) => isRecord(item) && typeof (item["role"] ?? item["from"]) === "string")
  );
}

/** A list of structs of texts; tool calls stand in them as JSON. */
function messageColumn(name: string, lists: (Row[] | null)[]): StoredColumn {
  const keys = [...new Set(lists.flatMap((list) => (list ?? []).flatMap((message) => Object.keys(message))))];
  const text = (value: unknown) =>
    value == null || typeof value === "string" ? (value ?? null) : JSON.stringify(value);
  const data = lists.map(
    (list) => list?.map((message) => Object.fromEntries(keys.map((key) => [key, text(message[key])]))) ?? null,
  );
  const elements: SchemaElement[] = [
    { name, repetition_type: "OPTIONAL", num_children: 1, converted_type: "LIST" },
    { name: "list", repetition_type: "REPEATED", num_children: 1 },
    { name: "element", repetition_type: "OPTIONAL", num_children: keys.length },
    ...keys.map((key): SchemaElement => ({
      name: key,
      type: "BYTE_ARRAY",
      converted_type: "UTF8",
      repetition_type: "OPTIONAL",
    })),
  ];
  return { name, data, elements };
}
