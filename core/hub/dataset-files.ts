/** The parts of a dataset repository: which files hold rows, and of which configuration and split. */

import { HoneError } from "../contract/errors.ts";
import type { DatasetSplit, FileChoice, RepoRef, RepoSnapshot } from "../contract/hub.ts";
import { pick } from "./choose-files.ts";
import type { Cancellable, HubSource } from "./sources/source.ts";
import { defaultRevision, showRef } from "./sources/parse-reference.ts";

/** Where Hugging Face keeps every dataset that it could read as Parquet, in folders `config/split/`. */
export const parquetRevision = "refs/convert/parquet";

const readable = /\.(?:parquet|jsonl|ndjson|json|csv|tsv)$/i;
const noRows = /^(?:dataset_infos?|dataset_dict|state|metadata|config|package)\.json$|^(?:requirements|licen[cs]e)/i;

/** The words of split names as the `datasets` library knows them, and what they mean. */
const splitWords: Record<string, string> = {
  train: "train",
  training: "train",
  validation: "validation",
  valid: "validation",
  val: "validation",
  dev: "validation",
  test: "test",
  testing: "test",
  eval: "test",
  evaluation: "test",
};
const splitWord = /(?:^|[-_. \d])(training|train|validation|valid|val|dev|testing|test|evaluation|eval)(?=$|[-_. \d])/i;

/**
 * A dataset at a commit: of the Parquet branch where the hub has a whole one, for it needs no guessing of forms. A
 * revision that was asked for is taken as it is.
 */
export async function datasetSnapshot(
  source: HubSource,
  ref: RepoRef,
  options: Cancellable = {},
): Promise<RepoSnapshot> {
  if (source.name !== "huggingface" || ref.revision !== defaultRevision.huggingface)
    return source.snapshot(ref, options);
  try {
    const converted = await source.snapshot({ ...ref, revision: parquetRevision }, options);
    const isWhole = !converted.files.some(({ path }) => /(?:^|\/)partial-/.test(path));
    if (isWhole && converted.files.some(({ path }) => path.endsWith(".parquet"))) return converted;
  } catch (error) {
    if (!(error instanceof HoneError) || error.code !== "no-such-revision") throw error;
  }
  return source.snapshot(ref, options);
}

/** By configuration and split, in the order of the files. */
export function datasetSplits({ ref, files }: Pick<RepoSnapshot, "ref" | "files">): DatasetSplit[] {
  const splits = new Map<string, DatasetSplit>();
  for (const { path, size } of files) {
    const base = path.slice(path.lastIndexOf("/") + 1);
    if (!readable.test(base) || noRows.test(base) || size === 0) continue;
    const { config, split } = ref.revision === parquetRevision ? convertedPart(path) : namedPart(path);
    const key = JSON.stringify([config, split, formatOf(path)]);
    const part = splits.get(key) ?? { config, split, files: [], bytes: 0 };
    part.files.push(path);
    part.bytes += size;
    splits.set(key, part);
  }
  // The same split in two formats: the first of these is it.
  const order = ["parquet", "jsonl", "json", "csv"];
  const best = new Map<string, DatasetSplit>();
  for (const part of splits.values()) {
    const key = JSON.stringify([part.config, part.split]);
    const other = best.get(key);
    const rank = (one: DatasetSplit) => order.indexOf(formatOf(one.files[0]));
    if (other === undefined || rank(part) < rank(other)) best.set(key, part);
  }
  return [...best.values()].map((part) => ({ ...part, files: part.files.sort() }));
}

function formatOf(path: string): string {
  const extension = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  return extension === "ndjson" ? "jsonl" : extension === "tsv" ? "csv" : extension;
}

function convertedPart(path: string): { config: string; split: string } {
  const [config = "default", split = "train"] = path.split("/");
  return { config, split: split.replace(/^partial-/, "") };
}

/** `config/train-00000-of-00002.parquet`, `data/test.jsonl`, `train/part.csv`; what names no split is all of `train`. */
function namedPart(path: string): { config: string; split: string } {
  const parts = path.replace(/\.\w+$/, "").split("/");
  const found = [...parts].reverse().map((name) => splitWord.exec(name)?.[1].toLowerCase());
  const word = found.find((one) => one !== undefined);
  const folders = parts.slice(0, -1).filter((name) => name !== "data" && splitWords[name.toLowerCase()] === undefined);
  return { config: folders[0] ?? "default", split: word === undefined ? "train" : splitWords[word] };
}

/** The files of one split, or of all of them. Throws `no-rows-in-repo`, `no-such-split`. */
export function chooseDatasetFiles(
  snapshot: RepoSnapshot,
  wanted: { config?: string; split?: string } = {},
): FileChoice {
  const all = datasetSplits(snapshot);
  if (all.length === 0) {
    throw new HoneError(
      "no-rows-in-repo",
      `${showRef(snapshot.ref)} holds no rows that Hone reads (Parquet, JSON Lines, JSON, CSV)`,
      {
        fix: "it may be images or sound, or be made by a script, which Hone does not run: choose another dataset",
      },
    );
  }
  const chosen = all.filter(
    ({ config, split }) => config === (wanted.config ?? config) && split === (wanted.split ?? split),
  );
  if (chosen.length === 0) {
    const names = all.map(({ config, split }) => (config === "default" ? split : `${config}/${split}`));
    throw new HoneError(
      "no-such-split",
      `${showRef(snapshot.ref)} has no part ${wanted.config ?? ""} ${wanted.split ?? ""}`.trim(),
      {
        fix: `it has ${names.slice(0, 20).join(", ")}`,
      },
    );
  }
  const paths = new Set(chosen.flatMap(({ files }) => files));
  const choice = pick(snapshot.files, ({ path }) => paths.has(path) || /^readme\.md$/i.test(path));
  const isParquet = chosen.every(({ files }) => files.every((path) => path.endsWith(".parquet")));
  return { ...choice, format: isParquet ? "parquet" : "rows", quant: null, quants: [] };
}
