/** From what somebody asks for to what is fetched: the repository at a commit, the files that are needed, the other source. */

import { freemem, totalmem } from "node:os";
import { z } from "zod";
import { repoRefSchema, type FileChoice, type RepoRef, type RepoSnapshot } from "../../contract/hub.ts";
import { alternativeOf } from "../catalog.ts";
import { chooseModelFiles } from "../choose-files.ts";
import { chooseDatasetFiles } from "../dataset-files.ts";
import { findSnapshot, type HubSettings } from "../find-snapshot.ts";
import { openSource } from "../sources/open-hub.ts";
import { defaultRevision } from "../sources/parse-reference.ts";
import type { HubSource } from "../sources/source.ts";
import type { Supply } from "./file-task.ts";

export const downloadOrderSchema = z.object({
  ref: repoRefSchema,
  /** Of a GGUF repository. Null: what is recommended for this machine. */
  quant: z.string().nullable().default(null),
  /** Of a dataset. Null: all of them. */
  config: z.string().nullable().default(null),
  split: z.string().nullable().default(null),
});
export type DownloadOrder = z.infer<typeof downloadOrderSchema>;
export type DownloadOrderInput = z.input<typeof downloadOrderSchema>;

export interface DownloadPlan {
  source: HubSource;
  snapshot: RepoSnapshot;
  choice: FileChoice;
  /** When the hub that was asked for does not answer. */
  note: string | null;
}

/** Asks the hub. Throws what `findSnapshot`, `chooseModelFiles` and `chooseDatasetFiles` throw. */
export async function planDownload(
  order: DownloadOrder,
  { hubs = {}, signal }: { hubs?: HubSettings; signal?: AbortSignal | undefined } = {},
): Promise<DownloadPlan> {
  const { source, snapshot, note } = await findSnapshot(order.ref, { hubs, signal });
  const { config, split, quant } = order;
  const choice =
    order.ref.kind === "dataset"
      ? chooseDatasetFiles(snapshot, { ...(config !== null && { config }), ...(split !== null && { split }) })
      : chooseModelFiles(snapshot, { quant, machine: { memory_bytes: totalmem(), free_bytes: freemem() } });
  return { source, snapshot, choice, note };
}

/**
 * The same model on the other hub: under the name that the catalogue knows, else under its own. Whether its contents are
 * the same is for the checksums to say.
 */
export async function findAlternative(
  ref: RepoRef,
  hubs: HubSettings,
  signal: AbortSignal,
): Promise<Supply | undefined> {
  if (ref.kind !== "model" || !ref.id.includes("/")) return undefined;
  const other = ref.source === "huggingface" ? "modelscope" : "huggingface";
  const id = alternativeOf(ref.id, ref.source)?.id ?? ref.id;
  const source = openSource(other, hubs[other]);
  const snapshot = await source.snapshot(
    { source: other, kind: ref.kind, id, revision: defaultRevision[other] },
    { signal },
  );
  return { source, snapshot };
}
