/**
 * A dataset in the library: rows that were imported once and never change, and a history of changes to them that only
 * grows. What the rows are now, or were at any point, is the import with the history up to there. A change is one line
 * of the history, so it is done whole or not at all, whenever the process is killed.
 */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import {
  datasetFileSchema,
  historyEntrySchema,
  type DatasetSummary,
  type HistoryEntry,
  type RowChange,
} from "../contract/data-json.ts";
import { HoneError } from "../contract/errors.ts";
import { nearest } from "../contract/nearest.ts";
import { fsyncPath, publishFolder, removePartial } from "../files/atomic.ts";
import { readJson, readRows } from "../files/json.ts";
import { appendJsonLine, repairJsonLines } from "../files/jsonl.ts";
import { lockFolder } from "../files/lock.ts";
import { requireWritable } from "../files/system-error.ts";
import { honeHome } from "../store/library.ts";
import { Bytes } from "./bytes.ts";
import { findReading } from "./forms.ts";
import { indexLines } from "./line-records.ts";
import { LineWriter } from "./line-writer.ts";
import { IndexedSource, readJsonRow, requireRow, type RawEntry, type RecordSource } from "./source.ts";
import { understand } from "./understand.ts";

type Row = Record<string, unknown>;

export const datasetFiles = {
  about: "dataset.json",
  /** As imported. */
  rows: "rows.jsonl",
  /** What could not be imported, with the reasons. */
  setAside: "set-aside.jsonl",
  history: "history.jsonl",
} as const;

export function datasetsFolder(): string {
  return join(honeHome(), "datasets");
}

/** The folder of a dataset by its name; undefined when there is none. */
export function findDataset(name: string): string | undefined {
  if (!isName(name)) return undefined;
  const path = join(datasetsFolder(), name);
  return existsSync(join(path, datasetFiles.about)) ? path : undefined;
}

/** As `findDataset`; throws `no-such-dataset` with the nearest name. */
export function requireDataset(name: string): string {
  const found = findDataset(name);
  if (found !== undefined) return found;
  const isFile = existsSync(name);
  const near = nearest(name, datasetNames());
  const fix = isFile
    ? `it is a file; only a dataset has a history: \`hone data import ${name} --name NAME\` makes one`
    : `${near === undefined ? "" : `did you mean ${JSON.stringify(near)}? `}\`hone data list\` lists the datasets`;
  throw new HoneError("no-such-dataset", `there is no dataset ${JSON.stringify(name)}`, { fix });
}

function isName(name: string): boolean {
  return /^[\p{L}\p{N}_][\p{L}\p{N}._-]{0,99}$/u.test(name);
}

function datasetNames(): string[] {
  const folder = datasetsFolder();
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => findDataset(name) !== undefined)
    .sort();
}

export interface DatasetSurvey {
  datasets: DatasetSummary[];
  /** Folders whose files cannot be read. */
  damaged: { name: string; path: string; why: string }[];
}

/** Every dataset of the library, by name; none is opened whole. */
export function surveyDatasets(): DatasetSurvey {
  const survey: DatasetSurvey = { datasets: [], damaged: [] };
  for (const name of datasetNames()) {
    const path = join(datasetsFolder(), name);
    try {
      const { rows, ...about } = readJson(join(path, datasetFiles.about), datasetFileSchema);
      const history = readRows(join(path, datasetFiles.history), historyEntrySchema);
      const grown = history.flatMap(({ changes }) => changes).reduce((sum, change) => sum + growth(change), 0);
      survey.datasets.push(summary(about, path, rows + grown, history.length));
    } catch (error) {
      if (!(error instanceof HoneError)) throw error;
      survey.damaged.push({ name, path, why: error.message });
    }
  }
  return survey;
}

export function listDatasets(): DatasetSummary[] {
  return surveyDatasets().datasets;
}

function summary(
  { name, created, source, set_aside_count }: Pick<DatasetSummary, "name" | "created" | "source" | "set_aside_count">,
  path: string,
  rows: number,
  point: number,
): DatasetSummary {
  return { name, path, rows, point, created, source, set_aside_count };
}

function growth({ before, after }: RowChange): number {
  return Number(after !== null) - Number(before !== null);
}

/** What a new dataset is made of. */
export interface NewDataset {
  name: string;
  /** Where the rows come from, in words. */
  source: string;
  sourceSha256: string;
  /** Writes the rows, and what was set aside, one object per line. */
  fill?: (write: { row: (record: Row) => void; setAside: (entry: unknown) => void }) => Promise<void>;
}

