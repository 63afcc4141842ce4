/**
 * The models folder moves: everything is copied and compared, then the new folder is the one, then the old files go.
 * After a stop at any point every model opens, from the old folder or the new, and the same call goes on.
 */

import { createHash } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { CancelledError, HoneError } from "../../contract/errors.ts";
import type { MovePlan, MoveResult } from "../../contract/hub.ts";
import { formatBytes } from "../../contract/units.ts";
import { fsyncPath } from "../../files/atomic.ts";
import { freeBytes, rethrowDiskFull } from "../../files/disk.ts";
import { sha256File } from "../../files/manifest.ts";
import { requireWritable } from "../../files/system-error.ts";
import { cacheVariable, modelsFolder, readStorage, writeStorage } from "./places.ts";
import { isBelow } from "./remove-model.ts";
import { RepoFolder, isFolder, names } from "./repo-folder.ts";
import { isBusy } from "./snapshot-target.ts";

export interface MoveProgress {
  phase: "copy" | "delete";
  bytes_done: number;
  bytes: number;
  path: string;
}

export interface MoveOptions {
  signal?: AbortSignal;
  onProgress?: (progress: MoveProgress) => void;
  /** Default true: on one disk a file gets its new name without being copied. */
  hardLinks?: boolean;
}

/** What a cache may hold beside repositories. */
const ofCaches =
  /^(?:(?:models|datasets|spaces|kernels)--.+|\.locks|blobs|xet|CACHEDIR\.TAG|version.*\.txt|\.DS_Store|desktop\.ini)$/;

/**
 * Says what a move would do, without doing anything. Throws `models-folder-fixed`, `move-unfinished`, `usage`,
 * `not-writable`, `download-busy`, `disk-space`.
 */
export function planMove(target: string, { hardLinks = true }: Pick<MoveOptions, "hardLinks"> = {}): MovePlan {
  const state = readStorage();
  const variable = cacheVariable();
  if (variable !== undefined && state.move === null) {
    throw new HoneError("models-folder-fixed", `${variable} says where models are: ${modelsFolder()}`, {
      fix: `remove ${variable} from the environment, then move the folder; or move it yourself and change ${variable}`,
    });
  }
  const to = resolve(target);
  const from = state.move?.from ?? modelsFolder();
  if (state.move !== null && state.move.to !== to) {
    throw new HoneError("move-unfinished", `the models are on their way from ${from} to ${state.move.to}`, {
      fix: `move them to ${state.move.to} once more: it goes on where it stopped`,
    });
  }
  if (state.move === null) requireGoodTarget(from, to);
  requireWritable(to, "choose a folder that you may write to");
  const entries = entriesOf(from);
  const busy = RepoFolder.list(from, "huggingface").find(isBusy);
  if (busy !== undefined) {
    throw new HoneError("download-busy", `${busy.id} is being downloaded`, {
      fix: "wait for the download, or pause it",
    });
  }
  const files = entries.filter(({ kind }) => kind === "file");
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const toCopy = hardLinks && onOneDisk(from, to) ? [] : files.filter((entry) => !isThere(entry, to));
  const bytes_to_copy = toCopy.reduce((sum, { size }) => sum + size, 0);
  const free_bytes = freeBytes(to);
  if (free_bytes < bytes_to_copy && state.move?.phase !== "delete") {
    throw new HoneError(
      "disk-space",
      `the models need ${formatBytes(bytes_to_copy)} in ${to}, but ${formatBytes(free_bytes)} are free there`,
      { fix: "free some space there, or delete models that you do not need with `hone rm`" },
    );
  }
  return { from, to, files: files.length, bytes, bytes_to_copy, free_bytes };
}

/** Moves all repositories of the models folder, or goes on with a move that stopped. Throws as `planMove`, and `disk-full`. */
export async function moveModelsFolder(target: string, options: MoveOptions = {}): Promise<MoveResult> {
  const { from, to, files, bytes } = planMove(target, options);
  if (readStorage().move?.phase !== "delete") {
    writeStorage({ ...readStorage(), move: { from, to, phase: "copy" } });
    try {
      await copyAll(from, to, options);
    } catch (error) {
      rethrowDiskFull(error, to);
    }
    writeStorage({ version: 1, models_folder: to, move: { from, to, phase: "delete" } });
  }
  const left = deleteAll(from, to, options);
  writeStorage({ ...readStorage(), move: null });
  return { from, to, files, bytes, left };
}

/** Gives a move up that is still copying: the old folder remains the one. What was copied stays in the new folder. */
export function giveUpMove(): void {
  const state = readStorage();
  if (state.move === null) return;
  if (state.move.phase === "delete") {
    throw new HoneError("move-unfinished", `the models are in ${state.move.to} already; only old files remain`, {
      fix: "let the move come to its end",
    });
  }
  writeStorage({ ...state, move: null });
}

function requireGoodTarget(from: string, to: string): void {
  const usage = (message: string, fix: string) => new HoneError("usage", message, { fix });
  if (from === to) throw usage(`the models are in ${to} already`, "choose another folder");
  if (isBelow(to, from) || isBelow(from, to)) {
    throw usage(`${to} and the present folder ${from} lie in each other`, "choose a folder beside it");
  }
  if (!existsSync(from)) throw usage(`there are no models yet in ${from}`, "download one first: `hone get OWNER/NAME`");
  if (existsSync(to) && !isFolder(to)) throw usage(`${to} is a file, not a folder`, "choose a folder");
  const strange = names(to).find((name) => !ofCaches.test(name));
  if (strange !== undefined) {
    throw usage(`${to} holds other things, such as ${strange}`, "choose an empty folder, or a folder of models");
  }
}

