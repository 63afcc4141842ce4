/** What the test hub holds: repositories with branches, tags and commits, whose contents are in memory or in a file. */

import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { Readable } from "node:stream";
import type { Gated, RepoKind } from "../../core/contract/hub.ts";
import { sha256File } from "../../core/files/manifest.ts";

export interface Content {
  size: number;
  sha256: string;
  /** SHA-1 of `blob <size>\0<content>`; for an LFS object that of its pointer file. */
  gitOid: string;
  /** Stored as a large file: its address redirects to a signed one on the CDN. */
  isLfs: boolean;
  /** Bytes [start, end). */
  read(start: number, end: number): Readable;
}

/** Hugging Face stores binary and large files in LFS; the size is the hub's own limit for text. */
const lfsPattern = /\.(?:safetensors|gguf|bin|parquet|pt|pth|onnx|npz)$/;
const lfsSize = 10 * 1024 ** 2;

export function bytesContent(path: string, data: Buffer | string): Content {
  const bytes = Buffer.from(data);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const isLfs = lfsPattern.test(path) || bytes.length >= lfsSize;
  return {
    size: bytes.length,
    sha256,
    gitOid: isLfs ? gitBlobOid(lfsPointer(sha256, bytes.length)) : gitBlobOid(bytes),
    isLfs,
    read: (start, end) => Readable.from(slices(bytes.subarray(start, end)), { objectMode: false }),
  };
}

/** A file on disk; a large one stays there. */
export async function fileContent(path: string): Promise<Content> {
  const { size } = statSync(path);
  if (size < 1024 ** 2) return bytesContent(path, readFileSync(path));
  const sha256 = await sha256File(path);
  return {
    size,
    sha256,
    gitOid: gitBlobOid(lfsPointer(sha256, size)),
    isLfs: true,
    read: (start, end) =>
      end <= start ? Readable.from([]) : createReadStream(path, { start, end: end - 1, highWaterMark: 1024 ** 2 }),
  };
}

export function lfsPointer(sha256: string, size: number): Buffer {
  return Buffer.from(`version https://git-lfs.github.com/spec/v1\noid sha256:${sha256}\nsize ${size}\n`);
}

export function gitBlobOid(bytes: Buffer): string {
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

function* slices(bytes: Buffer): Generator<Buffer> {
  const step = 64 * 1024;
  for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step);
}

export interface RepositoryFacts {
  gated?: Gated;
  private?: boolean;
  licence?: string;
  downloads?: number;
  likes?: number;
  tags?: string[];
  modelType?: string;
  architecture?: string;
  parameters?: number;
  dtype?: string;
  baseModel?: string;
  lastModified?: string;
  task?: string;
}

export type Files = Record<string, Buffer | string | Content>;

export class TestRepository {
  readonly kind: RepoKind;
  readonly id: string;
  readonly facts: RepositoryFacts;
  readonly #commits = new Map<string, ReadonlyMap<string, Content>>();
  readonly #branches = new Map<string, string>();
  readonly #tags = new Map<string, string>();

  constructor(kind: RepoKind, id: string, files: Files, facts: RepositoryFacts = {}) {
    this.kind = kind;
    this.id = id;
    this.facts = facts;
    this.commit(files);
  }

  /** A new commit with exactly these files on a branch. Returns its id. */
  commit(files: Files, branch = "main"): string {
    const contents = new Map<string, Content>();
    for (const [path, data] of Object.entries(files)) {
      contents.set(path, typeof data === "string" || Buffer.isBuffer(data) ? bytesContent(path, data) : data);
    }
    const lines = [...contents].map(([path, { gitOid }]) => `${gitOid} ${path}`);
    const parent = this.#branches.get(branch) ?? "";
    const id = createHash("sha1")
      .update([this.id, parent, ...lines].join("\n"))
      .digest("hex");
    this.#commits.set(id, contents);
    this.#branches.set(branch, id);
    return id;
  }

  tag(name: string, commit: string): void {
    this.#tags.set(name, commit);
  }

  /** Takes a commit away, as a rewritten history does. */
  forget(commit: string): void {
    this.#commits.delete(commit);
  }

  /** ModelScope's first branch is `master`; one content has both names here. */
  resolve(revision: string): string | undefined {
    const name = revision === "HEAD" || revision === "master" ? "main" : revision;
    const commit = this.#branches.get(name) ?? this.#tags.get(name) ?? name;
    return this.#commits.has(commit) ? commit : undefined;
  }

  files(commit: string): ReadonlyMap<string, Content> {
    return this.#commits.get(commit) ?? new Map<string, Content>();
  }

  branches(): string[] {
    return [...this.#branches.keys()];
  }

  tags(): string[] {
    return [...this.#tags.keys()];
  }
}
