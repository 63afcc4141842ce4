/** Parquet files, a stretch of rows at a time. */

import {
  asyncBufferFromFile,
  parquetMetadataAsync,
  parquetReadObjects,
  type AsyncBuffer,
  type FileMetaData,
} from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { HoneError } from "../contract/errors.ts";
import { isRecord } from "../contract/is-record.ts";
import type { Bytes } from "./bytes.ts";
import { findPath, pathName, type BigInteger } from "./parse-json.ts";
import { requireRow, type RawEntry, type RecordSource } from "./source.ts";

/** Rows that are decoded together. */
const stretch = 2000;

export class ParquetSource implements RecordSource {
  readonly name: string;
  readonly format = "parquet";
  readonly size: number;
  readonly warnings: readonly string[] = [];
  readonly #bytes: Bytes;
  readonly #file: AsyncBuffer;
  readonly #metadata: FileMetaData;
  #held: { start: number; rows: Record<string, unknown>[] } | undefined;

  private constructor(bytes: Bytes, file: AsyncBuffer, metadata: FileMetaData) {
    this.name = bytes.name;
    this.size = Number(metadata.num_rows);
    this.#bytes = bytes;
    this.#file = file;
    this.#metadata = metadata;
  }

  /** Throws `bad-parquet`. */
  static async open(bytes: Bytes): Promise<ParquetSource> {
    const { memory } = bytes;
    try {
      const file =
        memory === undefined
          ? await asyncBufferFromFile(bytes.name)
          : {
              byteLength: memory.length,
              slice: (start: number, end = memory.length) => new Uint8Array(memory.subarray(start, end)).buffer,
            };
      return new ParquetSource(bytes, file, await parquetMetadataAsync(file));
    } catch (cause) {
      throw damaged(bytes.name, cause);
    }
  }

  async *records(): AsyncGenerator<RawEntry> {
    for (let row = 1; row <= this.size; row++) yield await this.record(row);
  }

  async record(row: number): Promise<RawEntry> {
    requireRow(this, row);
    const start = Math.floor((row - 1) / stretch) * stretch;
    if (this.#held?.start !== start) this.#held = { start, rows: await this.#decode(start) };
    return entryOf(this.#held.rows[row - 1 - start], row);
  }

  sha256(): Promise<string> {
    return this.#bytes.sha256();
  }

  async #decode(start: number): Promise<Record<string, unknown>[]> {
    this.#bytes.requireUnchanged();
    try {
      return await parquetReadObjects({
        file: this.#file,
        metadata: this.#metadata,
        compressors,
        rowStart: start,
        rowEnd: Math.min(start + stretch, this.size),
      });
    } catch (cause) {
      throw damaged(this.name, cause);
    }
  }
}

function damaged(name: string, cause: unknown): HoneError {
  const what = cause instanceof Error ? cause.message : String(cause);
  return new HoneError("bad-parquet", `${name} cannot be read as Parquet: ${what}`, { cause });
}

function entryOf(given: Record<string, unknown>, row: number): RawEntry {
  const place = { row, line: row };
  const bigIntegers: BigInteger[] = [];
  const notes: string[] = [];
  const record = plain(given, [], bigIntegers, notes);
  const infinite = findPath(record, (item) => typeof item === "number" && !Number.isFinite(item));
  if (infinite !== undefined) return { place, reason: `${pathName(infinite)}: an infinite number; leave it out` };
  return { place, record: isRecord(record) ? record : {}, bigIntegers, notes };
}

/**
 * Parquet fills every key that any row has into all rows as null; such keys vanish. NaN, by which pandas means a missing
 * number, vanishes with a note. Whole numbers beyond 2^53 become text.
 */
function plain(value: unknown, path: (string | number)[], big: BigInteger[], notes: string[]): unknown {
  if (typeof value === "bigint") {
    if (Number.isSafeInteger(Number(value))) return Number(value);
    big.push({ path, digits: String(value) });
    return String(value);
  }
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) {
    if (value instanceof Uint8Array) {
      notes.push(`${everyRow(path)}: bytes, read as base64`);
      return Buffer.from(value).toString("base64");
    }
    return plain(Array.from(value as unknown as Iterable<unknown>), path, big, notes);
  }
  if (Array.isArray(value)) return value.map((item, i) => plain(item, [...path, i], big, notes));
  if (!isRecord(value)) return value;
  const kept: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value)) {
    if (item === null || item === undefined) continue;
    if (Number.isNaN(item)) notes.push(`${everyRow([...path, key])}: NaN, read as missing`);
    else kept.push([key, plain(item, [...path, key], big, notes)]);
  }
  return Object.fromEntries(kept);
}

/** A place in any row, whatever the number of a list's entry. */
function everyRow(path: (string | number)[]): string {
  return pathName(path).replace(/\[\d+\]/g, "[]");
}
