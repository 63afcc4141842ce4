/** JSON files whose content is checked: whoever damaged one is told which, and where. */

import { readFileSync } from "node:fs";
import type { z } from "zod";
import { HoneError } from "../contract/errors.ts";
import { readJsonLines } from "./jsonl.ts";

/** A file's content as its schema wants it. Throws `bad-json` or `bad-data` with the path. */
export function readJson<T>(path: string, schema: z.ZodType<T>): T {
  const text = readFileSync(path, "utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new HoneError("bad-json", `${path} is not JSON`, { cause: error });
  }
  return checked(schema, value, path);
}

/** All complete lines of a JSON Lines file; a missing file has none. Throws `bad-jsonl` or `bad-data` with the line. */
export function readRows<T>(path: string, schema: z.ZodType<T>): T[] {
  return readJsonLines(path).rows.map((row, i) => checked(schema, row, `${path}, row ${i + 1}`));
}

function checked<T>(schema: z.ZodType<T>, value: unknown, place: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue.path.join(".");
  throw new HoneError("bad-data", `${place}: ${field === "" ? "" : `${field}: `}${issue.message}`);
}
