/** What a file's rows are like: lengths, repetition, empty answers, and rows that stand in another file, too. */

import type { DataStats } from "../contract/data-json.ts";
import { isSetAside, type DataRow } from "../contract/data.ts";
import { HoneError } from "../contract/errors.ts";
import { NearDuplicates } from "./near-duplicates.ts";
import type { Data } from "./open-data.ts";
import { contentKey, messagesOf, promptKey, promptOf, rowText } from "./row-keys.ts";
import { answerIsEmpty } from "./understand.ts";

export interface StatsOptions {
  /** Tokens of a row, and those that a loss would use. May throw `HoneError` where a model refuses the row. */
  measure?: (row: DataRow) => { length: number; trained: number };
  /** Rows that must not be trained on: a test set. */
  against?: Data;
  signal?: AbortSignal;
}

/** Entries of a list in the result. */
const most = 100;
/** Rows among which near-duplicates are looked for; each takes about 2 kB of memory. */
const mostCompared = 100_000;

export async function dataStats(data: Data, { measure, against, signal }: StatsOptions = {}): Promise<DataStats> {
  const other = against === undefined ? undefined : await promptRows(against);
  const lengths: number[] = [];
  const shapes: DataStats["shapes"] = {};
  const roles: DataStats["roles"] = {};
  const firstByContent = new Map<string, number>();
  const prompts = new Set<string>();
  const near = new NearDuplicates();
  const [duplicates, nearDuplicates] = [new Groups(), new Groups()];
  const empty = new Listed<number>();
  const leaked = new Listed<{ row: number; other_row: number }>();
  const refused = new Listed<{ row: number; reason: string }>();
  let [aside, repeated, trained, compared] = [0, 0, 0, 0];
  let longest: { row: number; length: number } | undefined;

  for await (const entry of data.entries()) {
    signal?.throwIfAborted();
    if (isSetAside(entry)) {
      aside++;
      continue;
    }
    const { row } = entry.place;
    shapes[entry.shape] = (shapes[entry.shape] ?? 0) + 1;
    for (const { role } of messagesOf(entry)) roles[role] = (roles[role] ?? 0) + 1;
    const text = rowText(entry);
    const size = measured(entry, text, measure);
    if ("reason" in size) refused.add({ row, reason: size.reason });
    else {
      lengths.push(size.length);
      trained += size.trained;
      if (longest === undefined || size.length > longest.length) longest = { row, length: size.length };
    }
    if (hasEmptyAnswer(entry)) empty.add(row);
    const prompt = promptKey(entry);
    const otherRow = other?.get(prompt);
    if (otherRow !== undefined) leaked.add({ row, other_row: otherRow });
    const content = contentKey(entry);
    const first = firstByContent.get(content);
    if (first !== undefined) {
      duplicates.add(first, row);
      continue;
    }
    firstByContent.set(content, row);
    if (promptOf(entry) !== undefined && prompts.has(prompt)) repeated++;
    prompts.add(prompt);
    if (entry.shape === "tokens" || compared >= mostCompared) continue;
    compared++;
    const like = near.add(row, text);
    if (like !== undefined) nearDuplicates.add(like, row);
  }
  return {
    rows: data.size,
    ok: data.size - aside,
    set_aside_count: aside,
    shapes,
    roles,
    unit: measure === undefined ? "characters" : "tokens",
    length: lengthStats(lengths),
    trained: measure === undefined ? null : trained,
    longest_row: longest?.row ?? null,
    duplicates: duplicates.list(),
    near_duplicates: { ...nearDuplicates.list(), rows_compared: compared },
    repeated_prompts: repeated,
    empty_answers: { count: empty.count, rows: empty.items },
    leaked: other === undefined ? null : { count: leaked.count, rows: leaked.items },
    refused: { count: refused.count, rows: refused.items },
  };
}

function measured(
  row: DataRow,
  text: string,
  measure: StatsOptions["measure"],
): { length: number; trained: number } | { reason: string } {
  if (measure === undefined) return { length: row.shape === "tokens" ? row.tokens.length : text.length, trained: 0 };
  try {
    return measure(row);
  } catch (error) {
    if (error instanceof HoneError) return { reason: error.message };
    throw error;
  }
}

async function promptRows(data: Data): Promise<Map<string, number>> {
  const rows = new Map<string, number>();
  for await (const row of data.rows()) {
    const key = promptKey(row);
    if (!rows.has(key)) rows.set(key, row.place.row);
  }
  return rows;
}

function hasEmptyAnswer(row: DataRow): boolean {
  switch (row.shape) {
    case "messages":
      return row.messages.some((message) => message.role === "assistant" && answerIsEmpty([message]));
    case "completion":
    case "label":
      return answerIsEmpty(row.completion);
    case "preference":
      return answerIsEmpty(row.chosen) || answerIsEmpty(row.rejected);
    default:
      return false;
  }
}

function lengthStats(lengths: number[]): DataStats["length"] {
  const sorted = Float64Array.from(lengths).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  const total = sorted.reduce((sum, length) => sum + length, 0);
  const mean = sorted.length === 0 ? 0 : total / sorted.length;
  return { total, mean, min: at(0), median: at(0.5), p95: at(0.95), max: at(1), histogram: histogramOf(sorted) };
}

/** Above this ratio of the longest to the shortest, steps double: they show the short and the long alike. */
const wide = 16;

/** Of sorted lengths: equal steps, or doubling ones where lengths differ much. */
function histogramOf(sorted: Float64Array): DataStats["length"]["histogram"] {
  const [min, max] = [sorted[0] ?? 0, sorted.at(-1) ?? 0];
  const doubles = max >= wide * Math.max(1, min);
  const step = niceStep((max - min) / 12);
  const histogram: DataStats["length"]["histogram"] = [];
  let at = 0;
  for (let from = doubles ? 0 : Math.floor(min / step) * step; at < sorted.length;) {
    const to = doubles ? Math.max(1, 2 * from) : from + step;
    const before = at;
    while (at < sorted.length && sorted[at] < to) at++;
    if (at > before || histogram.length > 0) histogram.push({ from, to, rows: at - before });
    from = to;
  }
  return histogram;
}

/** The smallest of 1, 2, 5, 10, 20, … that is not less. */
function niceStep(least: number): number {
  for (let unit = 1; ; unit *= 10) {
    const step = [1, 2, 5].find((factor) => factor * unit >= least);
    if (step !== undefined) return step * unit;
  }
}

/** A list of which the first entries are kept and all are counted. */
class Listed<T> {
  count = 0;
  readonly items: T[] = [];

  add(item: T): void {
    this.count++;
    if (this.items.length < most) this.items.push(item);
  }
}

/** Rows that belong to an earlier one. */
class Groups {
  #count = 0;
  readonly #members = new Map<number, number[]>();

  add(first: number, row: number): void {
    this.#count++;
    const members = this.#members.get(first);
    if (members !== undefined) {
      if (members.length < most) members.push(row);
    } else if (this.#members.size < most) this.#members.set(first, [first, row]);
  }

  list(): { count: number; groups: number[][] } {
    return { count: this.#count, groups: [...this.#members.values()] };
  }
}
