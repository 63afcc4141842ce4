/** Files as users have them, made in a folder of their own. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DataReport } from "../../../core/contract/data-json.ts";
import type { DataEntry, DataRow } from "../../../core/contract/data.ts";
import { isSetAside } from "../../../core/contract/data.ts";
import { openData } from "../../../core/data/open-data.ts";
import type { Mapping } from "../../../core/data/forms.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-data-"));
let made = 0;

export function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, `${made++}-${name}`);
  writeFileSync(path, content);
  return path;
}

export function lines(rows: readonly unknown[]): string {
  return rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row)) + "\n").join("");
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

export async function check(path: string, map: Mapping = {}): Promise<DataReport> {
  return (await openData(path, { map })).check();
}

/** What Hone makes of each record. */
export async function entries(path: string, map: Mapping = {}): Promise<DataEntry[]> {
  return all((await openData(path, { map })).entries());
}

/** One record of a file of its own. */
export async function one(record: unknown, map: Mapping = {}): Promise<DataRow> {
  const [entry] = await entries(file("one.jsonl", lines([record])), map);
  if (isSetAside(entry)) throw new Error(entry.reason);
  return entry;
}

/** Why a record is set aside; `beside`: good rows of the same file. */
export async function reason(record: unknown, beside: readonly unknown[] = [], map: Mapping = {}): Promise<string> {
  const [entry] = await entries(file("bad.jsonl", lines([record, ...beside])), map);
  if (!isSetAside(entry)) throw new Error(`not set aside: ${JSON.stringify(entry)}`);
  return entry.reason;
}

export const user = (content: string) => ({ role: "user", content });
export const assistant = (content: string) => ({ role: "assistant", content });
