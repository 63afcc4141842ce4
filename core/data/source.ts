/** Records as they stand in a file, before anything is made of them. */

import type { DataFormat, RowPlace, SetAsideRow } from "../contract/data.ts";
import { HoneError } from "../contract/errors.ts";
import { isRecord } from "../contract/is-record.ts";
import { plural } from "../contract/units.ts";
import { Cursor, type Bytes, type RecordIndex } from "./bytes.ts";
import { splitCells, type Delimiter } from "./csv-records.ts";
import { decodeText, parseJson, type BigInteger } from "./parse-json.ts";

export interface RawRecord {
  place: RowPlace;
  record: Record<string, unknown>;
  bigIntegers: readonly BigInteger[];
  /** Things about the record that a person should know, without its place. */
  notes: readonly string[];
  /** The record's own text, where it is one line of JSON. */
  text?: string;
}

export type RawEntry = RawRecord | SetAsideRow;

export interface RecordSource {
  /** As the user called it. */
  name: string;
  format: DataFormat;
  /** Records, good and bad. */
  size: number;
  warnings: readonly string[];
  /** All, in order. */
  records(): AsyncIterable<RawEntry>;
  /** One by its number from 1. */
  record(row: number): Promise<RawEntry>;
  /** SHA-256 in hex. */
  sha256(): Promise<string>;
}

/** Throws `no-such-row` with the numbers that there are. */
export function requireRow({ name, size }: Pick<RecordSource, "name" | "size">, row: number): void {
  if (Number.isInteger(row) && row >= 1 && row <= size) return;
  throw new HoneError("no-such-row", `${name} has no row ${row}`, {
    fix: size === 0 ? "it has no rows at all" : `its rows are 1 to ${size}`,
  });
}

type Read = (
  text: string,
) => { record: Record<string, unknown>; bigIntegers?: BigInteger[]; notes?: string[] } | { fault: string };

/** Bytes from which a row is remarkable. */
const longRow = 1_000_000;

/** Records of a file of text, by their places in it. */
export class IndexedSource implements RecordSource {
  readonly name: string;
  readonly format: DataFormat;
  readonly warnings: readonly string[];
  readonly size: number;
  readonly #bytes: Bytes;
  readonly #index: RecordIndex;
  readonly #skip: number;
  readonly #read: Read;

  /** `skip`: records at the beginning that are no rows (a header). */
  constructor(
    bytes: Bytes,
    format: DataFormat,
    index: RecordIndex,
    read: Read,
    { skip = 0, warnings = [] }: { skip?: number; warnings?: readonly string[] } = {},
  ) {
    this.name = bytes.name;
    this.format = format;
    this.warnings = warnings;
    this.size = Math.max(0, index.size - skip);
    this.#bytes = bytes;
    this.#index = index;
    this.#skip = skip;
    this.#read = read;
  }

  async *records(): AsyncGenerator<RawEntry> {
    using cursor = new Cursor(this.#bytes);
    for (let row = 1; row <= this.size; row++) yield this.#entry(cursor, row);
  }

  async record(row: number): Promise<RawEntry> {
    requireRow(this, row);
    using cursor = new Cursor(this.#bytes, 0);
    return this.#entry(cursor, row);
  }

  sha256(): Promise<string> {
    return this.#bytes.sha256();
  }

  #entry(cursor: Cursor, row: number): RawEntry {
    const { start, end, line } = this.#index.at(row - 1 + this.#skip);
    const place = { row, line };
    const decoded = decodeText(cursor.slice(start, end));
    if ("fault" in decoded) return { place, reason: decoded.fault };
    const read = this.#read(decoded.text);
    if ("fault" in read) return { place, reason: read.fault };
    const { record, bigIntegers = [] } = read;
    const notes = [...(read.notes ?? []), ...(end - start > longRow ? ["a row of more than 1 MB"] : [])];
    return { place, record, bigIntegers, notes, ...(this.format === "jsonl" && { text: decoded.text }) };
  }
}

/** A row of JSON. A comma at its end, where a list was meant, does no harm. */
export function readJsonRow(text: string): ReturnType<Read> {
  const endsInComma = text.endsWith(",");
  const parsed = parseJson(endsInComma ? text.slice(0, -1) : text);
  if ("fault" in parsed) return parsed;
  const { value, bigIntegers } = parsed;
  if (!isRecord(value)) {
    const what = Array.isArray(value) ? "a list" : value === null ? "null" : `a ${typeof value}`;
    return { fault: `the row is ${what}; a row is an object {"key": value, …}` };
  }
  return {
    record: value,
    bigIntegers,
    ...(endsInComma && { notes: ["a comma behind the row, which JSON Lines has not"] }),
  };
}

/** Names of columns as a header has them. `file` names it in errors. */
export function readHeader(text: string, delimiter: Delimiter, file: string): string[] {
  const split = splitCells(text, delimiter);
  if ("fault" in split) throw new HoneError("bad-header", `the header of ${file}, ${split.fault}`);
  const names = split.cells.map((name) => name.trim());
  names.forEach((name, i) => {
    if (names.indexOf(name) === i) return;
    const what = name === "" ? "has several columns without a name" : `names the column ${JSON.stringify(name)} twice`;
    throw new HoneError("bad-header", `the header of ${file} ${what}`, { fix: "give every column a name of its own" });
  });
  return names;
}

/** A row of cells under a header. */
export function readCells(header: readonly string[], delimiter: Delimiter): Read {
  return (text) => {
    const split = splitCells(text, delimiter);
    if ("fault" in split) return split;
    const { cells } = split;
    const extra = cells.slice(header.length).some((cell) => cell !== "");
    if (extra || cells.length < header.length) {
      const mark = { ",": "comma", "\t": "tab", ";": "semicolon" }[delimiter];
      return {
        fault: `${plural(cells.length, "cell")} where the header has ${header.length}; put a cell that holds a ${mark} or a line break in quotes`,
      };
    }
    return { record: Object.fromEntries(header.map((name, i) => [name, cells[i]])) };
  };
}
