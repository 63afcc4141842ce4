/** Datasets that stay open: their places of rows are kept, and read again when their files have changed. */

import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { HoneError } from "../../contract/errors.ts";
import { datasetFiles, openDataset, requireDataset, type Dataset } from "../../data/dataset.ts";
import { Data, type OpenDataOptions } from "../../data/open-data.ts";

interface Opened {
  dataset: Dataset;
  /** Sizes and times of its files. */
  files: string;
}

const opened = new Map<string, Opened>();
/** Open at once. */
const most = 4;

/** Throws `no-such-dataset`, or what is wrong with its files. */
export async function useDataset(name: string): Promise<Dataset> {
  const path = requireDataset(name);
  const files = filesOf(path);
  const known = opened.get(path);
  opened.delete(path);
  if (known?.files === files) {
    opened.set(path, known);
    return known.dataset;
  }
  const dataset = await openDataset(path);
  opened.set(path, { dataset, files });
  for (const oldest of [...opened.keys()].slice(0, -most)) opened.delete(oldest);
  return dataset;
}

/** Makes a change to the dataset as it was at a point. Throws `dataset-changed` when it is further on. */
export async function changeDataset<T>(
  name: string,
  point: number,
  change: (dataset: Dataset) => T | Promise<T>,
): Promise<T> {
  const dataset = await useDataset(name);
  if (dataset.point !== point) {
    throw new HoneError("dataset-changed", `${name} was changed elsewhere in the meantime`, {
      fix: "its newest rows are shown now: look at them, and make your change again",
    });
  }
  const result = await change(dataset);
  opened.set(dataset.path, { dataset, files: filesOf(dataset.path) });
  return result;
}

/** The rows of now as Hone understands them. */
export async function useData(name: string, options: OpenDataOptions = {}): Promise<Data> {
  return Data.over((await useDataset(name)).source(), options);
}

function filesOf(path: string): string {
  return [datasetFiles.rows, datasetFiles.history, datasetFiles.about]
    .map((file) => join(path, file))
    .map((file) => (existsSync(file) ? `${statSync(file).size} ${statSync(file).mtimeMs}` : "-"))
    .join(", ");
}
