/** Ways of writing rows that people use, told by their exact keys, and what the user says about columns. */

import type { DataShape } from "../contract/data.ts";
import { HoneError } from "../contract/errors.ts";
import { nearest } from "../contract/nearest.ts";
import type { RecordSource } from "./source.ts";

/** Field → column, where a column is not named as its field. */
export type Mapping = Readonly<Record<string, string>>;

/** A way of writing rows that people use. Of a list of keys any one will do. */
export interface Form {
  name: string;
  shape: DataShape;
  keys: readonly (readonly string[])[];
  /** Fields that are used when they are there. */
  optional: readonly string[];
}

const answer = ["completion", "response"];

/** The first whose keys are all there is a row's form. */
export const forms: readonly Form[] = [
  { name: "tokens", shape: "tokens", keys: [["tokens"], ["loss_mask", "prompt_mask"]], optional: ["prompt_mask"] },
  {
    name: "preference",
    shape: "preference",
    keys: [["chosen"], ["rejected"]],
    optional: ["prompt", "system", "tools"],
  },
  { name: "messages", shape: "messages", keys: [["messages"]], optional: ["system", "tools"] },
  { name: "sharegpt", shape: "messages", keys: [["conversations"]], optional: ["system", "tools"] },
  { name: "label", shape: "label", keys: [["prompt"], answer, ["label"]], optional: ["system", "tools"] },
  { name: "completion", shape: "completion", keys: [["prompt"], answer], optional: ["system", "tools"] },
  {
    name: "alpaca",
    shape: "completion",
    keys: [["instruction"], ["output"]],
    optional: ["input", "system", "history", "tools"],
  },
  { name: "prompt", shape: "prompt", keys: [["prompt"]], optional: ["system", "tools"] },
  { name: "text", shape: "text", keys: [["text"]], optional: [] },
];

/** Every key that means something. */
export const fieldNames: readonly string[] = [
  ...new Set(forms.flatMap(({ keys, optional }) => [...keys.flat(), ...optional])),
];

/** Columns by which people often call a field; only to suggest a mapping, never to assume one. */
const usualNames: Record<string, readonly string[]> = {
  prompt: ["question", "query", "input", "instruction", "problem", "user", "source", "inputs", "context"],
  completion: [
    "answer",
    "output",
    "response",
    "target",
    "solution",
    "reply",
    "assistant",
    "label",
    "targets",
    "summary",
  ],
  chosen: ["preferred", "better", "win", "accepted", "positive"],
  rejected: ["dispreferred", "worse", "lose", "negative"],
  messages: ["conversation", "dialogue", "dialog", "chat", "turns"],
  text: ["content", "body", "document", "article"],
};

export interface Reading {
  /** What the user said about columns. */
  map: Mapping;
  /** The form of most rows: what a row that is incomplete should have been. */
  main: string | undefined;
  /** Cells are text: an empty one is missing. */
  tabular: boolean;
  /** Lists of messages may stand as JSON text. */
  jsonText?: boolean;
}

/** A row with its fields under their own names. */
interface Fields {
  fields: Record<string, unknown>;
  /** Field → column. */
  columnOf: (field: string) => string;
}

export function applyMap(record: Record<string, unknown>, { map, tabular }: Reading): Fields {
  const present = (value: unknown) => value != null && !(tabular && value === "");
  const named = Object.entries(map).map(([field, column]) => [field, record[column]] as const);
  const taken = new Set(Object.values(map));
  const fields = Object.fromEntries(
    [...Object.entries(record).filter(([key]) => !taken.has(key)), ...named].filter(([, value]) => present(value)),
  );
  return { fields, columnOf: (field) => map[field] ?? field };
}

/** Both answers of KTO's label, however spelled; undefined when the column is an ordinary one. */
export function readLabel(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  const text = typeof value === "number" || typeof value === "string" ? String(value).trim().toLowerCase() : "";
  return text === "1" || text === "true" ? true : text === "0" || text === "false" ? false : undefined;
}

export function formOf(fields: Record<string, unknown>, map: Mapping): Form | undefined {
  const has = (keys: readonly string[]) => keys.some((key) => Object.hasOwn(fields, key));
  const fits = forms.filter(
    ({ name, keys }) => keys.every(has) && (name !== "label" || readLabel(fields["label"]) !== undefined),
  );
  const mapped = Object.keys(map);
  // What the user named is meant.
  return (
    fits.find(({ keys, optional }) =>
      mapped.every((field) => keys.flat().includes(field) || optional.includes(field)),
    ) ?? fits[0]
  );
}

export function shapeOfForm(name: string | undefined): DataShape | undefined {
  return forms.find((form) => form.name === name)?.shape;
}

