/** A user's data: rows as Hone understands them, one after the other or by number, without loading the file. */

import { existsSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { DataReport } from "../contract/data-json.ts";
import {
  isSetAside,
  type DataEntry,
  type DataFormat,
  type DataRow,
  type DataShape,
  type SetAsideRow,
} from "../contract/data.ts";
import { HoneError } from "../contract/errors.ts";
import { findDataset, openDataset } from "./dataset.ts";
import { namesDownload, openDownload } from "./downloaded-rows.ts";
import {
  fieldNames,
  findReading,
  mappingOf,
  shapeOfForm,
  suggestMapping,
  type Mapping,
  type Reading,
} from "./forms.ts";
import { openSource } from "./open-source.ts";
import { kindOf, type Note } from "./read-messages.ts";
import { toShape } from "./shapes.ts";
import type { RawEntry, RawRecord, RecordSource } from "./source.ts";
import { understand } from "./understand.ts";

export interface OpenDataOptions {
  /** Field → column, where a column is not named as its field: `{prompt: "question"}`. */
  map?: Mapping;
  /** Ends whatever reads the rows. */
  signal?: AbortSignal;
  /** Told about twenty times a second while all rows are read. */
  onProgress?: (done: number, total: number) => void;
}

/** Milliseconds of reading between two turns of the event loop, which hears an interrupt. */
const longestTurn = 50;
/** Rows between two looks at the clock. */
const clockRows = 64;

/** Entries of `set_aside` in a report. */
const mostSetAside = 1000;

/**
 * Opens a file of rows, a dataset by its name, a downloaded one as `datasets/owner/name[:split]`, or `-` for what is
 * piped in. Only the places of the rows are kept: 20
 * bytes each. Throws `no-such-file`, `bad-encoding`, `unknown-format`, `bad-header`, `bad-parquet`, `bad-map`.
 */
export async function openData(reference: string, options: OpenDataOptions = {}): Promise<Data> {
  return Data.over(await openReference(reference), options);
}

async function openReference(reference: string): Promise<RecordSource> {
  if (existsSync(reference)) return openSource(reference);
  if (namesDownload(reference)) return openDownload(reference);
  const dataset = findDataset(reference);
  return dataset === undefined ? openSource(reference) : (await openDataset(dataset)).source();
}

/** `first`: the first of the rows that could not be used. */
export function noRows(name: string, first?: SetAsideRow): HoneError {
  const why = first === undefined ? "" : `; the first, on line ${first.place.line}: ${first.reason}`;
  return new HoneError("no-rows", `${name} has no row that could be used${why}`, {
    fix: `\`hone data check ${name}\` tells what is wrong with each row`,
  });
}

export class Data {
  /** As the user called it. */
  readonly name: string;
  readonly format: DataFormat;
  /** Records, good and bad. */
  readonly size: number;
  /** That of most rows; undefined when no row has one. */
  readonly shape: DataShape | undefined;
  /** Those of the first thousand rows. */
  readonly columns: readonly string[];
  /** Field → column, for rows of the main shape. */
  readonly mapping: Readonly<Record<string, string>>;
  /** About the file as a whole. */
  readonly warnings: readonly string[];
  readonly #source: RecordSource;
  readonly #reading: Reading;
  readonly #options: OpenDataOptions;

  private constructor(source: RecordSource, reading: Reading, columns: readonly string[], options: OpenDataOptions) {
    this.name = source.name;
    this.format = source.format;
    this.size = source.size;
    this.columns = columns;
    this.shape = shapeOfForm(reading.main);
    this.mapping = mappingOf(reading.main, columns, reading.map);
    this.warnings = [...source.warnings, ...headWarnings(source, reading, columns)];
    this.#source = source;
    this.#reading = reading;
    this.#options = options;
  }

  static async over(source: RecordSource, options: OpenDataOptions = {}): Promise<Data> {
    const { reading, columns } = await findReading(source, options.map);
    return new Data(source, reading, columns, options);
  }

  /** Every record in order: the row, or why it is set aside. */
  async *entries(note?: (text: string, line: number) => void): AsyncGenerator<DataEntry> {
    for await (const raw of this.#records()) yield this.#understand(raw, note);
  }

  /** The good rows in order. */
  async *rows(): AsyncGenerator<DataRow> {
    for await (const entry of this.entries()) if (!isSetAside(entry)) yield entry;
  }

  /** One record by its number from 1. Throws `no-such-row`. */
  async row(number: number): Promise<DataEntry> {
    return this.#understand(await this.#source.record(number));
  }

  /** Records as they stand in the file, each with what Hone makes of it. */
  async *pairs(): AsyncGenerator<{ raw: RawEntry; entry: DataEntry }> {
    for await (const raw of this.#records()) yield { raw, entry: this.#understand(raw) };
  }

  /** A record as it stands in the file. */
  raw(number: number): Promise<RawEntry> {
    return this.#source.record(number);
  }

  /** Of the file, or of a dataset's rows as they are now; in hex. */
  sha256(): Promise<string> {
    return this.#source.sha256();
  }

  /** The record so that it is read the same way without the mapping. */
  settled({ record }: RawRecord, row: DataRow): Record<string, unknown> {
    if (Object.keys(this.#reading.map).length === 0) return record;
    // A column that has a field's name without being meant as one would be taken for it.
    const others = Object.entries(row.columns).map(([name, value]) => [
      fieldNames.includes(name) ? `${name}_column` : name,
      value,
    ]);
    return toShape({ ...row, columns: Object.fromEntries(others) as Record<string, unknown> });
  }

  /** Reads everything once. */
  async check(): Promise<DataReport> {
    const remarks = new Remarks();
    const types = new ColumnTypes();
    const set_aside: DataReport["set_aside"] = [];
    const shapes: DataReport["shapes"] = {};
    let [ok, aside] = [0, 0];
    for await (const raw of this.#records()) {
      if (!("reason" in raw)) types.see(raw.record, raw.place.line);
      const entry = this.#understand(raw, (text, line) => remarks.add(text, line));
      if (isSetAside(entry)) {
        aside++;
        if (set_aside.length < mostSetAside) set_aside.push({ ...entry.place, reason: entry.reason });
      } else {
        ok++;
        shapes[entry.shape] = (shapes[entry.shape] ?? 0) + 1;
      }
    }
    const mixed = Object.entries(shapes).map(([shape, rows]) => `${rows} ${shape}`);
    return {
      format: this.format,
      shape: this.shape ?? null,
      rows: this.size,
      ok,
      shapes,
      set_aside: set_aside.map(({ line, row, reason }) => ({ line, row, reason })),
      set_aside_count: aside,
      columns: types.columns,
      mapping: { ...this.mapping },
      warnings: [
        ...this.warnings,
        ...(mixed.length > 1
          ? [`rows of several shapes: ${mixed.join(", ")}; a method takes those that it can use`]
          : []),
        ...(this.format === "csv" || this.format === "tsv" ? [] : types.warnings()),
        ...remarks.list(),
      ],
      sha256: await this.sha256(),
    };
  }

  async *#records(): AsyncGenerator<RawEntry> {
    let turn = performance.now();
    let count = 0;
    for await (const raw of this.#source.records()) {
      if (++count % clockRows === 0 && performance.now() - turn > longestTurn) {
        this.#options.onProgress?.(count, this.size);
        await nextTurn();
        this.#options.signal?.throwIfAborted();
        turn = performance.now();
      }
      yield raw;
    }
  }

  #understand(raw: RawEntry, note?: (text: string, line: number) => void): DataEntry {
    if ("reason" in raw) return raw;
    const tell: Note | undefined = note === undefined ? undefined : (text) => note(text, raw.place.line);
    return understand(raw, this.#reading, tell);
  }
}

function headWarnings({ size }: RecordSource, { main, map }: Reading, columns: readonly string[]): string[] {
  if (size === 0) return ["there are no rows"];
  if (main === "label") {
    return [
      "rows with a label (KTO) are recognised, but no method trains on them yet: keep the good ones as completions",
    ];
  }
  if (main !== undefined || columns.length === 0) return [];
  const suggestion = suggestMapping(columns);
  const way =
    suggestion === undefined
      ? "name them with --map, such as --map prompt=COLUMN,completion=COLUMN"
      : `try ${suggestion}`;
  const mapped = Object.keys(map).length > 0 ? "even so mapped, " : "";
  return [`${mapped}no column says what the rows are for (${columns.join(", ")}): ${way}`];
}

/** Remarks that many rows share, each told once with its count. */
class Remarks {
  readonly #seen = new Map<string, { count: number; line: number }>();

  add(text: string, line: number): void {
    const seen = this.#seen.get(text);
    if (seen === undefined) this.#seen.set(text, { count: 1, line });
    else seen.count++;
  }

  list(): string[] {
    return [...this.#seen].map(([text, { count, line }]) => `${text} (${rowCount(count)}, first on line ${line})`);
  }
}

function rowCount(count: number): string {
  return `${count} row${count === 1 ? "" : "s"}`;
}

/** Which kinds of value each column has. */
class ColumnTypes {
  readonly #kinds = new Map<string, Map<string, { count: number; line: number }>>();

  see(record: Record<string, unknown>, line: number): void {
    for (const [column, value] of Object.entries(record)) {
      const kinds = this.#kinds.get(column) ?? new Map<string, { count: number; line: number }>();
      this.#kinds.set(column, kinds);
      if (value === null) continue;
      const kind = kindOf(value);
      const seen = kinds.get(kind);
      if (seen === undefined) kinds.set(kind, { count: 1, line });
      else seen.count++;
    }
  }

  get columns(): string[] {
    return [...this.#kinds.keys()];
  }

  warnings(): string[] {
    return [...this.#kinds].flatMap(([column, kinds]) => {
      if (kinds.size < 2) return [];
      const sorted = [...kinds].sort(([, a], [, b]) => b.count - a.count);
      const said = sorted.map(([kind, { count, line }]) => `${kind} in ${rowCount(count)} (first on line ${line})`);
      return [`the column ${column} changes its type: ${said.join(", ")}`];
    });
  }
}
