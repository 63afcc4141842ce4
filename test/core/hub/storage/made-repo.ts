/** Repositories made up for tests of what is on disk: no hub takes part. */

import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, lstatSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { RepoFile, RepoRef } from "../../../../core/contract/hub.ts";
import type { CacheTarget } from "../../../../core/hub/storage/cache-target.ts";
import { cacheTarget, type TargetOptions } from "../../../../core/hub/storage/snapshot-target.ts";

export interface MadeFile extends RepoFile {
  content: Buffer;
}

/** As Hugging Face does: weights in LFS with a SHA-256, the rest with a git id. */
export function madeFile(path: string, content: string | Buffer): MadeFile {
  const bytes = Buffer.from(content);
  const isLarge = /\.(safetensors|gguf|parquet)$/.test(path);
  const git = createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return {
    path,
    size: bytes.length,
    sha256: isLarge ? sha256 : null,
    etag: isLarge ? null : git,
    content: bytes,
  };
}

export function madeRef(id = "acme/tiny", more: Partial<RepoRef> = {}): RepoRef {
  return { source: "huggingface", kind: "model", id, revision: "main", ...more };
}

export const commitOf = (name: string): string => createHash("sha1").update(name).digest("hex");

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), "hone-storage-"));
}

/** Takes every file through the target as a download does. Returns the paths that had to be written. */
export function fill(target: CacheTarget, files: readonly MadeFile[]): string[] {
  target.open();
  const written: string[] = [];
  for (const file of files) {
    if (target.here(file)) continue;
    writeFileSync(target.incomplete(file).data, file.content);
    target.keep(file);
    written.push(file.path);
  }
  target.publish();
  target.close();
  return written;
}

export function download(
  root: string,
  files: readonly MadeFile[],
  { ref = madeRef(), commit = commitOf("one"), ...options }: { ref?: RepoRef; commit?: string } & TargetOptions = {},
): string[] {
  return fill(cacheTarget({ ref, commit }, files.map(plain), { root, ...options }), files);
}

export function plain({ path, size, sha256, etag }: RepoFile): RepoFile {
  return { path, size, sha256, etag };
}

/** Every file below a folder: a link as `-> target`, a file as its text. */
export function tree(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    const path = join(folder, entry);
    const info = lstatSync(path);
    if (info.isSymbolicLink()) found[entry] = `-> ${readlinkSync(path)}`;
    else if (info.isFile()) found[entry] = readFileSync(path, "latin1");
  }
  return found;
}

export function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** Bytes of a safetensors file with one F32 tensor. */
export function safetensors(elements = 4, fill = 1): Buffer {
  const header = JSON.stringify({ weight: { dtype: "F32", shape: [elements], data_offsets: [0, 4 * elements] } });
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, Buffer.from(header), Buffer.alloc(4 * elements, fill)]);
}
