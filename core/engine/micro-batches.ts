/** From rows of tokens to packed batches: a prefix that rows share stands once, and the rows continue it. */

import type { Batch } from "./types.ts";

/** One sequence for the model: a prefix without loss, and what follows it. */
export interface TokenRow {
  /** May be empty. Neighbours with this very array share its computation. */
  promptIds: Int32Array;
  ids: Int32Array;
  /** One per id: 1 where the token has a loss. */
  mask: Uint8Array;
}

export interface MicroBatch<Row extends TokenRow> {
  batch: Batch;
  /** The rows in it, with the place of each one's first id in `batch.tokens`, and which of the segments it is. */
  rows: { row: Row; offset: number; segment: number }[];
}

/**
 * Packs bundles of rows (the turns of a trajectory, the two answers of a pair) into batches of at most `tokenBudget`
 * tokens; see `planMicroBatches`.
 */
export function packMicroBatches<Row extends TokenRow>(
  bundles: readonly (readonly Row[])[],
  tokenBudget: number,
): MicroBatch<Row>[] {
  return planMicroBatches(bundles, tokenBudget).map(packMicroBatch);
}

/**
 * The rows of each batch of at most `tokenBudget` tokens, in order. A bundle is never cut: one that is longer than the budget gets a batch of its own. Neighbouring
 * bundles with the same prefix stay together if they fit into one batch; otherwise the prefix is repeated.
 */
export function planMicroBatches<Row extends TokenRow>(
  bundles: readonly (readonly Row[])[],
  tokenBudget: number,
): Row[][] {
  const packs: Row[][] = [];
  let pack: Row[] = [];
  let used = 0;
  const close = () => {
    if (pack.length > 0) packs.push(pack);
    pack = [];
    used = 0;
  };
  const whole = bundles.filter((bundle) => bundle.length > 0);
  for (const family of families(whole)) {
    if (used + tokensOf(family.flat()) > tokenBudget) close();
    for (const bundle of family) {
      const cost = () => tokensOf(bundle, pack[pack.length - 1]?.promptIds);
      if (used + cost() > tokenBudget) close();
      used += cost();
      pack.push(...bundle);
    }
  }
  close();
  return packs;
}

/** Neighbouring bundles that begin with the same prefix. */
function families<Row extends TokenRow>(bundles: readonly (readonly Row[])[]): (readonly Row[])[][] {
  const found: (readonly Row[])[][] = [];
  for (const bundle of bundles) {
    const last = found[found.length - 1] as (readonly Row[])[] | undefined;
    if (last !== undefined && last[0][0].promptIds === bundle[0].promptIds) last.push(bundle);
    else found.push([bundle]);
  }
  return found;
}

/** Tokens that the rows add to a batch whose last prefix is `before`. */
export function tokensOf(rows: readonly TokenRow[], before?: Int32Array): number {
  let tokens = 0;
  let prefix = before;
  for (const { promptIds, ids } of rows) {
    if (promptIds !== prefix) tokens += promptIds.length;
    tokens += ids.length;
    prefix = promptIds;
  }
  return tokens;
}

/** One batch of these rows, in their order. */
export function packMicroBatch<Row extends TokenRow>(rows: readonly Row[]): MicroBatch<Row> {
  const total = tokensOf(rows);
  const tokens = new Int32Array(total);
  const mask = new Uint8Array(total);
  const segments: Batch["segments"] = [];
  const placed: MicroBatch<Row>["rows"] = [];
  let offset = 0;
  let prefix: Int32Array | undefined;
  let parent: number | undefined;
  const add = (ids: Int32Array, segment: Batch["segments"][number]) => {
    tokens.set(ids, offset);
    segments.push(segment);
    offset += ids.length;
  };
  for (const row of rows) {
    if (row.promptIds !== prefix) {
      prefix = row.promptIds;
      parent = prefix.length === 0 ? undefined : segments.length;
      if (prefix.length > 0) add(prefix, { length: prefix.length });
    }
    placed.push({ row, offset, segment: segments.length });
    mask.set(row.mask, offset);
    add(row.ids, parent === undefined ? { length: row.ids.length } : { length: row.ids.length, parent });
  }
  return { batch: { tokens, segments, mask }, rows: placed };
}

/** The row's part of what the engine gave for a batch. */
export function sliceOf(packed: Float32Array, { ids }: TokenRow, offset: number): Float32Array {
  return packed.slice(offset, offset + ids.length);
}

/** Gradients of the rows at their places in the batch. */
export function spread({ batch, rows }: MicroBatch<TokenRow>, gradients: readonly Float64Array[]): Float32Array {
  const packed = new Float32Array(batch.tokens.length);
  rows.forEach(({ offset }, i) => packed.set(gradients[i], offset));
  return packed;
}

export function hasSameIds(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i]);
}
