/** Where a user's rows come from: a file, its sister files for the other parts, a folder of them, or a list. */

import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { isSetAside, type DataEntry, type SetAsideRow } from "../../contract/data.ts";
import { HoneError } from "../../contract/errors.ts";
import type { Split } from "../../contract/eval.ts";
import { plural } from "../../contract/units.ts";
import { openData } from "../../data/open-data.ts";
import { openSource } from "../../data/open-source.ts";
import type { Mapping } from "../../data/forms.ts";
import { understand } from "../../data/understand.ts";
import { TextNumbers } from "./columns.ts";
import { taskData, type SourceRow } from "./data-task.ts";

export type Origin =
  | { path: string; map?: Mapping }
  /** `name`: as errors call it. */
  | { name: string; records: () => Promise<readonly Record<string, unknown>[]> };

const labelled =
  "rows with a prompt, a completion and a label (KTO) train no method yet: keep those whose label is true for SFT, or make pairs of chosen and rejected for DPO";

/** Rows of a known shape. What was set aside, and why, is added to `notes`. Throws `no-rows` when nothing is left. */
export async function* dataRows(origin: Origin, notes: string[]): AsyncGenerator<SourceRow> {
  const ids = new Ids();
  for (const { name, part, entries } of await knownEntries(origin)) {
    const aside = new SetAside(name);
    for await (const entry of entries()) {
      if (isSetAside(entry)) aside.add(entry);
      else if (entry.shape === "label") aside.add({ place: entry.place, reason: labelled });
      else yield { data: taskData(entry, ids.next(entry.columns, entry.place.row, part)), ...partOf(part) };
    }
    aside.tell(notes);
  }
}

/** Records with any columns: templates make the rest. */
export async function* recordRows(origin: Origin, notes: string[]): AsyncGenerator<SourceRow> {
  const ids = new Ids();
  const row = (columns: Record<string, unknown>, number: number, part: Split | undefined): SourceRow => ({
    data: { id: ids.next(columns, number, part), columns, prompt: [] },
    ...partOf(part),
  });
  if ("records" in origin) {
    for (const [i, record] of (await origin.records()).entries()) yield row(record, i + 1, undefined);
    return;
  }
  for (const { path, part } of partFiles(origin.path)) {
    const aside = new SetAside(path);
    for await (const entry of (await openSource(path)).records()) {
      if ("reason" in entry) aside.add(entry);
      else yield row(entry.record, entry.place.row, part);
    }
    aside.tell(notes);
  }
}

interface Entries {
  name: string;
  part: Split | undefined;
  entries: () => AsyncIterable<DataEntry> | Iterable<DataEntry>;
}

async function knownEntries(origin: Origin): Promise<Entries[]> {
  if ("records" in origin) {
    const records = await origin.records();
    const reading = { map: {}, main: undefined, tabular: false, jsonText: false };
    const entries = () =>
      records.map((record, i) => {
        const place = { row: i + 1, line: i + 1 };
        return understand({ place, record, bigIntegers: [], notes: [] }, reading);
      });
    return [{ name: origin.name, part: undefined, entries }];
  }
  const { map } = origin;
  const files = partFiles(origin.path).map(async ({ path, part }) => {
    const data = await openData(path, map === undefined ? {} : { map });
    return { name: path, part, entries: () => data.entries() };
  });
  return Promise.all(files);
}

function partOf(part: Split | undefined): { part?: Split } {
  return part === undefined ? {} : { part };
}

/** Names of mlx-lm and Hugging Face. */
const partNames: Record<string, Split> = {
  train: "train",
  valid: "validation",
  validation: "validation",
  val: "validation",
  dev: "validation",
  test: "held-out",
};

const rowFiles = new Set([".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet"]);

/** `train.jsonl`, `test.csv`, `validation-00000-of-00002.parquet`. */
function partNamed(file: string): Split | undefined {
  const extension = extname(file).toLowerCase();
  if (!rowFiles.has(extension)) return undefined;
  const [, name] = /^([a-z]+)(-\d+-of-\d+)?$/.exec(basename(file, extname(file)).toLowerCase()) ?? [];
  return name !== undefined && Object.hasOwn(partNames, name) ? partNames[name] : undefined;
}

/** The files of a folder by part; of a file called `train.*` its sisters too; otherwise the path itself. Throws `no-rows`. */
function partFiles(path: string): { path: string; part: Split | undefined }[] {
  const isFolder = existsSync(path) && statSync(path).isDirectory();
  if (!isFolder && (!existsSync(path) || partNamed(path) !== "train")) return [{ path, part: undefined }];
  const folder = isFolder ? path : dirname(path);
  const named = filesByPart(folder);
  const found = named.length === 0 && isFolder ? filesByPart(join(folder, "data")) : named;
  if (!isFolder) {
    const sisters = found.filter(({ path: other, part }) => part !== "train" && extname(other) === extname(path));
    return [{ path, part: "train" }, ...sisters];
  }
  if (found.some(({ part }) => part === "train")) return found;
  const only = readdirSync(folder).filter((file) => rowFiles.has(extname(file).toLowerCase()));
  if (only.length === 1) return [{ path: join(folder, only[0]), part: undefined }];
  throw new HoneError("no-rows", `the folder ${path} has neither a task.json nor a file of training rows`, {
    fix: "name the files train.jsonl, valid.jsonl and test.jsonl (any kind of data file), or give one file",
  });
}

function filesByPart(folder: string): { path: string; part: Split }[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .flatMap((file) => {
      const part = partNamed(file);
      return part === undefined ? [] : [{ path: join(folder, file), part }];
    });
}

/** A row's own id where it has one that no other row has; otherwise its part and number. */
class Ids {
  readonly #seen = new TextNumbers();

  next({ id }: Record<string, unknown>, row: number, part: Split | undefined): string {
    const own = typeof id === "number" || (typeof id === "string" && id !== "") ? String(id) : undefined;
    const numbered = `${part === undefined || part === "train" ? "row" : part}-${row}`;
    const base = own ?? numbered;
    let name = base;
    for (let i = 1; !this.#isNew(name); i++) name = `${base} (${i === 1 ? numbered : i})`;
    return name;
  }

  #isNew(name: string): boolean {
    const { size } = this.#seen;
    return this.#seen.numberOf(name) === size;
  }
}

/** Counts what is left out: rows never vanish without a word. */
class SetAside {
  readonly #name: string;
  #count = 0;
  #first: SetAsideRow | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  add(row: SetAsideRow): void {
    this.#count++;
    this.#first ??= row;
  }

  tell(notes: string[]): void {
    if (this.#first === undefined) return;
    const { place, reason } = this.#first;
    const were = this.#count === 1 ? "was" : "were";
    notes.push(
      `${plural(this.#count, "row")} of ${this.#name} ${were} set aside; the first, on line ${place.line}: ${reason}`,
    );
  }
}
