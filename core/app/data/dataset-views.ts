/** Datasets as the app shows them: lists, windows of rows, history. */

import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type {
  DatasetChange,
  DatasetView,
  HistoryLine,
  ListedDataset,
  RowFilter,
  RowPage,
  RowView,
  SetAsideView,
} from "../../contract/api/data-calls.ts";
import type { HistoryEntry } from "../../contract/data-json.ts";
import { isSetAside, type DataShape } from "../../contract/data.ts";
import { isRecord } from "../../contract/is-record.ts";
import { datasetFiles, surveyDatasets, type Dataset } from "../../data/dataset.ts";
import { applyMap, formOf } from "../../data/forms.ts";
import { parseJson } from "../../data/parse-json.ts";
import { promptOf } from "../../data/row-keys.ts";
import { folderBytes } from "../../files/disk.ts";
import { readRows } from "../../files/json.ts";
import { methodsOf } from "./methods-of.ts";
import { useData, useDataset } from "./open-datasets.ts";
import { previewRow } from "./preview-row.ts";
import { setAsideView } from "./set-aside-view.ts";

export function listDatasetsWithShapes(): ReturnType<typeof surveyDatasets> & { datasets: ListedDataset[] } {
  const { datasets, damaged } = surveyDatasets();
  const listed = datasets.map((dataset) => {
    const shape = shapeOfFirstRow(dataset.path);
    return { ...dataset, bytes: folderBytes(dataset.path), shape: shape ?? null, methods: methodsOf(shape) };
  });
  return { datasets: listed, damaged };
}

/** Told without opening the dataset: an import has rows of one shape as a rule. */
function shapeOfFirstRow(path: string): DataShape | undefined {
  const record = firstRecord(join(path, datasetFiles.rows)) ?? firstAdded(path);
  if (record === undefined) return undefined;
  const reading = { map: {}, main: undefined, tabular: false };
  return formOf(applyMap(record, reading).fields, {})?.shape;
}

/** A longer first row is not looked at. */
const longestFirst = 1 << 20;

function firstRecord(file: string): Record<string, unknown> | undefined {
  const length = existsSync(file) ? Math.min(statSync(file).size, longestFirst) : 0;
  if (length === 0) return undefined;
  const bytes = Buffer.alloc(length);
  const handle = openSync(file, "r");
  try {
    readSync(handle, bytes, 0, length, 0);
  } finally {
    closeSync(handle);
  }
  const end = bytes.indexOf(0x0a);
  const parsed = parseJson(bytes.toString("utf8", 0, end < 0 ? length : end));
  return "value" in parsed && isRecord(parsed.value) ? parsed.value : undefined;
}

function firstAdded(path: string): Record<string, unknown> | undefined {
  const [first] = readRows(join(path, datasetFiles.history), z.looseObject({ changes: z.array(z.unknown()) }));
  const change = first?.changes[0];
  return isRecord(change) && isRecord(change["after"]) ? change["after"] : undefined;
}

export async function viewDataset(name: string): Promise<DatasetView> {
  const dataset = await useDataset(name);
  const data = await useData(name);
  return {
    ...dataset.summary(),
    shape: data.shape ?? null,
    methods: methodsOf(data.shape),
    columns: [...data.columns],
    mapping: { ...data.mapping },
    warnings: [...data.warnings],
    ...dataset.next,
  };
}

/** A window of the rows that a filter leaves. */
export async function rowWindow(
  { name, filter, from, limit }: { name: string; filter: RowFilter | null; from: number; limit: number },
  signal: AbortSignal,
): Promise<RowPage> {
  const dataset = await useDataset(name);
  const { point } = dataset;
  const found = filter === null || isEmpty(filter) ? undefined : await matches(dataset, filter, signal);
  const rows =
    found === undefined
      ? await dataset.page(from + 1, limit)
      : await Promise.all(found.slice(from, from + limit).map((row) => dataset.row(row)));
  return {
    point,
    total: found?.length ?? dataset.size,
    rows: rows.map(({ row, record }) => previewRow(row, record)),
  };
}

