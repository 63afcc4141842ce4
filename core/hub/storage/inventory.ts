/** What lies in the places: every snapshot, every folder and every .gguf file that is one model or one dataset. */

import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import type { RepoFile, RepoKind, RepoRef } from "../../contract/hub.ts";
import { parquetRevision } from "../dataset-files.ts";
import { quantOf } from "../quants.ts";
import { defaultRevision } from "../sources/parse-reference.ts";
import { ollamaModels } from "./ollama.ts";
import { modelPlaces, type Place } from "./places.ts";
import { RepoFolder, contentName, folderNames, isCommit, isFolder, type SnapshotRecord } from "./repo-folder.ts";
import { isWhole } from "./snapshot-target.ts";
import { listStored, storedFile, type StoredFile } from "./stored-files.ts";

/** One thing that can be opened, or will be once it is whole. */
export interface StoredItem {
  place: Place;
  kind: RepoKind;
  /** What `--model` takes. */
  reference: string;
  name: string;
  /** What is opened: the folder, or the .gguf file (the first of a split one). */
  path: string;
  ref: RepoRef | null;
  commit: string | null;
  quant: string | null;
  files: StoredFile[];
  /** Names of files that should be there. */
  missing: string[];
  /** A download that has not come to its end: nothing of it is visible yet. */
  unfinished: boolean;
  /** Folder of the snapshot or of the model: what stands outside of it is shared or another's. */
  folder: string;
  repo: RepoFolder | null;
}

/** Everything in every place. Damage in one folder hides nothing else. */
export function storedItems(places: readonly Place[] = modelPlaces()): StoredItem[] {
  return places.flatMap((place) => itemsOf(place));
}

export function itemsOf(place: Place): StoredItem[] {
  switch (place.place) {
    case "huggingface":
      return RepoFolder.list(place.path, "huggingface").flatMap((repo) => repoItems(repo, place));
    case "modelscope":
      return [
        ...RepoFolder.list(place.path, "modelscope").flatMap((repo) => repoItems(repo, place)),
        ...olderModelScope(place),
      ];
    case "ollama":
      return ollamaModels(place);
    case "lm-studio":
    case "folder":
    case "starter":
      return folderItems(place);
  }
}

/** The snapshots of a repository, and the downloads into it that have not ended. */
export function repoItems(repo: RepoFolder, place: Place): StoredItem[] {
  const refs = repo.refs();
  const whole = repo.records("whole");
  const partial = repo.records("partial");
  const snapshots = repo.snapshots().flatMap((name) => {
    const folder = join(repo.path, "snapshots", name);
    const record = whole.find((one) => repo.snapshot(one.ref, one.commit) === folder);
    const revision = revisionOf(repo, name, refs, record);
    const commit = record?.commit ?? (isCommit(name) ? name : null);
    const ref: RepoRef = { source: repo.source, kind: repo.kind, id: repo.id, revision };
    return snapshotItems({ repo, place, ref, commit, folder, record });
  });
  const items = [...snapshots, ...partial.flatMap((record) => partialItem(repo, place, record))];
  return items.sort((a, b) => (a.reference < b.reference ? -1 : a.reference > b.reference ? 1 : 0));
}

/** The branch or tag by which a snapshot is called; its commit where none leads to it. */
function revisionOf(repo: RepoFolder, name: string, refs: Map<string, string>, record?: SnapshotRecord): string {
  if (repo.source === "modelscope") return name;
  const leading = [...refs].filter(([, commit]) => commit === name).map(([ref]) => ref);
  const usual = defaultRevision[repo.source];
  if (leading.includes(usual) || (refs.size === 0 && repo.snapshots().length === 1)) return usual;
  return leading[0] ?? (record?.ref.revision === name ? record.ref.revision : name);
}

interface Snapshot {
  repo: RepoFolder | null;
  place: Place;
  ref: RepoRef;
  commit: string | null;
  folder: string;
  record?: SnapshotRecord | undefined;
}

/** `owner/name` or `datasets/owner/name`, with the revision where it is not the usual one. ModelScope's begin with `ms:`. */
export function referenceOf({ source, kind, id, revision }: RepoRef): string {
  const folder = kind === "dataset" ? "datasets/" : "";
  // Of datasets the converted branch is the usual one, where there is one.
  const isUsual = revision === defaultRevision[source] || (kind === "dataset" && revision === parquetRevision);
  const at = isUsual ? "" : `@${isCommit(revision) ? revision.slice(0, 12) : revision}`;
  return `${source === "modelscope" ? "ms:" : ""}${folder}${id}${at}`;
}

