/** Divides a user's rows by key, the same way for the same keys and seed, whatever their order in the file. */

import { splits } from "../../contract/eval.ts";
import type { Seed } from "../../contract/random.ts";
import { hash48, TextNumbers } from "./columns.ts";

/** Shares of the keys. */
export interface SplitShares {
  heldOut: number;
  validation: number;
}

export const usualShares: SplitShares = { heldOut: 0.1, validation: 0.1 };

/** Parts as numbers. */
const [train, validating, heldBack] = (["train", "validation", "held-out"] as const).map((part) =>
  splits.indexOf(part),
);

/**
 * Deals rows by their keys; `part[i]` is the index in `splits` of row i's part. Distinct keys go in the order of their
 * hashes with the seed: the first are held out, the next validate, the rest train. A key that comes or goes moves at most
 * a few others. Parts with a share get a key each where there are three. `keyOf` gives undefined for a row that is not to
 * be dealt.
 */
export function dealRows(
  count: number,
  keyOf: (index: number) => string | undefined,
  shares: SplitShares,
  seed: Seed,
): Uint8Array {
  const ranks = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const key = keyOf(i);
    ranks[i] = key === undefined ? NaN : hash48(`${seed}\n${key}`);
  }
  const sorted = ranks.filter((rank) => !Number.isNaN(rank)).sort();
  const distinct = sorted.filter((rank, i) => i === 0 || rank !== sorted[i - 1]);
  const keys = (share: number) =>
    share === 0 || distinct.length < 3 ? 0 : Math.max(1, Math.round(share * distinct.length));
  const heldOut = keys(shares.heldOut);
  const limits = [heldOut, heldOut + keys(shares.validation)].map((end) => distinct[end] ?? Infinity);
  return Uint8Array.from(ranks, (rank) => (rank < limits[0] ? heldBack : rank < limits[1] ? validating : train));
}

/** Groups that hang together: rows of one group, and of groups that share a prompt with it. */
export class TiedGroups {
  readonly #names = new TextNumbers();
  /** Of each name: the one that it goes by, and the first row that has it. */
  readonly #parents: number[] = [];
  readonly #rows: number[] = [];

  /** The row's prompt, and the group that it is in. */
  add(row: number, prompt: string, group: string): void {
    const root = this.#root(this.#number(`prompt ${prompt}`, row));
    const other = this.#root(this.#number(`group ${group}`, row));
    this.#parents[root] = other;
  }

  /** The first row of the group by which all that hang together with this one are called. */
  rowOf(group: string): number {
    return this.#rows[this.#root(this.#names.numberOf(`group ${group}`))];
  }

  #number(name: string, row: number): number {
    const number = this.#names.numberOf(name);
    if (number === this.#parents.length) {
      this.#parents.push(number);
      this.#rows.push(row);
    }
    return number;
  }

  #root(number: number): number {
    let root = number;
    while (this.#parents[root] !== root) root = this.#parents[root];
    this.#parents[number] = root;
    return root;
  }
}
