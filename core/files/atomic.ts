/** Files and folders that appear whole or not at all, also when the process or the machine stops in between. */

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { HoneError } from "../contract/errors.ts";
import { rethrowDiskFull } from "./disk.ts";

/** Part of every temporary name, so that left-overs of a killed process can be told apart and removed. */
const temporaryMark = ".partial-";

function temporaryPath(path: string): string {
  return join(dirname(path), `${basename(path)}${temporaryMark}${process.pid}`);
}

/** Forces a file's or folder's data to the disk. Windows cannot open folders; there the rename itself is durable. */
export function fsyncPath(path: string): void {
  let handle: number;
  try {
    handle = openSync(path, "r");
  } catch (error) {
    if (process.platform === "win32") return;
    throw error;
  }
  try {
    fsyncSync(handle);
  } catch (error) {
    if (process.platform !== "win32") throw error;
  } finally {
    closeSync(handle);
  }
}

/** Forces every file below a folder, and the folder itself, to the disk. */
function fsyncTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) fsyncTree(path);
    else fsyncPath(path);
  }
  fsyncPath(folder);
}

/** Replaces a file's content: a reader sees the old one or the new one, never a mixture. `mode`: its permissions. */
export function writeFileAtomic(path: string, data: string | Uint8Array, { mode }: { mode?: number } = {}): void {
  const temporary = temporaryPath(path);
  try {
    writeFileSync(temporary, data, { flush: true, ...(mode !== undefined && { mode }) });
    renameSync(temporary, path);
    fsyncPath(dirname(path));
  } catch (error) {
    rmSync(temporary, { force: true });
    rethrowDiskFull(error, path);
  }
}

/**
 * Makes a folder through `fill`, which gets a temporary folder beside it: synced, then renamed to its final name. An
 * older folder of that name is replaced, or, with `replace: false`, left alone: then the error is `folder-exists`. When
 * `fill` fails nothing is left behind.
 */
export async function publishFolder(
  path: string,
  fill: (temporary: string) => Promise<void>,
  { replace = true }: { replace?: boolean } = {},
): Promise<void> {
  const temporary = temporaryPath(path);
  try {
    rmSync(temporary, { recursive: true, force: true });
    mkdirSync(temporary, { recursive: true });
    await fill(temporary);
    fsyncTree(temporary);
    if (replace) replaceFolder(temporary, path);
    else renameToNew(temporary, path);
    fsyncPath(dirname(path));
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    rethrowDiskFull(error, path);
  }
}

function replaceFolder(from: string, to: string): void {
  const older = `${from}-older`;
  if (existsSync(to)) renameSync(to, older);
  renameSync(from, to);
  rmSync(older, { recursive: true, force: true });
}

/** An empty folder may stand there: a user made it to say where. */
function renameToNew(from: string, to: string): void {
  try {
    if (existsSync(to)) rmdirSync(to);
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
    throw new HoneError("folder-exists", `${to} already exists and is not empty`, { cause: error });
  }
}

/** Removes what killed processes left in a folder. Returns the names. */
export function removePartial(folder: string): string[] {
  const removed: string[] = [];
  for (const entry of readdirSync(folder)) {
    if (!entry.includes(temporaryMark)) continue;
    rmSync(join(folder, entry), { recursive: true, force: true });
    removed.push(entry);
  }
  return removed;
}