/** Field → column for a file whose rows have these columns. */
export function mappingOf(name: string | undefined, columns: readonly string[], map: Mapping): Record<string, string> {
  const form = forms.find((one) => one.name === name);
  if (form === undefined) return { ...map };
  const found: Record<string, string> = {};
  for (const keys of form.keys) {
    const key = keys.find((one) => map[one] !== undefined || columns.includes(one));
    if (key !== undefined) found[fieldMeant(key)] = map[key] ?? key;
  }
  for (const key of form.optional) if (map[key] !== undefined || columns.includes(key)) found[key] = map[key] ?? key;
  return found;
}

const meant: Record<string, string> = {
  response: "completion",
  conversations: "messages",
  instruction: "prompt",
  output: "completion",
};

/** The field as rows in Hone call it. */
function fieldMeant(key: string): string {
  return meant[key] ?? key;
}

/** A mapping as it is typed: `prompt=question,completion=answer`, in one text or several. Throws `usage`. */
export function parseMapping(texts: readonly string[]): Mapping {
  const pairs = texts
    .flatMap((text) => text.split(","))
    .map((pair) => {
      const equals = pair.indexOf("=");
      const [field, column] = [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()];
      if (equals > 0 && field !== "" && column !== "") return [field, column];
      throw new HoneError("usage", `${JSON.stringify(pair)} is no mapping`, {
        fix: "write field=column, such as prompt=question",
      });
    });
  return Object.fromEntries(pairs) as Record<string, string>;
}

/** Checks a mapping against the columns that there are. Throws `bad-map` with the nearest name. */
function requireMapping(map: Mapping, columns: readonly string[]): void {
  for (const [field, column] of Object.entries(map)) {
    const unknown = !fieldNames.includes(field);
    if (!unknown && (columns.includes(column) || columns.length === 0)) continue;
    const known = unknown ? fieldNames : columns;
    const near = nearest(unknown ? field : column, known);
    const what = unknown
      ? `there is no field ${JSON.stringify(field)}`
      : `there is no column ${JSON.stringify(column)}`;
    throw new HoneError("bad-map", `${what} to map`, {
      fix: `${near === undefined ? "" : `did you mean ${JSON.stringify(near)}? `}${unknown ? "fields" : "columns"}: ${known.join(", ")}`,
    });
  }
}

/** How these columns may have been meant, as a flag; undefined when nothing fits. */
export function suggestMapping(columns: readonly string[]): string | undefined {
  const found = likelyMapping(columns);
  if (found === undefined) return undefined;
  const pairs = Object.entries(found).map(([field, column]) => `${field}=${column}`);
  return `--map ${pairs.join(",")}`;
}

/** Field → column by the names that people often use; undefined when nothing fits. */
export function likelyMapping(columns: readonly string[]): Mapping | undefined {
  const taken = new Set<string>();
  const pick = (field: string) => {
    const found = [field, ...usualNames[field]].find((name) =>
      columns.some((column) => !taken.has(column) && column.toLowerCase() === name),
    );
    const column = columns.find((one) => one.toLowerCase() === found);
    if (column !== undefined) taken.add(column);
    return column === undefined ? [] : [[field, column] as const];
  };
  const sets = [["messages"], ["prompt", "chosen", "rejected"], ["prompt", "completion"], ["prompt"], ["text"]];
  for (const set of sets) {
    taken.clear();
    const found = set.flatMap(pick);
    if (found.length === set.length) return Object.fromEntries(found);
  }
  return undefined;
}

/** Records from the beginning of a file by which its form is told. */
const sampleSize = 1000;

/** The form of most rows, and the columns, from the beginning of a file. Throws `bad-map`. */
export async function findReading(
  source: RecordSource,
  map: Mapping = {},
): Promise<{ reading: Reading; columns: string[] }> {
  const tabular = source.format === "csv" || source.format === "tsv";
  const reading: Reading = { map, main: undefined, tabular, jsonText: tabular || source.format === "parquet" };
  const columns = new Set<string>();
  const counts = new Map<string, number>();
  let seen = 0;
  for await (const entry of source.records()) {
    if (!("reason" in entry)) {
      for (const column of Object.keys(entry.record)) columns.add(column);
      const form = formOf(applyMap(entry.record, reading).fields, map)?.name;
      if (form !== undefined) counts.set(form, (counts.get(form) ?? 0) + 1);
    }
    if (++seen === sampleSize) break;
  }
  requireMapping(map, [...columns]);
  // Of equally many the form with more keys, which stands further up.
  const names = forms.map(({ name }) => name).filter((name) => counts.has(name));
  const main = names.sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0)).at(0);
  return { reading: { ...reading, main }, columns: [...columns] };
}