/** Makes a dataset, whole or not at all. Throws `bad-name`, `dataset-exists`. */
export async function createDataset({ name, source, sourceSha256, fill }: NewDataset): Promise<Dataset> {
  if (!isName(name)) {
    throw new HoneError("bad-name", `${JSON.stringify(name)} cannot be the name of a dataset`, {
      fix: "use letters, digits, dots, dashes and underscores",
    });
  }
  const path = join(datasetsFolder(), name);
  requireWritable(datasetsFolder(), "set HONE_HOME to a folder that you may write to");
  mkdirSync(datasetsFolder(), { recursive: true });
  removePartial(datasetsFolder());
  const make = async (folder: string) => {
    const rows = new LineWriter(join(folder, datasetFiles.rows));
    const aside = new LineWriter(join(folder, datasetFiles.setAside));
    await fill?.({ row: (record) => rows.write(record), setAside: (entry) => aside.write(entry) });
    rows.end();
    aside.end();
    const about = {
      version: 1,
      name,
      created: new Date().toISOString(),
      source,
      source_sha256: sourceSha256,
      rows: rows.count,
      set_aside_count: aside.count,
    };
    writeFileSync(join(folder, datasetFiles.about), JSON.stringify(about, null, 2) + "\n");
  };
  try {
    await publishFolder(path, make, { replace: false });
  } catch (error) {
    if (!(error instanceof HoneError) || error.code !== "folder-exists") throw error;
    throw new HoneError("dataset-exists", `there is a dataset ${JSON.stringify(name)} already`, {
      cause: error,
      fix: `choose another --name; it is in ${path}`,
    });
  }
  return openDataset(path);
}

/** The dataset of a name; a new, empty one where there is none yet. */
export async function openOrCreateDataset(name: string, source: string): Promise<Dataset> {
  const path = findDataset(name);
  return path === undefined ? createDataset({ name, source, sourceSha256: "" }) : openDataset(path);
}

/** Removes a dataset with its history, and returns what it was and the bytes that it took. Throws `no-such-dataset`, `run-busy`. */
export async function deleteDataset(name: string): Promise<{ summary: DatasetSummary; bytes: number }> {
  const path = requireDataset(name);
  const gone = (await openDataset(path)).summary();
  const sizes = readdirSync(path).map((file) => statSync(join(path, file)).size);
  const release = lockFolder(path);
  try {
    // Without this file it is no dataset any more, wherever the removal ends.
    rmSync(join(path, datasetFiles.about));
    rmSync(path, { recursive: true });
    return { summary: gone, bytes: sizes.reduce((sum, size) => sum + size, 0) };
  } finally {
    release();
  }
}

/** Opens a dataset's folder. */
export async function openDataset(path: string): Promise<Dataset> {
  const about = readJson(join(path, datasetFiles.about), datasetFileSchema);
  const bytes = new Bytes(join(path, datasetFiles.rows));
  return new Dataset(path, about, new IndexedSource(bytes, "jsonl", indexLines(bytes, 0), readJsonRow));
}

/** A row with the number that stays with it, and its place among the rows of now. */
export interface DatasetRow {
  id: number;
  row: number;
  record: Row;
}

export class Dataset {
  readonly name: string;
  readonly path: string;
  readonly #about: Omit<DatasetSummary, "path" | "rows" | "point">;
  readonly #base: IndexedSource;
  #history: HistoryEntry[] = [];
  #historyBytes = -1;
  /** Rows that are not as imported; null: deleted. */
  readonly #changed = new Map<number, Row | null>();
  /** Ids of the rows of now, in order. */
  #ids: number[] = [];
  #nextId = 1;
  #form: string | undefined;

  constructor(path: string, about: Omit<DatasetSummary, "path" | "rows" | "point">, base: IndexedSource) {
    this.name = basename(path);
    this.path = path;
    this.#about = about;
    this.#base = base;
    this.#load();
  }

  get size(): number {
    return this.#ids.length;
  }

  /** Number of the newest point of the history; 0 is the import. */
  get point(): number {
    return this.#history.length;
  }

  get history(): readonly HistoryEntry[] {
    return this.#history;
  }

