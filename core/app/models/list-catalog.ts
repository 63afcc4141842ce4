/** The curated models, with what each needs on this machine and whether it is here. Asks nobody. */

import type { CatalogListing } from "../../contract/api/hub-calls.ts";
import type { CatalogEntry } from "../../contract/hub.ts";
import { readCatalogs } from "../../hub/catalog.ts";
import { findStored } from "../../hub/storage/find-stored.ts";
import { fitCatalogEntry, type FitMachine } from "./fit-model.ts";

/** `words`: all of them must stand in the name; nothing lists everything. */
export async function listCatalog(machine: FitMachine, words = ""): Promise<CatalogListing> {
  const catalogs = readCatalogs();
  const wanted = words.toLowerCase().split(/\s+/);
  const matches = ({ id, name }: CatalogEntry) => wanted.every((word) => `${id} ${name}`.toLowerCase().includes(word));
  const listed = catalogs.flatMap(({ name, models }) =>
    models.filter(matches).map(async (entry) => ({
      catalog: name,
      entry,
      fit: await fitCatalogEntry(entry, machine),
      here: whereHere(entry),
    })),
  );
  return {
    models: await Promise.all(listed),
    problems: catalogs.flatMap(({ path, problem }) => (problem === null ? [] : [{ path, problem }])),
  };
}

/** What `--model` takes, when the model is here and whole. */
function whereHere({ id, modelscope }: CatalogEntry): string | null {
  const names = [id, ...(modelscope === null ? [] : [`modelscope:${modelscope}`])];
  const whole = names.flatMap((name) => findStored(name)).find((item) => !item.unfinished && item.missing.length === 0);
  return whole?.reference ?? null;
}
