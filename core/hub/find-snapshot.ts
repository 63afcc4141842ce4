/** A repository wherever it answers: where it was asked for, else the same model on the other hub. */

import { hubSourceLabels, type HubSourceName, type RepoRef, type RepoSnapshot } from "../contract/hub.ts";
import { alternativeOf } from "./catalog.ts";
import { datasetSnapshot } from "./dataset-files.ts";
import { isTransient } from "./http.ts";
import { openSource, type HubOptions } from "./sources/open-hub.ts";
import { defaultRevision } from "./sources/parse-reference.ts";
import type { Cancellable, HubSource } from "./sources/source.ts";

export interface FoundSnapshot {
  source: HubSource;
  snapshot: RepoSnapshot;
  /** In words, when it is not the hub that was asked for. */
  note: string | null;
}

export type HubSettings = Partial<Record<HubSourceName, HubOptions>>;

/**
 * Throws what the first hub threw. The other one is asked only when the first does not answer, no revision was named,
 * and the catalogue knows the model's name there; never with `only`.
 */
export async function findSnapshot(
  ref: RepoRef,
  { hubs = {}, signal, only = false }: Cancellable & { hubs?: HubSettings; only?: boolean } = {},
): Promise<FoundSnapshot> {
  const ask = async (wanted: RepoRef, note: string | null): Promise<FoundSnapshot> => {
    const source = openSource(wanted.source, hubs[wanted.source]);
    const read =
      wanted.kind === "dataset" ? datasetSnapshot(source, wanted, { signal }) : source.snapshot(wanted, { signal });
    return { source, snapshot: await read, note };
  };
  try {
    return await ask(ref, null);
  } catch (error) {
    const isPlain = !only && ref.kind === "model" && ref.revision === defaultRevision[ref.source];
    const other = isTransient(error) && isPlain ? alternativeOf(ref.id, ref.source) : undefined;
    if (other === undefined) throw error;
    const note = `${hubSourceLabels[ref.source]} does not answer: this is ${other.id} of ${hubSourceLabels[other.source]}`;
    try {
      return await ask({ ...ref, ...other, revision: defaultRevision[other.source] }, note);
    } catch {
      throw error;
    }
  }
}

/**
 * The same model on the other hub, to go on with a download: under the name that the catalogue knows, else under its
 * own. Whether its contents are the same is for the checksums to say. Throws what that hub throws.
 */
export async function findAlternative(
  ref: RepoRef,
  { hubs = {}, signal }: Cancellable & { hubs?: HubSettings } = {},
): Promise<Omit<FoundSnapshot, "note"> | undefined> {
  if (ref.kind !== "model") return undefined;
  const other = ref.source === "huggingface" ? "modelscope" : "huggingface";
  const id = alternativeOf(ref.id, ref.source)?.id ?? ref.id;
  const source = openSource(other, hubs[other]);
  const there: RepoRef = { source: other, kind: ref.kind, id, revision: defaultRevision[other] };
  return { source, snapshot: await source.snapshot(there, { signal }) };
}
