/** Fetching a model or dataset: which files, from where, into which folder; then doing it. */

import { existsSync } from "node:fs";
import { diskVerdict, type Room } from "../../contract/fits.ts";
import { HoneError } from "../../contract/errors.ts";
import type {
  FileChoice,
  GetOutput,
  GetPlan,
  HubSourceName,
  RepoKind,
  RepoRef,
  RepoSnapshot,
} from "../../contract/hub.ts";
import { nearest } from "../../contract/nearest.ts";
import { freeBytes } from "../../files/disk.ts";
import { chooseModelFiles, isPickle, pick } from "../../hub/choose-files.ts";
import { chooseDatasetFiles, datasetSnapshot } from "../../hub/dataset-files.ts";
import type { DownloadOptions } from "../../hub/download/download-options.ts";
import { downloadSnapshot } from "../../hub/download/download-snapshot.ts";
import type { Supply } from "../../hub/download/file-task.ts";
import { findAlternative } from "../../hub/download/plan-download.ts";
import { findSnapshot, type FoundSnapshot, type HubSettings } from "../../hub/find-snapshot.ts";
import { openSource } from "../../hub/sources/open-hub.ts";
import { parseReference, showRef, type RepoReference } from "../../hub/sources/parse-reference.ts";
import type { CacheTarget } from "../../hub/storage/cache-target.ts";
import { referenceOf } from "../../hub/storage/inventory.ts";
import { huggingFaceCaches } from "../../hub/storage/places.ts";
import { cacheTarget } from "../../hub/storage/snapshot-target.ts";

export interface GetRequest {
  /** `owner/name`, with `@revision`, `:quantisation` or `/file.gguf`; or a link. */
  reference: string;
  kind?: RepoKind;
  /** Ask this hub and no other. */
  source?: HubSourceName;
  quant?: string;
  /** Exactly these files instead of what is needed. */
  files?: readonly string[];
  /** Of a dataset: one split of one configuration. Default: all. */
  split?: string;
  config?: string;
  machine: Room;
  hubs?: HubSettings;
  signal?: AbortSignal | undefined;
}

export interface PreparedGet {
  plan: GetPlan;
  supply: Supply;
  choice: FileChoice;
  target: CacheTarget;
  /** What the person should know before it begins. */
  note: string | null;
  request: GetRequest;
}

/**
 * Asks the hub and chooses the files; nothing is written. Throws `bad-reference`, what the hub and the choice of files
 * throw, `no-such-file`, `only-pickle`.
 */
export async function prepareGet(request: GetRequest): Promise<PreparedGet> {
  const { ref, quant, file } = readReference(request);
  const wanted = { ...ref, kind: request.kind ?? ref.kind };
  const found = await askHub(wanted, request);
  const { source, snapshot, note } = found;
  const choice = chooseFiles(snapshot, request, request.quant ?? quant ?? null, file);
  const target = placeOf(snapshot, choice);
  const files = choice.files.map(({ path, size, ...rest }) => ({
    path,
    size,
    here: target.here({ path, size, ...rest }),
  }));
  const bytes_to_fetch = files.reduce((sum, { size, here }) => (here ? sum : sum + size), 0);
  const free_bytes = freeBytes(target.folder);
  const plan: GetPlan = {
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
  return { plan, supply: { source, snapshot }, choice, target, note, request };
}

/** Fetches what is missing. Throws as `downloadSnapshot`; what came before stays, and the same call goes on from it. */
export async function runGet(prepared: PreparedGet, options: DownloadOptions = {}): Promise<GetOutput> {
  const { plan, supply, choice, target, request } = prepared;
  const result = await downloadSnapshot(supply.source, supply.snapshot, choice.files, target, {
    signal: request.signal,
    ...(request.source === undefined && {
      alternative: (signal) => findAlternative(plan.ref, request.hubs ?? {}, signal),
    }),
    ...options,
  });
  const { path, bytes, fetched_bytes, seconds, files } = result;
  const reference = referenceTo(plan.ref, choice);
  return { ref: plan.ref, commit: plan.commit, path, reference, bytes, fetched_bytes, seconds, files };
}

/** What `--model` takes for the chosen files, once they are here. */
export function referenceTo(ref: RepoRef, { format, quant }: Pick<FileChoice, "format" | "quant">): string {
  return `${referenceOf(ref)}${format === "gguf" && quant !== null ? `:${quant}` : ""}`;
}

function readReference({ reference, kind, source }: GetRequest): RepoReference {
  const [, name, file] = /^((?:[a-z]+:)?[^/:]+\/[^/:]+)\/(.+\.gguf)$/i.exec(reference) ?? [];
  const defaults = { ...(kind !== undefined && { kind }), ...(source !== undefined && { source }) };
  const parsed = parseReference(name ?? reference, defaults);
  return file === undefined ? parsed : { ...parsed, file };
}

async function askHub(ref: RepoReference["ref"], { source, hubs, signal }: GetRequest): Promise<FoundSnapshot> {
  if (source !== undefined && source !== ref.source) {
    throw new HoneError("usage", `${showRef(ref)} is an address of another hub than --source ${source}`, {
      fix: "leave --source out, or give owner/name",
    });
  }
  if (source === undefined) return findSnapshot(ref, { signal, ...(hubs !== undefined && { hubs }) });
  const only = openSource(source, hubs?.[source]);
  const snapshot = ref.kind === "dataset" ? datasetSnapshot(only, ref, { signal }) : only.snapshot(ref, { signal });
  return { source: only, snapshot: await snapshot, note: null };
}

function chooseFiles(
  snapshot: RepoSnapshot,
  { files = [], machine, split, config }: GetRequest,
  quant: string | null,
  linked: string | null,
): FileChoice {
  const named = files.length > 0 ? files : linked !== null && !/^readme\.md$/i.test(linked) ? [linked] : [];
  for (const path of named) requireFile(snapshot, path);
  if (snapshot.ref.kind === "model" && (named.length === 0 || (named.length === 1 && /\.gguf$/i.test(named[0])))) {
    return chooseModelFiles(snapshot, { quant: named[0] ?? quant, machine });
  }
  if (named.length > 0) {
    const wanted = new Set(named);
    return { ...pick(snapshot.files, ({ path }) => wanted.has(path)), format: null, quant: null, quants: [] };
  }
  return chooseDatasetFiles(snapshot, {
    ...(split !== undefined && { split }),
    ...(config !== undefined && { config }),
  });
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
function placeOf(snapshot: RepoSnapshot, { files }: FileChoice): CacheTarget {
  const target = cacheTarget(snapshot, files);
  if (snapshot.ref.source !== "huggingface") return target;
  const others = huggingFaceCaches().map((root) => cacheTarget(snapshot, files, { root }));
  const isWhole = (one: CacheTarget) => existsSync(one.path) && files.every((file) => one.here(file));
  return others.find(isWhole) ?? target;
}
