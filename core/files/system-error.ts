/** What the operating system refused, as an error that a user can act on. */

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import { HoneError } from "../contract/errors.ts";

const reasons: Record<string, string> = {
  EACCES: "you have no permission",
  EBUSY: "it is in use",
  EISDIR: "it is a folder",
  ELOOP: "its links go round in a circle",
  EMFILE: "too many files are open",
  ENAMETOOLONG: "the name is too long",
  ENOENT: "there is no such file or folder",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of the path is a file, not a folder",
  EPERM: "the system does not allow it",
  EROFS: "this file system is read-only",
};

/** The reason in words; undefined when the error is none of the file system's. */
export function fileReason(error: unknown): string | undefined {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return error instanceof Error && code !== undefined && syscall !== undefined ? reasons[code] : undefined;
}

/** An error of the file system as a `HoneError` (code `file-error`) that names the path; any other error as it is. */
export function asUserError(error: unknown): unknown {
  const reason = fileReason(error);
  if (reason === undefined) return error;
  const { syscall, path, dest } = error as NodeJS.ErrnoException & { dest?: string };
  return new HoneError("file-error", `${dest ?? path ?? syscall ?? "a file"}: ${reason}`, { cause: error });
}

/** Refuses (`bad-path`) a path that would mean another place for a program that runs elsewhere. */
export function requireWholePath(path: string): void {
  if (isAbsolute(path)) return;
  throw new HoneError("bad-path", `${path} does not say in which folder`, { fix: "give the whole path" });
}

/** Refuses, before the long work, a path at which no file can be written: `usage`, `not-writable`. */
export function requireFilePlace(path: string, fix: string): void {
  const folder = dirname(resolve(path));
  const usage = (message: string) => new HoneError("usage", message, { fix });
  if (existsSync(path) && statSync(path).isDirectory()) throw usage(`${path} is a folder, not a file`);
  if (!existsSync(folder)) throw usage(`there is no folder ${folder}`);
  requireWritable(path, fix);
}

/** Refuses (`not-writable`) a place in which nothing can be made. `path` itself need not exist yet. */
export function requireWritable(path: string, fix: string): void {
  let existing = resolve(path);
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  let reason: string | undefined;
  if (existing !== resolve(path) && !statSync(existing).isDirectory()) reason = "it is a file, not a folder";
  else {
    try {
      accessSync(existing, constants.W_OK);
    } catch (error) {
      reason = fileReason(error) ?? String(error);
    }
  }
  if (reason !== undefined) throw new HoneError("not-writable", `cannot write to ${existing}: ${reason}`, { fix });
}
