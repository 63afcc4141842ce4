/** The rows of a data task, many of them in little memory, and how they are divided. */

import { hash } from "node:crypto";
import { HoneError } from "../../contract/errors.ts";
import { splits, type Split } from "../../contract/eval.ts";
import type { Seed } from "../../contract/random.ts";
import { plural } from "../../contract/units.ts";
import type { RowUse } from "../task.ts";
import { TextColumn } from "./columns.ts";
import type { TaskData } from "./data-task.ts";
import { RowStore } from "./row-store.ts";
import { dealRows, TiedGroups, type SplitShares } from "./split-keys.ts";

/** A row by its place: what it holds is read when it is needed. */
export interface DataTaskRow {
  id: string;
  /** From 0, over all files. */
  index: number;
  /** Of its content: 16 hexadecimal digits. */
  hash: string;
}

/** What a row can be used for, one bit each. */
const uses: Record<RowUse, number> = { prompt: 1, solution: 2, preference: 4 };
const useNames = { prompt: "with a prompt", solution: "with an answer", preference: "with a pair of answers" } as const;

export class RowTable {
  /** What some row has. */
  readonly has = { solution: false, example: false, preference: false, tools: false };
  readonly #group: readonly string[] | undefined;
  /** Each row's content but for its id, as JSON. */
  readonly #store = new RowStore();
  readonly #ids = new TextColumn();
  readonly #hashes = new TextColumn();
  readonly #problems = new TextColumn();
  readonly #tied = new TiedGroups();
  #marks = new Uint8Array(256);
  /** How many rows are of each mix of uses. */
  readonly #counts = new Map<number, number>();
  readonly #given = new Set<Split>();

  /** `group`: columns whose values, together, say which rows pose one problem. Otherwise rows with the same prompt do. */
  constructor(group?: readonly string[]) {
    this.#group = group;
  }

  get length(): number {
    return this.#ids.length;
  }

  /** Throws `no-such-column`. */
  add(data: TaskData, part: Split | undefined): void {
    const { id, ...content } = data;
    const index = this.length;
    const prompt = contentHash(JSON.stringify(data.prompt.length > 0 ? data.prompt : data.example));
    const problem = this.#group === undefined ? prompt : groupOf(data, this.#group);
    // The same prompt in two groups ties them together: otherwise its copy would cross.
    if (this.#group !== undefined) this.#tied.add(index, prompt, problem);
    const json = JSON.stringify(content);
    this.#store.append(json);
    this.#ids.push(id);
    this.#hashes.push(contentHash(json));
    this.#problems.push(problem);

    const use =
      (data.prompt.length > 0 ? uses.prompt : 0) |
      (data.solution !== undefined || data.example !== undefined ? uses.solution : 0) |
      (data.preference !== undefined ? uses.preference : 0);
    if (index === this.#marks.length) {
      const larger = new Uint8Array(2 * index);
      larger.set(this.#marks);
      this.#marks = larger;
    }
    this.#marks[index] = use | (partMark(part) << 4);
    this.#counts.set(use, (this.#counts.get(use) ?? 0) + 1);
    if (part !== undefined) this.#given.add(part);
    for (const what of ["solution", "example", "preference", "tools"] as const) {
      this.has[what] ||= data[what] !== undefined;
    }
  }

  /** What a row holds: a new object every time. */
  read(index: number): TaskData {
    const content = JSON.parse(this.#store.get(index)) as Omit<TaskData, "id">;
    return { id: this.#ids.get(index), ...content };
  }

  id(index: number): string {
    return this.#ids.get(index);
  }

  hash(index: number): string {
    return this.#hashes.get(index);
  }

  problem(index: number): string {
    return this.#problems.get(index);
  }

  holds(index: number, use: RowUse): boolean {
    return (this.#marks[index] & uses[use]) !== 0;
  }

  find(id: string): DataTaskRow | undefined {
    const index = this.#ids.indexOf(id);
    return index < 0 ? undefined : new PlacedRow(this, index);
  }

  /** In words, where rows are of several kinds. */
  mixed(): string | undefined {
    if (this.#counts.size < 2) return undefined;
    const names = Object.keys(uses) as RowUse[];
    const told = names.flatMap((use) => {
      const count = [...this.#counts].reduce((sum, [mix, rows]) => sum + (mix & uses[use] ? rows : 0), 0);
      return count === 0 ? [] : [`${plural(count, "row")} ${useNames[use]}`];
    });
    return `rows of several kinds: ${told.join(", ")}; a method takes those that it can use`;
  }

  close(): void {
    this.#store.close();
  }

  /** Rows by part and seed. Given parts are respected; a part that no file gives is dealt from the training rows. */
  partition(shares: SplitShares, ownSeed: Seed | undefined): (split: Split, seed: Seed) => DataTaskRow[] {
    const open = {
      heldOut: this.#given.has("held-out") ? 0 : shares.heldOut,
      validation: this.#given.has("validation") ? 0 : shares.validation,
    };
    let dealt: { seed: Seed; parts: Record<Split, DataTaskRow[]> } | undefined;
    return (split, seed) => {
      if (dealt?.seed !== seed) {
        dealt = { seed, parts: this.#deal(open, ownSeed === undefined ? seed : `${ownSeed}/${seed}`) };
      }
      return dealt.parts[split];
    };
  }

  #deal(shares: SplitShares, seed: Seed): Record<Split, DataTaskRow[]> {
    const fixed = (index: number) => {
      const part = this.#marks[index] >> 4;
      return part <= partMark("train") ? undefined : splits[part - 1];
    };
    const key = (index: number) => {
      if (this.#group === undefined) return this.problem(index);
      return `group ${this.problem(this.#tied.rowOf(this.problem(index)))}`;
    };
    const dealt = dealRows(this.length, (index) => (fixed(index) === undefined ? key(index) : undefined), shares, seed);
    const parts: Record<Split, DataTaskRow[]> = { train: [], validation: [], "held-out": [] };
    for (let i = 0; i < this.length; i++) parts[fixed(i) ?? splits[dealt[i]]].push(new PlacedRow(this, i));
    return parts;
  }
}

class PlacedRow implements DataTaskRow {
  readonly index: number;
  readonly #table: RowTable;

  constructor(table: RowTable, index: number) {
    this.#table = table;
    this.index = index;
  }

  get id(): string {
    return this.#table.id(this.index);
  }

  get hash(): string {
    return this.#table.hash(this.index);
  }

  toJSON(): DataTaskRow {
    return { id: this.id, index: this.index, hash: this.hash };
  }
}

/** 0: its file stands for no part. */
function partMark(part: Split | undefined): number {
  return part === undefined ? 0 : 1 + splits.indexOf(part);
}

function groupOf({ id, columns }: TaskData, group: readonly string[]): string {
  const values = group.map((column) => {
    if (Object.hasOwn(columns, column)) return columns[column];
    throw new HoneError("no-such-column", `row ${id} has no column ${JSON.stringify(column)} to group by`, {
      fix: `its columns are ${Object.keys(columns).join(", ") || "none"}`,
    });
  });
  return values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(" / ");
}

function contentHash(json: string | undefined): string {
  return hash("sha256", json ?? "", "hex").slice(0, 16);
}
