/** `hone ls models` and `hone ls datasets`. */

import { textTable } from "../contract/text-table.ts";
import type { LocalModel, ModelPlace } from "../contract/hub.ts";
import { formatBytes, formatCount, plural } from "../contract/units.ts";
import { datasetsFolder, listDatasets } from "../data/dataset.ts";
import { listLocalModels } from "../hub/storage/list-local.ts";
import type { Cli } from "./command.ts";
import { print, printJson, say } from "./terminal.ts";

const placeNames: Record<ModelPlace, string> = {
  starter: "Hone",
  huggingface: "Hugging Face cache",
  modelscope: "ModelScope cache",
  "lm-studio": "LM Studio",
  ollama: "Ollama",
  folder: "own folder",
};

export async function showModels(cli: Cli): Promise<void> {
  const listing = await listLocalModels();
  const models = listing.models.filter(({ kind }) => kind === "model");
  if (cli.json) return printJson({ ...listing, models });
  const rows = models.map((model) => [
    model.reference,
    [model.format, model.quant].filter(Boolean).join(" "),
    model.parameters === null ? "" : shortCount(model.parameters),
    formatBytes(model.bytes),
    (model.last_used ?? "").slice(0, 10),
    stateOf(model),
    placeNames[model.place],
  ]);
  print(textTable([["model", "format", "parameters", "on disk", "last used", "opens", "where"], ...rows]));
  print("");
  for (const { place, path, bytes, free_bytes, read_only, incomplete_bytes } of listing.places) {
    const partial = incomplete_bytes === 0 ? "" : `, ${formatBytes(incomplete_bytes)} of downloads that did not end`;
    const only = read_only ? ", only read" : "";
    print(`${placeNames[place]}: ${formatBytes(bytes)}${partial}, ${formatBytes(free_bytes)} free${only}: ${path}`);
  }
  for (const reason of models.flatMap(reasonOf)) say(reason);
  if (listing.places.some(({ incomplete_bytes }) => incomplete_bytes > 0)) {
    say("`hone rm --leftovers` deletes what is left of downloads");
  }
}

function stateOf({ complete, unsupported }: LocalModel): string {
  return !complete ? "in part" : unsupported === null ? "yes" : "no";
}

/** Why models cannot be used, one line each. */
function reasonOf({ reference, complete, missing, unsupported }: LocalModel): string[] {
  if (!complete) {
    const what = missing.length === 0 ? "its download has not ended" : `${plural(missing.length, "file")} missing`;
    return [`${reference} is here in part: ${what}; \`hone get ${reference}\` goes on`];
  }
  return unsupported === null ? [] : [`${reference} does not open: ${unsupported}`];
}

function shortCount(count: number): string {
  const [value, unit] = count >= 1e9 ? [count / 1e9, "B"] : count >= 1e6 ? [count / 1e6, "M"] : [count / 1e3, "K"];
  return `${Number(value.toPrecision(3))}${unit}`;
}

/** Those of the library, which can be edited, and those that were downloaded. */
export async function showDatasets(cli: Cli): Promise<void> {
  const datasets = listDatasets();
  const { models } = await listLocalModels();
  const downloaded = models.filter(({ kind }) => kind === "dataset");
  if (cli.json) return printJson({ datasets, downloaded });
  if (datasets.length + downloaded.length === 0) return print(`no datasets yet in ${datasetsFolder()}`);
  const own = datasets.map(({ name, rows, created }) => [name, plural(rows, "row"), created.slice(0, 10), "library"]);
  const fetched = downloaded.map((one) => [
    one.reference,
    formatBytes(one.bytes),
    (one.modified ?? "").slice(0, 10),
    `${placeNames[one.place]}${one.complete ? "" : `, ${formatCount(one.missing.length)} missing`}`,
  ]);
  print(textTable([["dataset", "size", "made", "where"], ...own, ...fetched]));
}