interface Entry {
  /** Below the cache, with the system's separators. */
  path: string;
  kind: "file" | "link";
  size: number;
  /** Where links point to. */
  target: string;
  rank: number;
}

/** Contents come before names, names before the records and branches by which they are found. */
const ranks: Record<string, number> = { blobs: 0, snapshots: 2, ".hone": 3, refs: 4 };

/** Files and links of all repositories in the order in which they are copied. */
function entriesOf(root: string): Entry[] {
  const entries = RepoFolder.list(root, "huggingface").flatMap((repo) => {
    const top = relative(root, repo.path);
    return readdirSync(repo.path, { recursive: true, withFileTypes: true }).flatMap((one): Entry[] => {
      const name = join(one.parentPath, one.name);
      const below = relative(repo.path, name);
      if (one.isDirectory() || /run\.lock$|\.moving$/.test(one.name)) return [];
      const part = below.split(/[\\/]/)[0];
      const rank = ranks[part] ?? 1;
      // Contents that are links lead into a store that several repositories share: they are copied.
      const isLink = one.isSymbolicLink() && part !== "blobs";
      if (!isLink && !existsSync(name)) return [];
      const size = isLink ? 0 : statSync(name).size;
      const target = isLink ? linkText(name, root) : "";
      return [{ path: join(top, below), kind: isLink ? "link" : "file", size, target, rank }];
    });
  });
  return entries.sort((a, b) => a.rank - b.rank || (a.path < b.path ? -1 : 1));
}

/** Links are relative. One that is not, but leads into the cache, would lead to the old place. */
function linkText(name: string, root: string): string {
  const text = readlinkSync(name);
  return isAbsolute(text) && isBelow(text, root) ? relative(dirname(name), text) : text;
}

function isThere({ path, kind, size }: Entry, root: string): boolean {
  try {
    const info = lstatSync(join(root, path));
    // Names are hashes, or belong to a commit: of one name and size there is one content.
    return kind === "link" ? true : info.isFile() && info.size === size;
  } catch {
    return false;
  }
}

async function copyAll(from: string, to: string, { signal, onProgress, hardLinks = true }: MoveOptions): Promise<void> {
  const entries = entriesOf(from);
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  let done = 0;
  for (const entry of entries) {
    if (signal?.aborted === true) throw new CancelledError();
    const target = join(to, entry.path);
    onProgress?.({ phase: "copy", bytes_done: done, bytes, path: entry.path });
    if (!isThere(entry, to)) {
      mkdirSync(dirname(target), { recursive: true });
      const source = join(from, entry.path);
      if (entry.kind === "link" && makeLink(entry.target, target)) continue;
      await copyOne(source, target, hardLinks, signal);
    }
    done += entry.size;
  }
  onProgress?.({ phase: "copy", bytes_done: bytes, bytes, path: "" });
}

function makeLink(text: string, target: string): boolean {
  try {
    symlinkSync(text, target, "file");
    return true;
  } catch (error) {
    // No right to make links here: the name gets a file of its own.
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") throw error;
    return false;
  }
}

/** Under another name first, compared byte by byte through SHA-256, then renamed. */
async function copyOne(source: string, target: string, hardLinks: boolean, signal?: AbortSignal): Promise<void> {
  const content = realpathSync(source);
  const temporary = `${target}.moving`;
  rmSync(temporary, { force: true });
  if (!hardLinks || !tryLink(content, temporary)) {
    const hash = createHash("sha256");
    const tee = new Transform({
      transform(chunk: Buffer, _, next) {
        hash.update(chunk);
        next(null, chunk);
      },
    });
    await pipeline(createReadStream(content), tee, createWriteStream(temporary), { ...(signal && { signal }) });
    fsyncPath(temporary);
    if ((await sha256File(temporary)) !== hash.digest("hex")) {
      rmSync(temporary, { force: true });
      throw new HoneError("bad-copy", `${target} is not what was written: the disk may be failing`, {
        fix: "try another disk; the models in the old folder are untouched",
      });
    }
  }
  renameSync(temporary, target);
  fsyncPath(dirname(target));
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch {
    return false;
  }
}

function onOneDisk(from: string, to: string): boolean {
  let existing = to;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  return existsSync(from) && statSync(existing).dev === statSync(from).dev;
}

/** Branches and names first, contents last; only what is in the new folder. */
function deleteAll(from: string, to: string, { onProgress }: MoveOptions): string[] {
  const left: string[] = [];
  const entries = entriesOf(from).reverse();
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  let done = 0;
  for (const entry of entries) {
    const path = join(from, entry.path);
    onProgress?.({ phase: "delete", bytes_done: done, bytes, path: entry.path });
    if (isThere(entry, to) || (entry.kind === "link" && existsSync(join(to, entry.path))))
      rmSync(path, { force: true });
    else left.push(path);
    done += entry.size;
  }
  for (const repo of RepoFolder.list(from, "huggingface")) {
    if (left.some((path) => isBelow(path, repo.path))) continue;
    removeEmptyFolders(repo.path);
    rmSync(repo.locks, { recursive: true, force: true });
  }
  return left;
}

/** Folders in which no file is left; a lock of a process that was killed is none. */
function removeEmptyFolders(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removeEmptyFolders(path);
    else if (entry.name === "run.lock" || entry.name.endsWith(".moving")) rmSync(path, { force: true });
  }
  try {
    rmdirSync(folder);
  } catch {
    // Something is left.
  }
}
