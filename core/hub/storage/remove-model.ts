/** Deleting models and datasets: exactly what was said before, and nothing that another still needs. */

import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, rmdirSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { HoneError } from "../../contract/errors.ts";
import { hubSourceLabels, type Removal, type RepoKind } from "../../contract/hub.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import { lockFolder } from "../../files/lock.ts";
import { requireStored } from "./find-stored.ts";
import { repoItems, storedItems, type StoredItem } from "./inventory.ts";
import { modelPlaces, type Place } from "./places.ts";
import { contentName, type RepoFolder } from "./repo-folder.ts";
import { isBusy } from "./snapshot-target.ts";
import { diskBytes, listStored } from "./stored-files.ts";

/** What would be deleted: files and folders that go as wholes, and what goes on needing some of it. */
export interface RemovalPlan extends Removal {
  /** One per repository or folder, in the order in which they go. */
  readonly steps: readonly RemovalStep[];
}

interface RemovalStep {
  root: string;
  repo: RepoFolder | null;
  /** Snapshots that go: renamed out of sight first, so that none is ever half there. */
  snapshots: string[];
  /** Records, branches, names, contents; in order. */
  paths: string[];
  /** Records that go on without some files. */
  records: { path: string; text: string }[];
}

/**
 * Says what `removeModel` would delete. `owner/name` is the whole repository, `owner/name@revision` one snapshot,
 * `owner/name:Q4_K_M` one file; a folder in a known place is named by its path. Throws `no-such-model`,
 * `read-only-place`, `not-in-a-known-place`.
 */
export function planRemoval(reference: string, kind: RepoKind = "model"): RemovalPlan {
  const items = itemsToRemove(reference, kind);
  for (const { place } of items) requireRemovable(place, reference);
  const steps = [...Map.groupBy(items, (item) => item.repo?.path ?? item.folder).values()].map(planStep);
  const all = steps.flatMap((step) => [...step.snapshots, ...step.paths]);
  const paths = all.filter((path) => !all.some((other) => other !== path && isBelow(path, other)));
  const kept = [...new Set(items.flatMap(({ files }) => files.map(({ content }) => content)))].filter(
    (content) => !paths.some((path) => isBelow(content, path)),
  );
  return { reference, removed: false, bytes: freed(paths), paths, kept_paths: kept.sort(), steps };
}

/** Deletes what the plan names. After a stop in the middle the rest can be removed by the same reference. */
export function removeModel(plan: RemovalPlan): Removal {
  for (const step of plan.steps) runStep(step);
  const { reference, bytes, paths, kept_paths } = plan;
  return { reference, removed: true, bytes, paths, kept_paths };
}

function itemsToRemove(reference: string, kind: RepoKind): StoredItem[] {
  const isPath = existsSync(reference) || /^[./\\]|^[A-Za-z]:[\\/]/.test(reference);
  if (!isPath) return requireStored(reference, kind);
  const path = resolve(reference);
  const found = storedItems().filter((item) => item.path === path || item.folder === path || item.repo?.path === path);
  if (found.length > 0) return found;
  const places = modelPlaces().map((place) => `  ${place.path}`);
  throw new HoneError("not-in-a-known-place", `${path} is no model in a place that Hone knows`, {
    fix: `Hone deletes only models and datasets in these places:\n${places.join("\n")}`,
  });
}

const owners: Partial<Record<Place["place"], string>> = {
  ollama: "it belongs to Ollama: `ollama rm NAME` deletes it",
  "lm-studio": "it belongs to LM Studio: delete it there",
  folder: "it is in a folder of your own: delete it with the file manager",
};

function requireRemovable({ place, path, readOnly }: Place, reference: string): void {
  if (!readOnly) return;
  throw new HoneError("read-only-place", `${reference} is in ${path}, where Hone only reads`, {
    fix: owners[place] ?? "delete it with the program that it belongs to",
  });
}

function planStep(items: readonly StoredItem[]): RemovalStep {
  const [{ repo, place, folder }] = items;
  if (repo === null) return { root: place.path, repo, snapshots: [], paths: [folder], records: [] };
  const all = repoItems(repo, place);
  const gone = new Set(items.map(keyOf));
  const stay = all.filter((item) => !gone.has(keyOf(item)));
  if (stay.length === 0) {
    const snapshots = repo.snapshots().map((name) => join(repo.path, "snapshots", name));
    const paths = [repo.locks, repo.path].filter((path) => existsSync(path));
    return { root: repo.root, repo, snapshots, paths, records: [] };
  }
  return planPart(repo, items, stay);
}

function keyOf({ reference, path, unfinished }: StoredItem): string {
  return `${reference}\n${path}\n${unfinished}`;
}

