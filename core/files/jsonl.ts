/** JSON Lines that survive a kill: a line is complete once its newline is there, and a torn last line is no row. */

import { appendFileSync, existsSync, readFileSync, statSync, truncateSync } from "node:fs";
import { HoneError } from "../contract/errors.ts";
import { rethrowDiskFull } from "./disk.ts";

export interface JsonLines {
  rows: unknown[];
  /** True when the last line had no end and was left out. */
  torn: boolean;
  /** Length of the file without its torn line. */
  completeBytes: number;
}

export function toJsonLines(rows: readonly unknown[]): string {
  return rows.map((row) => JSON.stringify(row) + "\n").join("");
}

/** Adds one row in one write. On a full disk the part of the line that got through is taken back. */
export function appendJsonLine(path: string, row: unknown): void {
  const before = existsSync(path) ? statSync(path).size : 0;
  try {
    appendFileSync(path, toJsonLines([row]));
  } catch (error) {
    try {
      if (existsSync(path) && statSync(path).size > before) truncateSync(path, before);
    } catch {
      // The reader leaves a torn line out, so the first error is the one to report.
    }
    rethrowDiskFull(error, path);
  }
}

/** All rows; a missing file has none. A line that is not JSON, other than a torn last one, is an error with its number. */
export function readJsonLines(path: string): JsonLines {
  if (!existsSync(path)) return { rows: [], torn: false, completeBytes: 0 };
  const data = readFileSync(path);
  const completeBytes = data.lastIndexOf(0x0a) + 1;
  const lines = data.subarray(0, completeBytes).toString("utf8").split("\n");
  const rows: unknown[] = [];
  lines.forEach((line, index) => {
    if (line.trim() === "") return;
    try {
      rows.push(JSON.parse(line));
    } catch (error) {
      throw new HoneError("bad-jsonl", `${path}, line ${index + 1} is not JSON`, { cause: error });
    }
  });
  return { rows, torn: completeBytes < data.length, completeBytes };
}

/** Cuts a torn last line off, so that the next append starts on a line of its own. */
export function repairJsonLines(path: string): void {
  const { torn, completeBytes } = readJsonLines(path);
  if (torn) truncateSync(path, completeBytes);
}
