/** Every model and downloaded dataset on this machine, with what it is, what it takes and whether Hone opens it. */

import { existsSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { engineArchitectures, isEngineArchitecture } from "../../contract/architectures.ts";
import { errorMessage } from "../../contract/errors.ts";
import type { LocalModel, StorageListing } from "../../contract/hub.ts";
import { freeBytes } from "../../files/disk.ts";
import { readHeader, type ModelHeader, type ReadAt } from "../remote-header.ts";
import { resolveLocal } from "./find-stored.ts";
import { itemsOf, timesOf, type StoredItem } from "./inventory.ts";
import { findLeftovers } from "./leftovers.ts";
import { modelPlaces, type Place } from "./places.ts";
import { isBelow } from "./remove-model.ts";
import { RepoFolder } from "./repo-folder.ts";
import { bytesOnce, listStored } from "./stored-files.ts";

type Format = LocalModel["format"];

/** All models and datasets of all places, and what each place takes. Only headers of files are read. */
export async function listLocalModels(): Promise<StorageListing> {
  const places = [...starterPlace(), ...modelPlaces()];
  const leftovers = findLeftovers();
  const listing: StorageListing = { places: [], models: [] };
  for (const place of places) {
    const items = itemsOf(place);
    // What revisions share is counted with the newest.
    const newest = [...items].sort((a, b) => ((timesOf(a).modified ?? "") < (timesOf(b).modified ?? "") ? 1 : -1));
    const seen = new Set<string>();
    const bytes = new Map(newest.map((item) => [item, bytesOnce(item.files, seen)]));
    for (const item of items) listing.models.push(await describeItem(item, bytes.get(item)));
    const incomplete = leftovers.filter(({ path }) => isBelow(path, place.path));
    listing.places.push({
      place: place.place,
      path: place.path,
      bytes: bytesOfPlace(place, items),
      free_bytes: freeBytes(place.path),
      read_only: place.readOnly,
      incomplete_bytes: incomplete.reduce((sum, one) => sum + one.bytes, 0),
    });
  }
  return listing;
}

const starterFolder = join(import.meta.dirname, "..", "..", "..", "assets", "starter");

function starterPlace(): Place[] {
  return existsSync(starterFolder) ? [{ place: "starter", path: starterFolder, readOnly: true }] : [];
}

/** Of the two hubs everything that lies in their repositories, also what no snapshot names. */
function bytesOfPlace({ place, path }: Place, items: readonly StoredItem[]): number {
  const seen = new Set<string>();
  const inItems = bytesOnce(
    items.flatMap(({ files }) => files),
    seen,
  );
  if (place !== "huggingface" && place !== "modelscope") return inItems;
  const repos = RepoFolder.list(path, place);
  return repos.reduce((sum, repo) => sum + bytesOnce(listStored(repo.path).files, seen), inItems);
}

/** What one of them is. `bytes` leaves out what is counted elsewhere. */
export async function describeItem(item: StoredItem, bytes = bytesOnce(item.files)): Promise<LocalModel> {
  const format = formatOf(item);
  const complete = !item.unfinished && item.missing.length === 0;
  const { header, problem } = complete && item.kind === "model" ? await headerOf(item, format) : {};
  const architecture = header?.config["model_type"];
  const { modified, used } = timesOf(item);
  return {
    reference: item.place.place === "starter" ? "starter" : item.reference,
    name: item.place.place === "starter" ? "starter" : item.name,
    place: item.place.place,
    path: item.path,
    ref: item.ref,
    kind: item.kind,
    commit: item.commit,
    format,
    architecture: typeof architecture === "string" && architecture !== "" ? architecture : null,
    parameters: header?.parameters ?? null,
    quant: item.quant ?? header?.dtype ?? null,
    bytes,
    complete,
    missing: item.missing,
    unsupported: item.kind === "dataset" ? null : (problem ?? whyNot(item, format, header)),
    modified,
    last_used: used,
    removable: !item.place.readOnly,
  };
}

function formatOf({ place, files, path, folder, missing }: StoredItem): Format {
  if (place.place === "ollama" || (path !== folder && /\.gguf$/i.test(path))) return "gguf";
  const paths = [...files.map((file) => file.path), ...missing];
  const has = (pattern: RegExp) => paths.some((one) => pattern.test(one));
  if (has(/^adapter_config\.json$/) && !has(/^config\.json$/)) return "adapter";
  if (has(/\.safetensors$/)) return "safetensors";
  if (has(/\.gguf$/i)) return "gguf";
  return has(/\.(?:bin|pt|pth|ckpt|pkl)$/i) ? "pickle" : "other";
}

async function headerOf(item: StoredItem, format: Format): Promise<{ header?: ModelHeader; problem?: string }> {
  if (format !== "safetensors" && format !== "gguf") return {};
  const paths = new Map(item.files.map((file) => [file.path, file.name]));
  let files: { path: string; size: number }[] = item.files;
  if (format === "gguf") {
    const weights =
      item.files.find(({ name }) => name === item.path) ?? item.files.find(({ path }) => /\.gguf$/i.test(path));
    if (weights === undefined) return { problem: "its weights are not there" };
    // Ollama's have no ending.
    const path = /\.gguf$/i.test(weights.path) ? weights.path : "model.gguf";
    files = [{ path, size: weights.size }];
    paths.set(path, weights.name);
  } else {
    const parts = item.files.filter(({ path }) => /^model(?:-\d{5}-of-\d{5})?\.safetensors$/.test(path));
    const weights = parts.some(({ path }) => path === "model.safetensors")
      ? parts.filter(({ path }) => path === "model.safetensors")
      : parts;
    files = [...weights, ...item.files.filter(({ path }) => path === "config.json")];
  }
  try {
    return { header: await readHeader(files, localRead(paths)) };
  } catch (error) {
    return { problem: errorMessage(error) };
  }
}

function localRead(paths: ReadonlyMap<string, string>): ReadAt {
  return async (path, start, end) => {
    const file = await open(paths.get(path) ?? path, "r");
    try {
      const bytes = Buffer.alloc(end - start);
      const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
      return bytes.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  };
}

/** Why the engine does not open it, in words; null when it does, as far as headers tell. */
function whyNot(item: StoredItem, format: Format, header: ModelHeader | undefined): string | null {
  switch (format) {
    case "pickle":
      return "its weights are PyTorch pickle files, which can run code and are never opened";
    case "other":
      return "it holds no weights that Hone opens (safetensors or GGUF)";
    case "adapter":
      return adapterProblem(item.folder);
    case "safetensors":
    case "gguf":
      break;
  }
  const parts = item.files.filter(({ path }) => /-\d{5}-of-\d{5}\.gguf$/i.test(path)).length;
  if (parts > 1) return `it is in ${parts} parts, which the engine does not open`;
  if (header === undefined) return null;
  const type = header.config["model_type"];
  if (typeof type !== "string" || !isEngineArchitecture(type)) {
    return `the engine does not open ${typeof type === "string" ? type : "this architecture"}, but ${engineArchitectures.join(", ")}`;
  }
  if (header.unreadable.length > 0) return `the engine does not compute with ${header.unreadable.join(", ")}`;
  const hasTokenizer = format === "gguf" || item.files.some(({ path }) => path === "tokenizer.json");
  return hasTokenizer ? null : "tokenizer.json is missing beside the weights";
}

function adapterProblem(folder: string): string | null {
  try {
    const config: unknown = JSON.parse(readFileSync(join(folder, "adapter_config.json"), "utf8"));
    const base = (config as Record<string, unknown> | null)?.["base_model_name_or_path"];
    if (typeof base !== "string") return "its adapter_config.json names no base model";
    if (existsSync(base) || resolveLocal(base) !== undefined) return null;
    return `its base model ${base} is not here`;
  } catch (error) {
    return errorMessage(error);
  }
}
