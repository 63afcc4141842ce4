/**
 * From what somebody asks for to what is fetched: the repository at a commit, the files that are needed, where they go.
 * One way for `hone get`, for the queue and for what is shown before.
 */

import { existsSync } from "node:fs";
import { totalmem } from "node:os";
import { z } from "zod";
import { HoneError } from "../../contract/errors.ts";
import { diskVerdict } from "../../contract/fits.ts";
import {
  repoRefSchema,
  type FileChoice,
  type GetPlan,
  type HubSourceName,
  type RepoFile,
  type RepoKind,
  type RepoRef,
  type RepoSnapshot,
} from "../../contract/hub.ts";
import { nearest } from "../../contract/nearest.ts";
import { freeBytes } from "../../files/disk.ts";
import { chooseModelFiles, isPickle, pick } from "../choose-files.ts";
import { chooseDatasetFiles } from "../dataset-files.ts";
import { findAlternative, findSnapshot, type FoundSnapshot, type HubSettings } from "../find-snapshot.ts";
import { openSource } from "../sources/open-hub.ts";
import { parseReference, showRef } from "../sources/parse-reference.ts";
import type { Cancellable } from "../sources/source.ts";
import type { CacheTarget } from "../storage/cache-target.ts";
import { referenceOf } from "../storage/inventory.ts";
import { huggingFaceCaches } from "../storage/places.ts";
import { cacheTarget } from "../storage/snapshot-target.ts";
import type { DownloadOptions, DownloadResult } from "./download-options.ts";
import { downloadSnapshot } from "./download-snapshot.ts";

export const downloadOrderSchema = z.object({
  ref: repoRefSchema,
  /** Of a GGUF repository. Null: what is recommended for this machine. */
  quant: z.string().nullable().default(null),
  /** Of a dataset. Null: all of them. */
  config: z.string().nullable().default(null),
  split: z.string().nullable().default(null),
  /** Exactly these instead of what is needed; none: what is needed. */
  files: z.array(z.string()).default([]),
  /** From the hub of `ref` and from no other. */
  this_hub_only: z.boolean().default(false),
});
export type DownloadOrder = z.infer<typeof downloadOrderSchema>;
export type DownloadOrderInput = z.input<typeof downloadOrderSchema>;

/** What a person wrote. */
export interface GetRequest {
  /** `owner/name`, with `@revision`, `:quantisation` or `/file.gguf`; or a link. */
  reference: string;
  kind?: RepoKind;
  /** Ask this hub and no other. */
  source?: HubSourceName;
  quant?: string;
  files?: readonly string[];
  config?: string;
  split?: string;
}

/** Throws `bad-reference`, and `usage` when the address is one of another hub than `source`. */
export function readOrder({ reference, kind, source, files = [], ...request }: GetRequest): DownloadOrder {
  const [, name, file] = /^((?:[a-z]+:)?[^/:]+\/[^/:]+)\/(.+\.gguf)$/i.exec(reference) ?? [];
  const defaults = { ...(kind !== undefined && { kind }), ...(source !== undefined && { source }) };
  const parsed = parseReference(name ?? reference, defaults);
  const ref = { ...parsed.ref, kind: kind ?? parsed.ref.kind };
  if (source !== undefined && source !== ref.source) {
    throw new HoneError("usage", `${showRef(ref)} is an address of another hub than --source ${source}`, {
      fix: "leave --source out, or give owner/name",
    });
  }
  const linked = file ?? parsed.file;
  const isNamed = linked !== null && !/^readme\.md$/i.test(linked);
  return {
    ref,
    quant: request.quant ?? parsed.quant,
    config: request.config ?? null,
    split: request.split ?? null,
    files: files.length > 0 ? [...files] : isNamed ? [linked] : [],
    this_hub_only: source !== undefined,
  };
}

export interface DownloadPlan extends FoundSnapshot {
  order: DownloadOrder;
  choice: FileChoice;
}

/**
 * Asks the hub and chooses the files; nothing is written. Throws what `findSnapshot`, `chooseModelFiles` and
 * `chooseDatasetFiles` throw, `no-such-file`, `only-pickle`.
 */
