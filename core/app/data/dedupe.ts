/** Takes rows out that say what an earlier one says. */

import type { HistoryEntry } from "../../contract/data-json.ts";
import { HoneError } from "../../contract/errors.ts";
import type { Dataset } from "../../data/dataset.ts";
import { NearDuplicates } from "../../data/near-duplicates.ts";
import { Data, type OpenDataOptions } from "../../data/open-data.ts";
import { contentKey, rowText } from "../../data/row-keys.ts";

/** One change, which can be undone. `near`: also rows that say nearly the same. Throws `nothing-to-delete`. */
export async function dedupe(
  dataset: Dataset,
  { near = false, ...options }: OpenDataOptions & { near?: boolean } = {},
): Promise<{ entry: HistoryEntry; deleted: number }> {
  const data = await Data.over(dataset.source(), options);
  const seen = new Set<string>();
  const alike = new NearDuplicates();
  const repeated: number[] = [];
  for await (const row of data.rows()) {
    const key = contentKey(row);
    const { row: number } = row.place;
    const known = seen.has(key) || (near && row.shape !== "tokens" && alike.add(number, rowText(row)) !== undefined);
    if (known) repeated.push(number);
    seen.add(key);
  }
  if (repeated.length === 0) throw new HoneError("nothing-to-delete", `no row of ${dataset.name} stands in it twice`);
  const what = near ? "repeated or nearly repeated" : "repeated";
  const entry = await dataset.delete(
    repeated,
    `${repeated.length} ${what} row${repeated.length === 1 ? "" : "s"} deleted`,
  );
  return { entry, deleted: repeated.length };
}
