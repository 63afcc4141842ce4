/** From a file to a dataset: what is in it, what is wrong with it, and its good rows copied. */

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import type { DataCheck, DataInspection } from "../../contract/api/data-calls.ts";
import { isSetAside, type SetAsideRow } from "../../contract/data.ts";
import { HoneError } from "../../contract/errors.ts";
import { createDataset, findDataset, type Dataset } from "../../data/dataset.ts";
import { likelyMapping, type Mapping } from "../../data/forms.ts";
import { noRows, openData, type Data, type OpenDataOptions } from "../../data/open-data.ts";
import { asUserError } from "../../files/system-error.ts";
import { honeHome } from "../../store/library.ts";
import { methodsOf } from "./methods-of.ts";
import { previewRow } from "./preview-row.ts";
import { setAsideView } from "./set-aside-view.ts";

/**
 * Copies the good rows into a new dataset, and what is wrong with the others beside them. Throws `bad-name`,
 * `dataset-exists`, `no-rows`.
 */
export async function importData(opened: Data, name: string, source = opened.name): Promise<Dataset> {
  return createDataset({
    name,
    source,
    sourceSha256: await opened.sha256(),
    fill: async ({ row, setAside }) => {
      let rows = 0;
      let first: SetAsideRow | undefined;
      for await (const { raw, entry } of opened.pairs()) {
        if (!isSetAside(entry) && !("reason" in raw)) {
          row(opened.settled(raw, entry));
          rows++;
        } else if (isSetAside(entry)) {
          setAside({ ...entry.place, reason: entry.reason, ...("record" in raw && { record: raw.record }) });
          first ??= entry;
        }
      }
      if (rows === 0) throw noRows(opened.name, first);
    },
  });
}

const headRows = 20;

/** What a file is, told from its beginning and the places of its rows. */
export async function inspectFile(path: string, map: Mapping): Promise<DataInspection> {
  const file = resolve(path);
  const opened = await openData(file, { map });
  const head = await Promise.all(
    Array.from({ length: Math.min(headRows, opened.size) }, async (_, i) => {
      const raw = await opened.raw(i + 1);
      return "reason" in raw ? { row: i + 1, cells: {} } : previewRow(i + 1, raw.record);
    }),
  );
  return {
    path: file,
    size: statSync(file).size,
    format: opened.format,
    rows: opened.size,
    shape: opened.shape ?? null,
    methods: methodsOf(opened.shape),
    columns: [...opened.columns],
    mapping: { ...opened.mapping },
    suggestion: opened.shape === undefined ? (likelyMapping(opened.columns) ?? null) : null,
    warnings: [...opened.warnings],
    head,
    version: fileVersion(file),
    name: freeName(basename(file, extname(file))),
  };
}

/** Every row of a file. */
export async function checkFile(path: string, options: OpenDataOptions): Promise<DataCheck> {
  const opened = await openData(path, options);
  const { ok, set_aside, set_aside_count, shapes, warnings, columns } = await opened.check();
  const views = set_aside.map(async ({ line, row, reason }) => {
    const raw = await opened.raw(row);
    return setAsideView({ line, row, reason, ...("record" in raw && { record: raw.record }) }, columns);
  });
  return { ok, set_aside_count, set_aside: await Promise.all(views), shapes, warnings };
}

/** As `importData`, of a file that must still be what was inspected: throws `file-changed`. */
export async function importFile(
  path: string,
  name: string,
  version: string,
  options: OpenDataOptions,
): Promise<Dataset> {
  const same = () => {
    if (fileVersion(path) === version) return;
    throw new HoneError("file-changed", `${path} has changed since you looked at it`, { fix: "look at it again" });
  };
  same();
  return importData(await openData(path, options), name);
}

/** Another one when the file was written since. */
function fileVersion(path: string): string {
  if (!existsSync(path)) {
    throw new HoneError("no-such-file", `there is no file ${path} any more`, { fix: "choose another file" });
  }
  const { size, mtimeMs } = statSync(path);
  return `${size}-${mtimeMs}`;
}

/** A name that a dataset may have, made of a file's. */
function freeName(wanted: string): string {
  const base =
    wanted
      .replaceAll(/[^\p{L}\p{N}._-]+/gu, "-")
      .replace(/^[^\p{L}\p{N}_]+/u, "")
      .slice(0, 90) || "data";
  for (let i = 1; ; i++) {
    const name = i === 1 ? base : `${base}-${i}`;
    if (findDataset(name) === undefined) return name;
  }
}

/** Pasted text as a file among those that were dropped onto a window. */
export function keepPasted(text: string): string {
  const folder = join(honeHome(), "uploads", randomBytes(6).toString("hex"));
  // Without an ending, so that what is in it says what it is.
  const path = join(folder, "pasted");
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, text);
  } catch (error) {
    throw asUserError(error);
  }
  return path;
}