export async function planDownload(
  order: DownloadOrder,
  { hubs = {}, signal }: Cancellable & { hubs?: HubSettings | undefined } = {},
): Promise<DownloadPlan> {
  const found = await findSnapshot(order.ref, { hubs, signal, only: order.this_hub_only });
  return { ...found, order, choice: chooseFiles(found.snapshot, order) };
}

/** The plan as it is shown: what is here already, and whether the rest has room. */
export function describePlan({ snapshot, choice }: Pick<DownloadPlan, "snapshot" | "choice">): GetPlan {
  const target = placeOf(snapshot, choice.files);
  const files = choice.files.map((file) => ({ path: file.path, size: file.size, here: target.here(file) }));
  const bytes_to_fetch = files.reduce((sum, { size, here }) => (here ? sum : sum + size), 0);
  const free_bytes = freeBytes(target.folder);
  return {
    ref: snapshot.ref,
    commit: snapshot.commit,
    path: target.path,
    format: choice.format,
    quant: choice.quant,
    files,
    bytes: choice.bytes,
    bytes_to_fetch,
    free_bytes,
    verdict: diskVerdict(bytes_to_fetch, free_bytes),
    left_out: choice.left_out,
  };
}

/**
 * Fetches what is missing of `files`, from the other hub where the order allows it. Throws as `downloadSnapshot`; what
 * came before stays, and the same call goes on from it.
 */
export async function runDownload(
  { this_hub_only }: Pick<DownloadOrder, "this_hub_only">,
  snapshot: RepoSnapshot,
  files: readonly RepoFile[],
  { hubs = {}, ...options }: DownloadOptions & { hubs?: HubSettings | undefined } = {},
): Promise<DownloadResult> {
  const { ref } = snapshot;
  return downloadSnapshot(openSource(ref.source, hubs[ref.source]), snapshot, files, placeOf(snapshot, files), {
    ...(!this_hub_only && { alternative: (signal) => findAlternative(ref, { hubs, signal }) }),
    ...options,
  });
}

/** What `--model` or a dataset option takes for the chosen files, once they are here. */
export function referenceTo(ref: RepoRef, { format, quant }: Pick<FileChoice, "format" | "quant">): string {
  return `${referenceOf(ref)}${format === "gguf" && quant !== null ? `:${quant}` : ""}`;
}

function chooseFiles(snapshot: RepoSnapshot, { files, quant, split, config }: DownloadOrder): FileChoice {
  for (const path of files) requireFile(snapshot, path);
  if (snapshot.ref.kind === "model" && (files.length === 0 || (files.length === 1 && /\.gguf$/i.test(files[0])))) {
    const machine = { memory_bytes: totalmem(), free_bytes: process.availableMemory() };
    return chooseModelFiles(snapshot, { quant: files.at(0) ?? quant, machine });
  }
  if (files.length > 0) {
    const wanted = new Set(files);
    return { ...pick(snapshot.files, ({ path }) => wanted.has(path)), format: null, quant: null, quants: [] };
  }
  return chooseDatasetFiles(snapshot, { ...(split !== null && { split }), ...(config !== null && { config }) });
}

function requireFile({ files, ref }: RepoSnapshot, path: string): void {
  if (isPickle(path)) {
    throw new HoneError("only-pickle", `${path} is a pickle file: it can run code when it is opened`, {
      fix: "choose safetensors or GGUF files; Hone neither offers nor opens pickles",
    });
  }
  const paths = files.map((file) => file.path);
  if (paths.includes(path)) return;
  const near = nearest(path, paths);
  throw new HoneError("no-such-file", `${showRef(ref)} has no file ${JSON.stringify(path)}`, {
    fix: near === undefined ? "`hone get --dry-run` lists its files" : `did you mean ${near}?`,
  });
}

/** Where downloads go; or another cache that has all of it, so that nothing comes twice. */
function placeOf(snapshot: RepoSnapshot, files: readonly RepoFile[]): CacheTarget {
  const target = cacheTarget(snapshot, files);
  if (snapshot.ref.source !== "huggingface") return target;
  const others = huggingFaceCaches().map((root) => cacheTarget(snapshot, files, { root }));
  const isWhole = (one: CacheTarget) => existsSync(one.path) && files.every((file) => one.here(file));
  return others.find(isWhole) ?? target;
}