function snapshotItems({ repo, place, ref, commit, folder, record }: Snapshot): StoredItem[] {
  const listed = listStored(folder);
  const recorded = record?.files.map(({ path }) => path).filter((path) => !existsSync(join(folder, path))) ?? [];
  const lacking = record === undefined && ref.kind === "model" ? lackingWeights(folder, listed.files) : [];
  const missing = [...new Set([...listed.dangling, ...listed.unreadable, ...recorded, ...lacking])];
  const base = { place, kind: ref.kind, name: ref.id, ref, commit, folder, repo };
  return split({
    ...base,
    reference: referenceOf(ref),
    path: folder,
    quant: null,
    files: listed.files,
    missing,
    unfinished: false,
  });
}

const shardIndex = z.object({ weight_map: z.record(z.string(), z.string()) });

/** What other programs have not downloaded, or not yet: the parts that the index names, or weights at all. */
function lackingWeights(folder: string, files: readonly StoredFile[]): string[] {
  const paths = new Set(files.map(({ path }) => path));
  const index = [...paths].find((path) => path.endsWith(".safetensors.index.json"));
  if (index !== undefined) {
    try {
      const { weight_map } = shardIndex.parse(JSON.parse(readFileSync(join(folder, index), "utf8")));
      const parts = [...new Set(Object.values(weight_map))].filter((path) => !paths.has(path));
      // The same weights may be here as one file, or as .gguf.
      return [...paths].some((path) => path === "model.safetensors" || /\.gguf$/i.test(path)) ? [] : parts.sort();
    } catch {
      return [];
    }
  }
  const isWeights = /\.(?:safetensors|gguf|bin|pt|pth|onnx|h5|msgpack|npz|mlx|ckpt)$/i;
  return paths.size === 0 || [...paths].some((path) => isWeights.test(path)) ? [] : ["model.safetensors"];
}

/** A folder with several .gguf files holds several models; what belongs to none of them goes with the first. */
function split(item: StoredItem): StoredItem[] {
  const groups = ggufGroups([...item.files.map(({ path }) => path), ...item.missing]);
  if (
    item.kind === "dataset" ||
    groups.length === 0 ||
    item.files.some(({ path }) => path === "config.json" && hasWeights(item))
  )
    return [item];
  const inGroups = new Set(groups.flatMap(({ paths }) => paths));
  const rest = item.files.filter(({ path }) => !inGroups.has(path));
  return groups.map(({ paths, quant, missing }, i) => {
    const isOnly = groups.filter((other) => other.quant === quant).length === 1;
    const suffix = quant !== null && isOnly ? `:${quant}` : `/${paths[0]}`;
    return {
      ...item,
      reference: item.ref === null ? join(item.folder, paths[0]) : `${item.reference}${suffix}`,
      name: item.ref === null ? `${item.name}/${basename(paths[0])}` : item.name,
      path: join(item.folder, ...paths[0].split("/")),
      quant,
      files: [...item.files.filter(({ path }) => paths.includes(path)), ...(i === 0 ? rest : [])],
      missing: [...missing, ...item.missing.filter((path) => paths.includes(path) && !missing.includes(path))],
    };
  });
}

function hasWeights({ files }: StoredItem): boolean {
  return files.some(({ path }) => path.endsWith(".safetensors"));
}

export interface GgufGroup {
  /** One file, or the parts of one in order. */
  paths: string[];
  /** `Q4_K_M` as in the name; null where the name tells none. */
  quant: string | null;
  /** Parts that are not among the paths. */
  missing: string[];
}

const part = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/i;
/** The .gguf models among paths. Projectors of vision models (`mmproj`) and importance matrices are none. */
export function ggufGroups(paths: readonly string[]): GgufGroup[] {
  const models = paths.filter((path) => /\.gguf$/i.test(path) && !/(?:^|\/)(?:mmproj|imatrix)/i.test(path)).sort();
  const groups = Map.groupBy(models, (path) => part.exec(path)?.[1] ?? path);
  return [...groups.entries()].map(([stem, members]) => {
    const total = Number(part.exec(members[0])?.[3] ?? 1);
    const name = (i: number) => `${stem}-${String(i + 1).padStart(5, "0")}-of-${String(total).padStart(5, "0")}.gguf`;
    const wanted = total === 1 ? members : Array.from({ length: total }, (_, i) => name(i));
    const named = stem.replace(/\.gguf$/i, "");
    const quant = quantOf(named);
    const isTold = quant !== named.slice(named.lastIndexOf("/") + 1);
    return { paths: wanted, quant: isTold ? quant : null, missing: wanted.filter((path) => !members.includes(path)) };
  });
}

