/** The one place where a download meets the disk, so that tests can put a full or a read-only one under it. */

import { open, type FileHandle } from "node:fs/promises";
import { HoneError } from "../../contract/errors.ts";
import { freeBytes, isDiskFull } from "../../files/disk.ts";
import { fileReason } from "../../files/system-error.ts";

export interface DataFile {
  /** Writes all of the pieces from a position on. */
  write(pieces: readonly Buffer[], position: number): Promise<void>;
  setLength(bytes: number): Promise<void>;
  /** Forces what was written to the disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface Disk {
  /** Opens a file for writing at any place, made when it is not there. */
  open(path: string): Promise<DataFile>;
  /** Bytes that may still be written at a path, which need not exist yet. */
  free(path: string): number;
}

export const realDisk: Disk = { open: openDataFile, free: freeBytes };

async function openDataFile(path: string): Promise<DataFile> {
  const handle = await openEither(path);
  return {
    write: async (pieces, position) => {
      const total = pieces.reduce((sum, { length }) => sum + length, 0);
      const { bytesWritten } = await handle.writev(pieces, position);
      // A nearly full disk takes a part without an error.
      if (bytesWritten < total) await writeRest(handle, Buffer.concat(pieces), bytesWritten, position);
    },
    setLength: (bytes) => handle.truncate(bytes),
    sync: () => handle.datasync(),
    close: () => handle.close(),
  };
}

async function openEither(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r+");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return open(path, "w+");
  }
}

async function writeRest(handle: FileHandle, bytes: Buffer, written: number, position: number): Promise<void> {
  for (let at = written; at < bytes.length;) {
    at += (await handle.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
  }
}

/** What the file system refused, as `disk-full` or `not-writable`; anything else as it is. */
export function asWriteError(error: unknown, path: string): unknown {
  if (error instanceof HoneError) return error;
  const fix = "what was downloaded is kept, and the download goes on from there";
  if (isDiskFull(error)) {
    return new HoneError("disk-full", `the disk is full: could not write ${path}`, {
      cause: error,
      fix: `free some space and resume: ${fix}`,
    });
  }
  const reason = fileReason(error);
  if (reason === undefined) return error;
  return new HoneError("not-writable", `cannot write ${path}: ${reason}`, {
    cause: error,
    fix: `make the folder writable, or choose another models folder, and resume: ${fix}`,
  });
}
