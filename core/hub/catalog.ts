/** The curated list of models: Hone's own, and those of a team in `HONE_HOME/catalogs/*.json`, in the same form. */

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { catalogSchema, type Catalog, type CatalogEntry, type HubSourceName } from "../contract/hub.ts";
import { HoneError } from "../contract/errors.ts";
import { honeHome } from "../files/hone-home.ts";
import { readJson } from "../files/json.ts";

export const catalogFile = join(import.meta.dirname, "..", "..", "assets", "catalog.json");

export function catalogsFolder(): string {
  return join(honeHome(), "catalogs");
}

/** A catalogue with where it stands. `problem`: why its file could not be read; then it has no models. */
export interface LoadedCatalog extends Catalog {
  path: string;
  problem: string | null;
}

/** Teams' catalogues first, by file name, then Hone's. A damaged file hides only itself, and says why. */
export function readCatalogs(): LoadedCatalog[] {
  const folder = catalogsFolder();
  const files = existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith(".json"))
        .sort()
    : [];
  return [...files.map((name) => readCatalog(join(folder, name), name)), readCatalog(catalogFile, "Hone")];
}

function readCatalog(path: string, name: string): LoadedCatalog {
  try {
    return { ...readJson(path, catalogSchema), path, problem: null };
  } catch (error) {
    if (!(error instanceof HoneError)) throw error;
    return { version: 1, name, models: [], path, problem: error.message };
  }
}

/** An entry by its name on either hub. */
export function findInCatalog(id: string, source: HubSourceName = "huggingface"): CatalogEntry | undefined {
  const entries = readCatalogs().flatMap(({ models }) => models);
  const wanted = id.toLowerCase();
  return entries.find((entry) => (source === "huggingface" ? entry.id : entry.modelscope)?.toLowerCase() === wanted);
}

/** The same model under its name on the other hub; undefined where the catalogue knows none. */
export function alternativeOf(id: string, source: HubSourceName): { source: HubSourceName; id: string } | undefined {
  const entry = findInCatalog(id, source);
  if (entry === undefined) return undefined;
  if (source === "modelscope") return { source: "huggingface", id: entry.id };
  return entry.modelscope === null ? undefined : { source: "modelscope", id: entry.modelscope };
}
