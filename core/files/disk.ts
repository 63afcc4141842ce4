/** Free disk space, asked before something long begins, and a full disk told in plain words. */

import { existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { HoneError } from "../contract/errors.ts";
import { formatBytes } from "../contract/units.ts";

/** Bytes that this user may still write at a path, which need not exist yet. */
export function freeBytes(path: string): number {
  let existing = resolve(path);
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  const { bavail, bsize } = statfsSync(existing);
  return bavail * bsize;
}

/** Of a file, or of all files in a folder and below it; 0 where there is none. */
export function folderBytes(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 0;
  if (!found.isDirectory()) return found.size;
  return readdirSync(path).reduce((sum, name) => sum + folderBytes(join(path, name)), 0);
}

/** Refuses (code `disk-space`) when fewer than `needed` bytes are free at `path`. */
export function requireFreeBytes(path: string, needed: number, purpose: string): void {
  const free = freeBytes(path);
  if (free >= needed) return;
  throw new HoneError(
    "disk-space",
    `${purpose} needs about ${formatBytes(needed)} at ${path}, but ${formatBytes(free)} are free`,
    { fix: "free some space, or choose another place with --output-dir" },
  );
}

/** True for the errors by which an operating system, or the engine through it, says that no space is left. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof HoneError && error.code === "disk-full") return true;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ENOSPC" || code === "EDQUOT") return true;
  return /no space left on device|not enough space on the disk|disk quota exceeded/i.test(error.message);
}

/** Throws `error`, as `disk-full` when that is what it means. */
export function rethrowDiskFull(error: unknown, path: string): never {
  // One that has a fix has come through here before.
  if (!isDiskFull(error) || (error instanceof HoneError && error.fix !== undefined)) throw error;
  throw new HoneError("disk-full", `the disk is full: could not write ${path}`, {
    cause: error,
    fix: "free some space; what was saved before is intact, and a run goes on with `hone resume`",
  });
}
