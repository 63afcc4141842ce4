/** Divides a dataset into new ones. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoneError } from "../../contract/errors.ts";
import { deleteDataset, findDataset, type Dataset } from "../../data/dataset.ts";
import { openData, type Data } from "../../data/open-data.ts";
import { partFiles, splitData, type SplitOptions } from "../../data/split.ts";
import { importData } from "./import-data.ts";

const suffixes = { train: "train", validation: "valid", test: "test" } as const;

/** As `splitData`, into datasets `NAME-train`, `NAME-valid` and `NAME-test`: all of them or none. Throws `dataset-exists`. */
export async function splitDataset(
  data: Data,
  name: string,
  options: SplitOptions,
): Promise<{ parts: Dataset[]; groups: number }> {
  for (const suffix of Object.values(suffixes)) {
    if (findDataset(`${name}-${suffix}`) === undefined) continue;
    throw new HoneError("dataset-exists", `there is a dataset "${name}-${suffix}" already`, {
      fix: `delete it first, if it is from an earlier split`,
    });
  }
  const folder = mkdtempSync(join(tmpdir(), "hone-split-"));
  const parts: Dataset[] = [];
  try {
    const counts = await splitData(data, join(folder, "parts"), options);
    for (const part of ["train", "validation", "test"] as const) {
      if (counts[part] === 0) continue;
      const rows = await openData(join(folder, "parts", partFiles[part]));
      parts.push(await importData(rows, `${name}-${suffixes[part]}`, `${name}, ${part} part`));
    }
    return { parts, groups: counts.groups };
  } catch (error) {
    for (const part of parts) await deleteDataset(part.name);
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
