/**
 * One repository in a cache, on disk.
 *
 * Hugging Face (https://huggingface.co/docs/huggingface_hub/guides/manage-cache), read and written:
 *
 *     models--owner--name/
 *       blobs/<sha256 or git id>            contents, each once
 *       snapshots/<commit>/<path>           links to ../../blobs/…, or the files themselves where links are not permitted
 *       refs/<branch or tag>                the commit, without a line break; written after the snapshot
 *       .no_exist/<commit>/<path>           what the Python library knows not to exist
 *
 * ModelScope (its library from 1.38 on), read and written: `models/owner--name/snapshots/<branch or tag>/<path>`, the
 * files themselves. Its older layouts are read only.
 *
 * In both, `.hone/` holds what Hone notes: `<commit>.json` for a snapshot that is whole, `<commit>.partial.json` for one
 * that is to come. Both Python libraries pass over it.
 */

import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import {
  repoFileSchema,
  repoIdPattern,
  repoRefSchema,
  type HubSourceName,
  type RepoFile,
  type RepoKind,
  type RepoRef,
} from "../../contract/hub.ts";

const recordSchema = z.object({
  version: z.literal(1),
  ref: repoRefSchema,
  commit: z.string(),
  files: z.array(repoFileSchema),
});
export type SnapshotRecord = z.infer<typeof recordSchema>;

/**
 * How a content is called: by its SHA-256, or by its git id where the hub gives no other. What has neither is known by
 * its place in a commit.
 */
export function contentName(file: RepoFile, commit: string): string {
  const place = () => createHash("sha256").update(`${commit}/${file.path}`).digest("hex").slice(0, 32);
  return file.sha256 ?? file.etag ?? place();
}

export function isCommit(revision: string): boolean {
  return /^[0-9a-f]{40}$/.test(revision);
}

export class RepoFolder {
  readonly source: HubSourceName;
  readonly kind: RepoKind;
  readonly id: string;
  /** The cache that holds it. */
  readonly root: string;
  readonly path: string;

  constructor(root: string, { source, kind, id }: Pick<RepoRef, "source" | "kind" | "id">) {
    this.source = source;
    this.kind = kind;
    this.id = id;
    this.root = root;
    const name = id.replaceAll("/", "--");
    this.path = source === "huggingface" ? join(root, `${kind}s--${name}`) : join(root, `${kind}s`, name);
  }

  /** All repositories of a cache, by name. What is none is passed over. */
  static list(root: string, source: HubSourceName): RepoFolder[] {
    const found = (["model", "dataset"] as const).flatMap((kind) => {
      const folder = source === "huggingface" ? root : join(root, `${kind}s`);
      const prefix = source === "huggingface" ? `${kind}s--` : "";
      return folderNames(folder).flatMap((name) => {
        if (!name.startsWith(prefix)) return [];
        const id = name.slice(prefix.length).replaceAll("--", "/");
        const isOne = repoIdPattern.test(id) && (source === "huggingface" || name.includes("--"));
        return isOne ? [new RepoFolder(root, { source, kind, id })] : [];
      });
    });
    return found.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  }

  get notes(): string {
    return join(this.path, ".hone");
  }

  /** Contents. Where snapshots hold the files themselves, only until they are published. */
  get blobs(): string {
    return this.source === "huggingface" ? join(this.path, "blobs") : join(this.notes, "blobs");
  }

  get locks(): string {
    return join(this.root, ".locks", `${this.kind}s--${this.id.replaceAll("/", "--")}`);
  }

  /** `commit` names the folder on Hugging Face, the branch or tag on ModelScope. */
  snapshot({ revision }: Pick<RepoRef, "revision">, commit: string): string {
    return join(this.path, "snapshots", this.source === "huggingface" ? commit : revision);
  }

  recordFile(commit: string, state: "whole" | "partial"): string {
    return join(this.notes, state === "whole" ? `${commit}.json` : `${commit}.partial.json`);
  }

  /** A note that is damaged or of a later version says nothing. */
  record(commit: string, state: "whole" | "partial"): SnapshotRecord | undefined {
    try {
      return recordSchema.parse(JSON.parse(readFileSync(this.recordFile(commit, state), "utf8")));
    } catch {
      return undefined;
    }
  }

  records(state: "whole" | "partial"): SnapshotRecord[] {
    const pattern = state === "whole" ? /^([0-9a-f]{40})\.json$/ : /^([0-9a-f]{40})\.partial\.json$/;
    return names(this.notes).flatMap((name) => this.record(pattern.exec(name)?.[1] ?? "", state) ?? []);
  }

  /** Names of the snapshots' folders: commits on Hugging Face. */
  snapshots(): string[] {
    return folderNames(join(this.path, "snapshots"));
  }

  /** Branches and tags with the commits that they stand for. ModelScope has none beside the snapshots' own names. */
  refs(): Map<string, string> {
    const folder = join(this.path, "refs");
    const refs = new Map<string, string>();
    let paths: string[];
    try {
      paths = readdirSync(folder, { recursive: true, encoding: "utf8" });
    } catch {
      return refs;
    }
    for (const path of paths) {
      try {
        const commit = readFileSync(join(folder, path), "utf8").trim();
        if (isCommit(commit)) refs.set(path.replaceAll("\\", "/"), commit);
      } catch {
        // A folder, or a file that may not be read.
      }
    }
    return refs;
  }

  /** The commit that a branch, a tag or the beginning of a commit stands for here; undefined where it is not here. */
  commitOf(revision: string): string | undefined {
    const here = this.snapshots();
    if (here.includes(revision)) return revision;
    const named = this.refs().get(revision);
    if (named !== undefined) return here.includes(named) ? named : undefined;
    const begins = /^[0-9a-f]{7,39}$/.test(revision) ? here.filter((name) => name.startsWith(revision)) : [];
    return begins.length === 1 ? begins[0] : undefined;
  }
}

/** Entries of a folder, sorted; none where there is no folder or no permission. */
export function names(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

export function folderNames(folder: string): string[] {
  return names(folder).filter((name) => isFolder(join(folder, name)));
}

export function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}