/** Some snapshots or files of a repository go, others stay. */
function planPart(repo: RepoFolder, items: readonly StoredItem[], stay: readonly StoredItem[]): RemovalStep {
  const step: RemovalStep = { root: repo.root, repo, snapshots: [], paths: [], records: [] };
  const needed = neededContents(repo, stay);
  const refs = repo.refs();
  for (const [folder, group] of Map.groupBy(items, (item) => item.folder)) {
    const [{ commit }] = group;
    const finished = group.filter((item) => !item.unfinished);
    const isWhole = finished.length > 0 && !stay.some((item) => item.folder === folder && !item.unfinished);
    if (group.length > finished.length && commit !== null) step.paths.push(repo.recordFile(commit, "partial"));
    if (isWhole) {
      const name = basename(folder);
      step.snapshots.push(folder);
      if (commit !== null) step.paths.push(repo.recordFile(commit, "whole"));
      const named = [...refs]
        .filter(([, to]) => to === name)
        .map(([ref]) => join(repo.path, "refs", ...ref.split("/")));
      step.paths.push(...named, join(repo.path, ".no_exist", name), join(repo.path, "trees", `${name}.json`));
    } else {
      // What else lies beside .gguf files stays for those that stay.
      const names = finished
        .flatMap(({ files, missing }) => [...files.map(({ path }) => path), ...missing])
        .filter((path) => /\.gguf$/i.test(path));
      const used = new Set(
        stay.filter((item) => item.folder === folder).flatMap(({ files }) => files.map(({ name }) => name)),
      );
      const going = names.map((path) => join(folder, ...path.split("/"))).filter((path) => !used.has(path));
      step.paths.push(...going);
      const record = commit === null ? undefined : repo.record(commit, "whole");
      if (record !== undefined && commit !== null) {
        const files = record.files.filter(({ path }) => !names.includes(path));
        step.records.push({
          path: repo.recordFile(commit, "whole"),
          text: `${JSON.stringify({ ...record, files })}\n`,
        });
      }
    }
    const contents = group.flatMap(({ files, unfinished }) =>
      files.filter(({ path }) => isWhole || unfinished || /\.gguf$/i.test(path)).map(({ content }) => content),
    );
    step.paths.push(...contents.filter((path) => isBelow(path, repo.blobs) && !needed.has(path)));
    step.paths.push(
      ...contents.filter((path) => path.endsWith(".hone.incomplete")).map((path) => rangesOf(repo, path)),
    );
  }
  step.paths = [...new Set(step.paths)].filter((path) => existsSync(path) || isLink(path));
  return step;
}

/** Contents that what stays needs, and those that a download under way has already. */
function neededContents(repo: RepoFolder, stay: readonly StoredItem[]): Set<string> {
  const needed = new Set(stay.flatMap(({ files }) => files.map(({ content }) => content)));
  const folders = new Set(stay.map(({ folder }) => folder));
  for (const { commit, ref, files } of repo.records("partial")) {
    if (!folders.has(repo.snapshot(ref, commit))) continue;
    for (const file of files) needed.add(join(repo.blobs, contentName(file, commit)));
  }
  return needed;
}

function rangesOf(repo: RepoFolder, incomplete: string): string {
  return join(repo.notes, `${basename(incomplete, ".hone.incomplete")}.ranges`);
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

export function isBelow(path: string, folder: string): boolean {
  const below = relative(folder, path);
  return below === "" || (!below.startsWith(`..${sep}`) && below !== ".." && resolve(folder, below) === path);
}

/** Bytes of the files at and below paths whose every name goes: a file with a name elsewhere frees nothing. */
function freed(paths: readonly string[]): number {
  const files = new Map<string, { size: number; names: number; links: number }>();
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    let info;
    try {
      info = lstatSync(path, { bigint: true });
    } catch {
      return;
    }
    if (info.isDirectory()) for (const name of readdirSync(path)) visit(join(path, name));
    else if (info.isFile()) {
      const key = info.ino === 0n ? path : `${info.dev}:${info.ino}`;
      const names = (files.get(key)?.names ?? 0) + 1;
      files.set(key, { size: diskBytes(path, info), names, links: Number(info.nlink) });
    }
  };
  for (const path of paths) visit(path);
  return [...files.values()].reduce((sum, { size, names, links }) => (names >= links ? sum + size : sum), 0);
}

function runStep({ root, repo, snapshots, paths, records }: RemovalStep): void {
  for (const path of [...snapshots, ...paths]) {
    if (!isBelow(path, root) || path === root) throw new Error(`${path} is not below ${root}`);
  }
  const release = repo === null ? undefined : hold(repo);
  try {
    for (const { path, text } of records) writeFileAtomic(path, text);
    if (repo !== null) {
      for (const folder of snapshots) {
        const aside = join(repo.notes, `removed-${basename(folder)}`);
        rmSync(aside, { recursive: true, force: true });
        renameSync(folder, aside);
        rmSync(aside, { recursive: true, force: true });
      }
    }
    for (const path of paths) {
      rmSync(path, { recursive: true, force: true });
      if (repo !== null) removeEmptyParents(path, repo.path);
    }
  } finally {
    release?.();
  }
  if (repo !== null) removeRest(repo);
}

/** A download that is under way keeps its repository. */
function hold(repo: RepoFolder): () => void {
  if (isBusy(repo)) {
    throw new HoneError("download-busy", `${repo.id} is being downloaded from ${hubSourceLabels[repo.source]}`, {
      fix: "wait for the download, or cancel it",
    });
  }
  mkdirSync(repo.notes, { recursive: true });
  return lockFolder(repo.notes);
}

function removeEmptyParents(path: string, top: string): void {
  for (let folder = dirname(path); isBelow(folder, top) && folder !== top; folder = dirname(folder)) {
    try {
      rmdirSync(folder);
    } catch {
      return;
    }
  }
}

/** What a repository without files leaves: empty folders. */
function removeRest(repo: RepoFolder): void {
  if (existsSync(repo.path) && listStored(repo.path).files.length > 0) return;
  if (repo.snapshots().length > 0 || repo.records("partial").length > 0) return;
  if (existsSync(repo.path) && listStored(repo.notes).files.length > 0) return;
  rmSync(repo.path, { recursive: true, force: true });
}
