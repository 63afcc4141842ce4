/** Files on the disk as an inventory needs them: through links, with what is behind them, never an error for one of them. */

import { lstatSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

export interface StoredFile {
  /** Relative to the folder that was listed, with `/`. */
  path: string;
  /** Where its name stands. */
  name: string;
  /** Where its content is: the first link is followed, as the Python library counts. */
  content: string;
  size: number;
  /** One content under two names has one key. */
  key: string;
  modified: Date;
  used: Date;
}

export interface FolderFiles {
  files: StoredFile[];
  /** Relative names whose links lead to nothing. */
  dangling: string[];
  /** Folders and files that the system does not let this user read. */
  unreadable: string[];
}

/** All files below a folder, up to `depth` folders down. Links to folders are not followed: they may go in circles. */
export function listStored(folder: string, depth = 8): FolderFiles {
  const found: FolderFiles = { files: [], dangling: [], unreadable: [] };
  const visit = (below: string, left: number): void => {
    let entries;
    try {
      entries = readdirSync(join(folder, below), { withFileTypes: true });
    } catch {
      found.unreadable.push(below === "" ? folder : join(folder, below));
      return;
    }
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) {
        if (left > 0 && entry.name !== ".hone") visit(path, left - 1);
      } else if (entry.isFile() || entry.isSymbolicLink()) {
        const file = storedFile(join(folder, path), path);
        if (file === undefined) found.dangling.push(path);
        else if (file !== "folder") found.files.push(file);
      }
    }
  };
  visit("", depth);
  return found;
}

/** Undefined for a link to nothing. */
export function storedFile(name: string, path: string): StoredFile | "folder" | undefined {
  try {
    // Windows has ids of files that a double does not hold.
    const info = statSync(name, { bigint: true });
    if (!info.isFile()) return "folder";
    const content = lstatSync(name).isSymbolicLink() ? resolve(dirname(name), readlinkSync(name)) : name;
    const key = info.ino === 0n ? content : `${info.dev}:${info.ino}`;
    return { path, name, content, size: diskBytes(name, info), key, modified: info.mtime, used: info.atime };
  } catch {
    return undefined;
  }
}

/** The beginning of a file may have holes, which take no space. */
export function diskBytes(path: string, { size, blocks }: { size: bigint; blocks: bigint }): number {
  return Number(path.endsWith(".incomplete") && 512n * blocks < size ? 512n * blocks : size);
}

/** Bytes of contents, each counted once. `seen` carries on from one call to the next. */
export function bytesOnce(files: readonly StoredFile[], seen = new Set<string>()): number {
  let bytes = 0;
  for (const { key, size } of files) {
    if (seen.has(key)) continue;
    seen.add(key);
    bytes += size;
  }
  return bytes;
}
