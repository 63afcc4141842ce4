/** Divides a user's rows by key, the same way for the same keys and seed, whatever their order in the file. */

import { createHash } from "node:crypto";
import type { Split } from "../contract/eval.ts";
import type { Seed } from "../contract/random.ts";

/** Shares of the keys. */
export interface SplitShares {
  heldOut: number;
  validation: number;
}

export const usualShares: SplitShares = { heldOut: 0.1, validation: 0.1 };

/**
 * Deals distinct keys: in the order of their hashes with the seed, the first are held out, the next validate, the rest
 * train. A key that comes or goes moves at most a few others. Parts with a share get a key each where there are three.
 */
export function splitKeys(keys: Iterable<string>, shares: SplitShares, seed: Seed): Map<string, Split> {
  const ranked = [...new Set(keys)].map((key) => ({ key, rank: hashRank(`${seed}\n${key}`) }));
  ranked.sort((a, b) => a.rank - b.rank || (a.key < b.key ? -1 : 1));
  const count = (share: number) =>
    share === 0 || ranked.length < 3 ? 0 : Math.max(1, Math.round(share * ranked.length));
  const heldOut = count(shares.heldOut);
  const validation = count(shares.validation);
  return new Map(
    ranked.map(({ key }, i) => [key, i < heldOut ? "held-out" : i < heldOut + validation ? "validation" : "train"]),
  );
}

function hashRank(text: string): number {
  return createHash("sha256").update(text).digest().readUIntBE(0, 6);
}

/** One name for all keys that hang together: those of one list, and of lists that share a key with it. */
export class KeyGroups {
  readonly #parents = new Map<string, string>();

  join(a: string, b: string): void {
    const [first, second] = [this.nameOf(a), this.nameOf(b)];
    if (first !== second) this.#parents.set(first, second);
  }

  nameOf(key: string): string {
    let name = key;
    for (let next = this.#parents.get(name); next !== undefined; next = this.#parents.get(name)) name = next;
    if (name !== key) this.#parents.set(key, name);
    return name;
  }
}
