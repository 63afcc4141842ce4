/** What downloads that did not end have left, and cleaning it up. */

import { lstatSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Leftover } from "../../contract/hub.ts";
import { huggingFaceCaches, modelScopeCache } from "./places.ts";
import { isBelow } from "./remove-model.ts";
import { RepoFolder, contentName, names } from "./repo-folder.ts";
import { isBusy } from "./snapshot-target.ts";
import { diskBytes, listStored } from "./stored-files.ts";

/** A file that was written within the last hour may belong to a program that is running. */
const settledMs = 3_600_000;

/**
 * Beginnings of files (Hone's and those of the Python libraries), and contents that no snapshot names. What a download
 * of Hone will go on from is among them; what one is writing now is not.
 */
export function findLeftovers(now = Date.now()): Leftover[] {
  return allRepos().flatMap((repo) => (isBusy(repo) ? [] : leftoversOf(repo, now)));
}

function leftoversOf(repo: RepoFolder, now: number): Leftover[] {
  const named = new Set<string>();
  for (const snapshot of repo.snapshots()) {
    for (const { content } of listStored(join(repo.path, "snapshots", snapshot)).files) named.add(content);
  }
  const planned = new Set(
    repo.records("partial").flatMap(({ commit, files }) => files.map((file) => contentName(file, commit))),
  );
  const blobs = names(repo.blobs).flatMap((name) => {
    const path = join(repo.blobs, name);
    if (name.endsWith(".hone.incomplete")) return leftover(repo, path, "the beginning of a file");
    if (name.endsWith(".incomplete")) return leftover(repo, path, "the beginning of a file, of another program");
    if (named.has(path)) return [];
    return leftover(
      repo,
      path,
      planned.has(name) ? "a file of a download that has not ended" : "a file that nothing names",
    );
  });
  const notes = names(repo.notes).flatMap((name) => {
    const what = /^snapshot-/.test(name) ? "names of a download that has not ended" : "a deletion that has not ended";
    return /^(?:snapshot|removed)-/.test(name) ? leftover(repo, join(repo.notes, name), what) : [];
  });
  const isSettled = ({ path, modified }: Leftover) =>
    path.endsWith(".hone.incomplete") || now - Date.parse(modified) >= settledMs || planned.has(basename(path));
  return [...blobs, ...notes].filter(isSettled);
}

function leftover(repo: RepoFolder, path: string, what: string): Leftover[] {
  try {
    const info = lstatSync(path, { bigint: true });
    const inFolder = () => listStored(path).files.reduce((sum, { size }) => sum + size, 0);
    const bytes = info.isDirectory() ? inFolder() : diskBytes(path, info);
    return [{ path, id: repo.id, bytes, modified: info.mtime.toISOString(), what }];
  } catch {
    return [];
  }
}

/** Deletes leftovers, with the notes of what was to come. Downloads of them begin anew. Returns the bytes that were freed. */
export function removeLeftovers(leftovers: readonly Leftover[]): number {
  let bytes = 0;
  const repos = allRepos();
  for (const { path, bytes: size } of leftovers) {
    const repo = repos.find((one) => isBelow(path, one.path));
    if (repo === undefined || isBusy(repo)) continue;
    rmSync(path, { recursive: true, force: true });
    bytes += size;
  }
  for (const repo of repos) {
    if (isBusy(repo) || !leftovers.some(({ path }) => isBelow(path, repo.path))) continue;
    for (const name of names(repo.notes)) {
      if (/\.partial\.json$|\.ranges$/.test(name)) rmSync(join(repo.notes, name), { force: true });
    }
    removeIfBare(repo);
  }
  return bytes;
}

function allRepos(): RepoFolder[] {
  return [
    ...huggingFaceCaches().flatMap((root) => RepoFolder.list(root, "huggingface")),
    ...RepoFolder.list(modelScopeCache(), "modelscope"),
  ];
}

/** A repository of which nothing is left. */
function removeIfBare(repo: RepoFolder): void {
  const isBare = repo.snapshots().length === 0 && listStored(repo.path).files.length === 0;
  if (isBare && repo.records("whole").length === 0) rmSync(repo.path, { recursive: true, force: true });
}