/** A download that has not ended, as far as it is not part of a snapshot that is there. */
function partialItem(repo: RepoFolder, place: Place, record: SnapshotRecord): StoredItem[] {
  const folder = repo.snapshot(record.ref, record.commit);
  const incomplete: StoredFile[] = [];
  const missing: string[] = [];
  for (const file of record.files) {
    const found = contentOf(repo, record, file, folder);
    if (found?.path === file.path) incomplete.push(found);
    else {
      missing.push(file.path);
      if (found !== undefined) incomplete.push(found);
    }
  }
  // All there but the last step: what is left is a matter of a moment.
  if (missing.length === 0 && existsSync(folder)) return [];
  const [group] = ggufGroups(record.files.map(({ path }) => path));
  const quant = group?.quant ?? null;
  const base = { place, kind: record.ref.kind, ref: record.ref, commit: record.commit, folder, repo, quant };
  const reference = `${referenceOf(record.ref)}${quant === null ? "" : `:${quant}`}`;
  return [{ ...base, reference, name: record.ref.id, path: folder, files: incomplete, missing, unfinished: true }];
}

/** Where a file of an unfinished download is: under its name, as a content, or begun (then under another path). */
function contentOf(
  repo: RepoFolder,
  { commit }: SnapshotRecord,
  file: RepoFile,
  folder: string,
): StoredFile | undefined {
  const blob = join(repo.blobs, contentName(file, commit));
  const staged = join(repo.notes, `snapshot-${commit}`, ...file.path.split("/"));
  for (const path of [join(folder, ...file.path.split("/")), blob, staged]) {
    if (isWhole(path, file.size)) return asFile(storedFile(path, file.path));
  }
  const begun = `${blob}.hone.incomplete`;
  return asFile(storedFile(begun, basename(begun)));
}

function asFile(found: StoredFile | "folder" | undefined): StoredFile | undefined {
  return found === "folder" ? undefined : found;
}

/** The layouts of ModelScope's library before 1.38: `[hub/][models/]owner/name`, with `.` written as `___`. */
function olderModelScope(place: Place): StoredItem[] {
  const bases = ["hub/models", "hub/datasets", "models", "datasets", "hub", ""].map((part) => join(place.path, part));
  const reserved = new Set(["hub", "models", "datasets", "studios", "mcps", "skills", "agent"]);
  return bases.flatMap((base) =>
    folderNames(base)
      .filter((owner) => !reserved.has(owner) && !owner.startsWith(".") && !owner.includes("--"))
      .flatMap((owner) =>
        folderNames(join(base, owner))
          .filter((name) => !name.startsWith("."))
          .flatMap((name) => {
            const folder = join(base, owner, name);
            const kind: RepoKind = basename(base) === "datasets" ? "dataset" : "model";
            const id = `${owner}/${name.replaceAll("___", ".")}`;
            const ref: RepoRef = { source: "modelscope", kind, id, revision: defaultRevision.modelscope };
            return snapshotItems({ repo: null, place, ref, commit: null, folder });
          }),
      ),
  );
}

/** LM Studio's `publisher/name/…` and folders of one's own: at most three folders down. */
function folderItems(place: Place): StoredItem[] {
  const visit = (folder: string, below: string, depth: number): StoredItem[] => {
    const { files, dangling, unreadable } = listStored(folder, 0);
    const base = { place, kind: "model" as const, ref: null, commit: null, quant: null, folder, repo: null };
    const isOne = files.some(({ path }) => isModelFile(path));
    const name = below === "" ? basename(folder) : below;
    const missing = [...dangling, ...unreadable];
    const here = isOne
      ? split({ ...base, reference: folder, name, path: folder, files, missing, unfinished: false })
      : [];
    if (depth === 0 || (isOne && !files.some(({ path }) => /\.gguf$/i.test(path)))) return here;
    const deeper = folderNames(folder)
      .filter((name) => !name.startsWith("."))
      .flatMap((name) => visit(join(folder, name), below === "" ? name : `${below}/${name}`, depth - 1));
    return [...here, ...deeper];
  };
  if (!isFolder(place.path)) return [];
  return visit(place.path, "", 3);
}

function isModelFile(path: string): boolean {
  return /\.(?:safetensors|gguf)$|^(?:pytorch_model.*\.bin|consolidated.*\.pth|adapter_config\.json)$/i.test(path);
}

/** When it was last changed and last read. Some systems keep the second only roughly. */
export function timesOf(item: StoredItem): { modified: string | null; used: string | null } {
  const newest = (dates: Date[]) =>
    dates.length === 0 ? null : new Date(Math.max(...dates.map((date) => date.getTime()))).toISOString();
  return {
    modified: newest(item.files.map((file) => file.modified)),
    used: newest(item.files.map((file) => file.used)),
  };
}