function isEmpty({ text, rows }: RowFilter): boolean {
  return text.trim() === "" && rows === null;
}

/** The rows of a dataset's last filter: windows of one filter are asked for one after the other. */
const lastMatches = new WeakMap<Dataset, { key: string; rows: Promise<number[]> }>();

async function matches(dataset: Dataset, filter: RowFilter, signal: AbortSignal): Promise<number[]> {
  const key = `${dataset.point} ${JSON.stringify(filter)}`;
  const known = lastMatches.get(dataset);
  if (known?.key === key) return known.rows;
  const rows = findRows(dataset, filter, signal);
  lastMatches.set(dataset, { key, rows });
  try {
    return await rows;
  } catch (error) {
    if (lastMatches.get(dataset)?.key === key) lastMatches.delete(dataset);
    throw error;
  }
}

async function findRows(dataset: Dataset, filter: RowFilter, signal: AbortSignal): Promise<number[]> {
  const wanted = filter.text.trim().toLowerCase();
  const among = filter.rows === null ? undefined : new Set(filter.rows);
  const found: number[] = [];
  if (wanted === "") return [...(among ?? [])].filter((row) => row <= dataset.size).sort((a, b) => a - b);
  const data = await useData(dataset.name, { signal });
  for await (const { raw } of data.pairs()) {
    const { row } = raw.place;
    if ("reason" in raw || (among !== undefined && !among.has(row))) continue;
    const values = filter.column === null ? Object.values(raw.record) : [raw.record[filter.column]];
    if (values.some((value) => says(value, wanted))) found.push(row);
  }
  return found;
}

/** Whether a text is anywhere in a value; keys and punctuation of JSON are not looked at. */
function says(value: unknown, wanted: string): boolean {
  if (typeof value === "string") return value.toLowerCase().includes(wanted);
  if (Array.isArray(value)) return value.some((item) => says(item, wanted));
  if (isRecord(value)) return Object.values(value).some((item) => says(item, wanted));
  return JSON.stringify(value ?? "").includes(wanted);
}

export async function viewRow(name: string, row: number): Promise<RowView> {
  const dataset = await useDataset(name);
  const { record } = await dataset.row(row);
  const entry = await (await useData(name)).row(row);
  const known = isSetAside(entry) ? undefined : entry;
  return {
    point: dataset.point,
    row,
    record,
    shape: known?.shape ?? null,
    prompt: (known === undefined ? undefined : promptOf(known)) ?? null,
    tools: known?.tools ?? [],
  };
}

export async function historyLines(name: string): Promise<{ point: number; entries: HistoryLine[] }> {
  const dataset = await useDataset(name);
  const entries = dataset.history.map(({ changes, ...line }) => ({ ...line, rows: changes.length }));
  return { point: dataset.point, entries: entries.reverse() };
}

const setAsideLine = z.object({
  row: z.number(),
  line: z.number(),
  reason: z.string(),
  record: z.record(z.string(), z.unknown()).optional(),
});

/** Entries that are shown. */
const mostSetAside = 1000;

export async function setAsideOf(name: string): Promise<{ total: number; entries: SetAsideView[] }> {
  const dataset = await useDataset(name);
  const lines = readRows(join(dataset.path, datasetFiles.setAside), setAsideLine);
  const entries = lines
    .slice(0, mostSetAside)
    .map(({ record, ...line }) =>
      setAsideView({ ...line, ...(record !== undefined && { record }) }, Object.keys(record ?? {})),
    );
  return { total: lines.length, entries };
}

/** What a window needs to know after a change. */
export function afterChange(dataset: Dataset, { note, changes }: HistoryEntry): DatasetChange {
  const row = changes.length === 1 ? dataset.rowOf(changes[0].id) : null;
  return { point: dataset.point, rows: dataset.size, note, row };
}