  summary(): DatasetSummary {
    return summary(this.#about, this.path, this.size, this.point);
  }

  /** Rows by their places from 1. */
  async page(from: number, limit: number): Promise<DatasetRow[]> {
    const ids = this.#ids.slice(from - 1, from - 1 + limit);
    return Promise.all(ids.map(async (id, i) => ({ id, row: from + i, record: await this.#record(id) })));
  }

  /** Throws `no-such-row`. */
  async row(row: number): Promise<DatasetRow> {
    requireRow({ name: this.name, size: this.size }, row);
    const [found] = await this.page(row, 1);
    return found;
  }

  /** The rows of now, for reading like a file. A later change does not show in it. */
  source(): RecordSource {
    const { name, size } = this;
    const ids = [...this.#ids];
    const changed = new Map(this.#changed);
    const base = this.#base;
    const entry = (record: Row, row: number): RawEntry => ({
      place: { row, line: row },
      record,
      bigIntegers: [],
      notes: [],
      text: JSON.stringify(record),
    });
    const records = async function* (): AsyncGenerator<RawEntry> {
      let row = 0;
      let id = 0;
      for await (const raw of base.records()) {
        const now = changed.get(++id);
        if (now === null) continue;
        yield now === undefined ? moved(raw, ++row) : entry(now, ++row);
      }
      for (const added of ids.slice(row)) yield entry(changed.get(added) ?? {}, ++row);
    };
    return {
      name,
      format: "dataset",
      size,
      warnings: [],
      records,
      record: async (row) => {
        requireRow({ name, size }, row);
        const id = ids[row - 1];
        const now = changed.get(id);
        return now == null ? moved(await base.record(id), row) : entry(now, row);
      },
      sha256: async () => {
        const hash = createHash("sha256");
        for await (const raw of records()) if (!("reason" in raw)) hash.update(`${JSON.stringify(raw.record)}\n`);
        return hash.digest("hex");
      },
    };
  }

  /** Puts another record in a row's place. Throws `bad-row`, `no-such-row`. */
  async edit(row: number, record: Row, note = ""): Promise<HistoryEntry> {
    const { id, record: before } = await this.row(row);
    await this.#requireGood(record, row);
    return this.#append("edit", note || `row ${row} changed`, [{ id, before, after: record }]);
  }

  /** New rows behind the last one. Throws `bad-row`. */
  async add(records: readonly Row[], note = ""): Promise<HistoryEntry> {
    if (records.length === 0) throw new HoneError("no-rows", "there is no row to add");
    for (const [i, record] of records.entries()) await this.#requireGood(record, this.size + i + 1);
    const changes = records.map((after, i) => ({ id: this.#nextId + i, before: null, after }));
    return this.#append("add", note || `${records.length} added`, changes);
  }

  /** Throws `no-such-row`. */
  async delete(rows: readonly number[], note = ""): Promise<HistoryEntry> {
    const changes: RowChange[] = [];
    for (const row of new Set(rows)) {
      const { id, record } = await this.row(row);
      changes.push({ id, before: record, after: null });
    }
    return this.#append("delete", note || `row ${rows.join(", ")} deleted`, changes);
  }

  /** A better and a worse answer to one prompt become a row for DPO. A prompt may be text or messages, as may answers. */
  addPair(prompt: unknown, chosen: unknown, rejected: unknown, note = ""): Promise<HistoryEntry> {
    return this.add([{ prompt, chosen, rejected }], note || "a pair rated");
  }

  /** Takes the newest change back that is not taken back yet. Throws `nothing-to-undo`. */
  undo(): HistoryEntry {
    const entry = this.#history[(this.#stacks().undo.at(-1) ?? 0) - 1];
    if (entry === undefined) throw new HoneError("nothing-to-undo", `${this.name} has no change to undo`);
    const changes = entry.changes.map(({ id, before, after }) => ({ id, before: after, after: before }));
    return this.#append("undo", `undone: ${entry.note}`, changes, entry.point);
  }

  /** Does the change again that was undone last, unless something else was done since. Throws `nothing-to-redo`. */
  redo(): HistoryEntry {
    const entry = this.#history[(this.#stacks().redo.at(-1) ?? 0) - 1];
    if (entry === undefined) throw new HoneError("nothing-to-redo", `${this.name} has no undone change to redo`);
    return this.#append("redo", `redone: ${entry.note}`, entry.changes, entry.point);
  }

  /** Where the row with this number is now; null when it is deleted. */
  rowOf(id: number): number | null {
    const index = this.#ids.indexOf(id);
    return index < 0 ? null : index + 1;
  }

  /** What `undo` and `redo` would do, in words; null where there is nothing. */
  get next(): Record<"undo" | "redo", string | null> {
    const { undo, redo } = this.#stacks();
    const note = (point?: number) => (point === undefined ? null : this.#history[point - 1].note);
    return { undo: note(undo.at(-1)), redo: note(redo.at(-1)) };
  }

  /** Makes the rows what they were at a point. What came after stays in the history. Throws `no-such-point`. */
  restore(point: number): HistoryEntry {
    const changes = this.diff(this.point, point);
    if (changes.length === 0) throw new HoneError("nothing-to-restore", `the rows are as they were at point ${point}`);
    return this.#append("restore", `back to point ${point}`, changes, point);
  }

  /** Rows that differ between two points, in the order of their ids. Throws `no-such-point`. */
  diff(from: number, to: number): RowChange[] {
    for (const point of [from, to]) {
      if (!Number.isInteger(point) || point < 0 || point > this.point) {
        throw new HoneError("no-such-point", `the history of ${this.name} has no point ${point}`, {
          fix: `its points are 0 (the import) to ${this.point}; \`hone data history ${this.name}\` lists them`,
        });
      }
    }
    const spans = new Map<number, RowChange>();
    for (const { changes } of this.#history.slice(Math.min(from, to), Math.max(from, to))) {
      for (const { id, before, after } of changes) {
        const span = spans.get(id);
        if (span === undefined) spans.set(id, { id, before, after });
        else span.after = after;
      }
    }
    const changes = [...spans.values()].filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after));
    changes.sort((a, b) => a.id - b.id);
    return from <= to ? changes : changes.map(({ id, before, after }) => ({ id, before: after, after: before }));
  }

  async #record(id: number): Promise<Row> {
    const changed = this.#changed.get(id);
    if (changed != null) return changed;
    const raw = await this.#base.record(id);
    if ("reason" in raw) throw new HoneError("bad-data", `${this.name}, imported row ${id}: ${raw.reason}`);
    return raw.record;
  }

  /** A change must leave rows that Hone understands. */
  async #requireGood(record: Row, row: number): Promise<void> {
    this.#form ??= (await findReading(this.source())).reading.main;
    const raw = { place: { row, line: row }, record, bigIntegers: [], notes: [] };
    const entry = understand(raw, { map: {}, main: this.#form, tabular: false });
    if ("reason" in entry) throw new HoneError("bad-row", `row ${row}: ${entry.reason}`);
  }

  #stacks(): { undo: number[]; redo: number[] } {
    const undo: number[] = [];
    let redo: number[] = [];
    for (const { point, kind } of this.#history) {
      if (kind === "undo") redo.push(undo.pop() ?? 0);
      else if (kind === "redo") undo.push(redo.pop() ?? 0);
      else {
        undo.push(point);
        redo = [];
      }
    }
    return { undo, redo };
  }

  #append(kind: HistoryEntry["kind"], note: string, changes: RowChange[], of?: number): HistoryEntry {
    const release = lockFolder(this.path);
    try {
      if (this.#bytesOfHistory() !== this.#historyBytes) {
        throw new HoneError("dataset-changed", `${this.name} was changed by somebody else in the meantime`, {
          fix: "open it again and repeat the change",
        });
      }
      const file = join(this.path, datasetFiles.history);
      repairJsonLines(file);
      const entry: HistoryEntry = {
        point: this.point + 1,
        time: Date.now() / 1000,
        kind,
        note,
        ...(of !== undefined && { of }),
        changes,
      };
      appendJsonLine(file, entry);
      fsyncPath(file);
      this.#historyBytes = this.#bytesOfHistory();
      this.#history.push(entry);
      this.#apply(entry);
      this.#order();
      return entry;
    } finally {
      release();
    }
  }

  #bytesOfHistory(): number {
    const file = join(this.path, datasetFiles.history);
    return existsSync(file) ? statSync(file).size : 0;
  }

  #load(): void {
    this.#historyBytes = this.#bytesOfHistory();
    this.#history = readRows(join(this.path, datasetFiles.history), historyEntrySchema);
    for (const entry of this.#history) this.#apply(entry);
    this.#order();
  }

  #apply({ changes }: HistoryEntry): void {
    for (const { id, after } of changes) this.#changed.set(id, after);
  }

  #order(): void {
    const { size } = this.#base;
    const added = [...this.#changed.keys()].filter((id) => id > size).sort((a, b) => a - b);
    this.#nextId = Math.max(size, added.at(-1) ?? 0) + 1;
    const imported = Array.from({ length: size }, (_, i) => i + 1);
    this.#ids = [...imported, ...added].filter((id) => this.#changed.get(id) !== null);
  }
}

function moved(raw: RawEntry, row: number): RawEntry {
  return { ...raw, place: { row, line: row } };
}
