/** Divides a file's rows into parts for training, validation and test, so that no part knows another's questions. */

import { createHash } from "node:crypto";
import { join } from "node:path";
import { isSetAside } from "../contract/data.ts";
import { HoneError } from "../contract/errors.ts";
import type { Seed } from "../contract/random.ts";
import { publishFolder } from "../files/atomic.ts";
import { LineWriter } from "./line-writer.ts";
import { noRows, type Data } from "./open-data.ts";
import { promptKey } from "./row-keys.ts";

export interface SplitOptions {
  seed: Seed;
  /** Shares of the rows, from 0 to below 1 together. */
  validation: number;
  test: number;
  /** Column whose equal values stay together. */
  group?: string;
}

export const partFiles = { train: "train.jsonl", validation: "valid.jsonl", test: "test.jsonl" } as const;
type Part = keyof typeof partFiles;

export interface SplitCounts {
  train: number;
  validation: number;
  test: number;
  /** Sets of rows that had to stay together. */
  groups: number;
  set_aside_count: number;
}

/**
 * Writes `train.jsonl`, `valid.jsonl` and `test.jsonl` into a new folder: the rows as they stand in the file (mapped
 * columns under the names of their fields), in its order. Rows with the same prompt, or the same group, stay together.
 * Which part a row is in depends on the seed and the rows' prompts or groups, not on their order. Throws `bad-split`,
 * `no-such-column`, `folder-exists`, `no-rows`.
 */
export async function splitData(data: Data, folder: string, options: SplitOptions): Promise<SplitCounts> {
  const { validation, test } = options;
  if (!(validation >= 0) || !(test >= 0) || validation + test >= 1) {
    throw new HoneError("bad-split", `${validation} for validation and ${test} for test leave nothing to train on`, {
      fix: "give shares that are together less than 1, such as --validation 0.1 --test 0.1",
    });
  }
  const { keys, setAside } = await rowKeys(data, options.group);
  const parts = dealParts(keys, options);
  const counts: Record<Part, number> = { train: 0, validation: 0, test: 0 };
  const fill = async (temporary: string) => {
    const writers = new Map<Part, LineWriter>();
    for (const part of ["train", "validation", "test"] as const) {
      if (part === "train" || options[part] > 0) writers.set(part, new LineWriter(join(temporary, partFiles[part])));
    }
    for await (const { raw, entry } of data.pairs()) {
      if (isSetAside(entry) || "reason" in raw) continue;
      const part = parts.get(keys.get(entry.place.row) ?? "") ?? "train";
      counts[part]++;
      const record = data.settled(raw, entry);
      // The very text of the file, where nothing is to be changed.
      writers.get(part)?.writeText(record === raw.record && raw.text !== undefined ? raw.text : JSON.stringify(record));
    }
    for (const writer of writers.values()) writer.end();
  };
  try {
    await publishFolder(folder, fill, { replace: false });
  } catch (error) {
    if (!(error instanceof HoneError) || error.code !== "folder-exists") throw error;
    throw new HoneError("folder-exists", error.message, { cause: error, fix: "choose another --out" });
  }
  return { ...counts, groups: parts.size, set_aside_count: setAside };
}

/** Row → name of the set that it has to stay in. */
async function rowKeys(data: Data, group?: string): Promise<{ keys: Map<number, string>; setAside: number }> {
  const sets = new JoinedSets();
  const keys = new Map<number, string>();
  let setAside = 0;
  for await (const { raw, entry } of data.pairs()) {
    if (isSetAside(entry) || "reason" in raw) {
      setAside++;
      continue;
    }
    const key = `prompt ${promptKey(entry)}`;
    if (group !== undefined) {
      if (!Object.hasOwn(raw.record, group)) {
        const { row, line } = entry.place;
        throw new HoneError("no-such-column", `row ${row} (line ${line}) has no ${JSON.stringify(group)} to group by`, {
          fix: `its columns are ${Object.keys(raw.record).join(", ")}`,
        });
      }
      sets.join(key, `group ${JSON.stringify(raw.record[group])}`);
    }
    keys.set(entry.place.row, key);
  }
  if (keys.size === 0) throw noRows(data.name);
  for (const [row, key] of keys) keys.set(row, sets.nameOf(key));
  return { keys, setAside };
}

/** Sets in the order of their hashes with the seed: the test part is filled first, then validation. */
function dealParts(keys: ReadonlyMap<number, string>, { seed, validation, test }: SplitOptions): Map<string, Part> {
  const sizes = new Map<string, number>();
  for (const key of keys.values()) sizes.set(key, (sizes.get(key) ?? 0) + 1);
  const rank = (key: string) => createHash("sha256").update(`${seed}\n${key}`).digest("hex");
  const order = [...sizes.keys()].map((key) => ({ key, rank: rank(key) }));
  order.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const wanted = { test: Math.round(test * keys.size), validation: Math.round(validation * keys.size) };
  const taken = { test: 0, validation: 0 };
  const parts = new Map<string, Part>();
  for (const { key } of order) {
    const size = sizes.get(key) ?? 0;
    // A set goes where at least half of it has room, so that one large set does not fill a small part.
    const part = (["test", "validation"] as const).find(
      (one) => taken[one] + size / 2 <= wanted[one] && wanted[one] > 0,
    );
    if (part !== undefined) taken[part] += size;
    parts.set(key, part ?? "train");
  }
  if (![...parts.values()].includes("train")) {
    throw new HoneError("bad-split", "all rows have to stay together, so they cannot be divided", {
      fix: "choose another --group, or smaller parts",
    });
  }
  return parts;
}

/** One name for all keys that were joined, directly or by way of others: the smallest, whatever the order of joining. */
class JoinedSets {
  readonly #parents = new Map<string, string>();

  join(a: string, b: string): void {
    const [first, second] = [this.nameOf(a), this.nameOf(b)].sort();
    if (first !== second) this.#parents.set(second, first);
  }

  nameOf(key: string): string {
    let name = key;
    for (let next = this.#parents.get(name); next !== undefined; next = this.#parents.get(name)) name = next;
    if (name !== key) this.#parents.set(key, name);
    return name;
  }
}
