/** A snapshot on its way into a cache: contents first, then all names at once, then the branch, then the record. */

import {
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { HoneError } from "../../contract/errors.ts";
import type { RepoFile, RepoRef, RepoSnapshot } from "../../contract/hub.ts";
import { fsyncPath, writeFileAtomic } from "../../files/atomic.ts";
import { rethrowDiskFull } from "../../files/disk.ts";
import { isLocked, lockFolder } from "../../files/lock.ts";
import { fileReason, requireWritable } from "../../files/system-error.ts";
import type { CacheTarget, IncompletePaths } from "./cache-target.ts";
import { downloadFolder } from "./places.ts";
import { RepoFolder, contentName, type SnapshotRecord } from "./repo-folder.ts";

export interface TargetOptions {
  /** Cache to fill. Default: where Hone downloads to from this hub. */
  root?: string;
  /** Default: whether the file system lets this process make links, and HF_HUB_DISABLE_SYMLINKS does not forbid it. */
  symlinks?: boolean;
}

/** Where `files` of a snapshot go. Nothing is written before `open`. */
export function cacheTarget(
  snapshot: Pick<RepoSnapshot, "ref" | "commit">,
  files: readonly RepoFile[],
  options: TargetOptions = {},
): CacheTarget {
  return new SnapshotTarget(snapshot, files, options);
}

/** Repositories that this process has open: several downloads of one may go on at a time, one lock holds them all. */
const held = new Map<string, { users: number; release: () => void }>();

/** True while something is downloaded into the repository, by any thread of this process or by another. */
export function isBusy(repo: RepoFolder): boolean {
  return isLocked(repo.notes);
}

class SnapshotTarget implements CacheTarget {
  readonly path: string;
  readonly folder: string;
  private readonly repo: RepoFolder;
  private readonly ref: RepoRef;
  private readonly commit: string;
  private readonly files: readonly RepoFile[];
  private readonly wantsLinks: boolean | undefined;
  private makesLinks: boolean | undefined;
  private isOpen = false;

  constructor(
    { ref, commit }: Pick<RepoSnapshot, "ref" | "commit">,
    files: readonly RepoFile[],
    options: TargetOptions,
  ) {
    this.ref = ref;
    this.commit = commit;
    this.files = files;
    this.folder = options.root ?? downloadFolder(ref.source);
    this.repo = new RepoFolder(this.folder, ref);
    this.path = this.repo.snapshot(ref, commit);
    this.wantsLinks = options.symlinks;
  }

  open(): void {
    if (this.isOpen) return;
    // Of a file system that is read-only Node says of folders that they do not exist.
    requireWritable(this.repo.path, this.writableFix);
    this.atWork(() => {
      mkdirSync(this.repo.blobs, { recursive: true });
      mkdirSync(this.repo.notes, { recursive: true });
      mkdirSync(dirname(this.path), { recursive: true });
      this.requireDistinctNames();
      this.hold();
      this.isOpen = true;
      if (this.missingInRecord().length === 0) return;
      writeFileAtomic(this.repo.recordFile(this.commit, "partial"), toText(this.record(this.files)));
    });
  }

  here(file: RepoFile): boolean {
    return this.contentPath(file) !== undefined;
  }

  contentPath(file: RepoFile): string | undefined {
    const candidates = [
      join(this.repo.blobs, contentName(file, this.commit)),
      join(this.staging, ...file.path.split("/")),
      // A commit's file is always the same. A branch's is not: there the record decides.
      ...(this.repo.source === "huggingface" ? [join(this.path, ...file.path.split("/"))] : []),
      ...this.keptByRecords(file),
    ];
    return candidates.find((path) => isWhole(path, file.size));
  }

  incomplete(file: RepoFile): IncompletePaths {
    // Not `<name>.incomplete`: older Python libraries go on with such a file as if it had no holes.
    const data = join(this.repo.blobs, `${contentName(file, this.commit)}.hone.incomplete`);
    return { data, state: join(this.repo.notes, `${contentName(file, this.commit)}.ranges`) };
  }

  keep(file: RepoFile): void {
    this.atWork(() => {
      const { data, state } = this.incomplete(file);
      fsyncPath(data);
      renameSync(data, join(this.repo.blobs, contentName(file, this.commit)));
      fsyncPath(this.repo.blobs);
      rmSync(state, { force: true });
    });
  }

  discard(file: RepoFile): void {
    this.atWork(() => {
      const { data, state } = this.incomplete(file);
      for (const path of [data, state]) rmSync(path, { force: true });
      for (let path = this.contentPath(file); path !== undefined; path = this.contentPath(file)) {
        rmSync(path, { force: true });
      }
      // No record may call a snapshot whole that had this content, and no name may lead to nothing.
      const name = contentName(file, this.commit);
      for (const { ref, commit, files } of this.repo.records("whole")) {
        const named = files.filter((one) => contentName(one, commit) === name);
        if (named.length === 0) continue;
        rmSync(this.repo.recordFile(commit, "whole"), { force: true });
        for (const { path } of named) removeDangling(join(this.repo.snapshot(ref, commit), ...path.split("/")));
      }
      removeDangling(join(this.path, ...file.path.split("/")));
    });
  }

  publish(): void {
    const missing = this.files.filter((file) => !this.here(file));
    if (missing.length > 0) {
      throw new HoneError("incomplete-snapshot", `${this.ref.id} is not whole: ${missing[0].path} is missing`, {
        fix: "run the same download again: it goes on where it stopped",
      });
    }
    this.atWork(() => {
      const earlier = this.earlierRecord();
      const isNew = !existsSync(this.path);
      const place = isNew ? this.staging : this.path;
      if (!isNew && this.repo.source === "modelscope") this.forgetBranch(earlier);
      for (const file of this.files) this.putName(file, join(place, ...file.path.split("/")));
      if (isNew) {
        renameSync(this.staging, this.path);
        fsyncPath(dirname(this.path));
      }
      if (this.repo.source === "huggingface" && this.ref.revision !== this.commit) {
        const ref = join(this.repo.path, "refs", ...this.ref.revision.split("/"));
        mkdirSync(dirname(ref), { recursive: true });
        writeFileAtomic(ref, this.commit);
      }
      const names = new Set(this.files.map(({ path }) => path));
      const others = earlier?.files.filter(({ path }) => !names.has(path)) ?? [];
      writeFileAtomic(this.repo.recordFile(this.commit, "whole"), toText(this.record([...others, ...this.files])));
      rmSync(this.repo.recordFile(this.commit, "partial"), { force: true });
      rmSync(this.staging, { recursive: true, force: true });
      if (this.repo.source !== "modelscope") return;
      for (const file of this.files) rmSync(join(this.repo.blobs, contentName(file, this.commit)), { force: true });
      removeIfEmpty(this.repo.blobs);
    });
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    const isNothing = this.forgetIfEmpty();
    const owner = held.get(this.repo.notes);
    if (owner === undefined) return;
    owner.users -= 1;
    if (owner.users > 0) return;
    held.delete(this.repo.notes);
    owner.release();
    if (!isNothing) return;
    for (const folder of [this.repo.notes, this.repo.blobs]) removeIfEmpty(folder);
    // Without its folder of snapshots the Python library holds a repository for damaged.
    if (existsSync(this.repo.notes) || existsSync(this.repo.blobs)) return;
    for (const folder of [dirname(this.path), this.repo.path]) removeIfEmpty(folder);
  }

  /** A download of which not one byte came, such as one that was refused, leaves nothing to go on from. */
  private forgetIfEmpty(): boolean {
    const paths = this.files.map((file) => this.incomplete(file));
    // Bytes that are not noted are none to rely on.
    const hasBytes = ({ state }: IncompletePaths) => existsSync(state);
    if (existsSync(this.path) || this.files.some((file) => this.here(file)) || paths.some(hasBytes)) return false;
    for (const { data, state } of paths) for (const path of [data, state]) rmSync(path, { force: true });
    rmSync(this.repo.recordFile(this.commit, "partial"), { force: true });
    return true;
  }

  /** The snapshot's names while they are made. As deep as the snapshot itself, so that links are right in both places. */
  private get staging(): string {
    return join(this.repo.notes, `snapshot-${this.commit}`);
  }

  private record(files: readonly RepoFile[]): SnapshotRecord {
    return { version: 1, ref: this.ref, commit: this.commit, files: [...files] };
  }

  /** What the record of this very commit says to be whole, as far as it still is. */
  private earlierRecord(): SnapshotRecord | undefined {
    const record = this.repo.record(this.commit, "whole");
    if (record === undefined || this.repo.snapshot(record.ref, record.commit) !== this.path) return undefined;
    return { ...record, files: record.files.filter((file) => isWhole(join(this.path, file.path), file.size)) };
  }

  private missingInRecord(): RepoFile[] {
    const whole = new Set(this.earlierRecord()?.files.map(({ path }) => path));
    return this.files.filter(({ path }) => !whole.has(path));
  }

  /** Where other snapshots of the repository hold the same content as files of their own. */
  private keptByRecords(wanted: RepoFile): string[] {
    const name = contentName(wanted, this.commit);
    return this.repo
      .records("whole")
      .flatMap(({ ref, commit, files }) =>
        files
          .filter((file) => contentName(file, commit) === name)
          .map((file) => join(this.repo.snapshot(ref, commit), ...file.path.split("/"))),
      );
  }

  /** A branch's folder is about to change its commit: until the new record stands nothing says that it is whole. */
  private forgetBranch(earlier: SnapshotRecord | undefined): void {
    const wanted = new Set(this.files.map(({ path }) => path));
    for (const { ref, commit, files } of this.repo.records("whole")) {
      if (this.repo.snapshot(ref, commit) !== this.path || commit === earlier?.commit) continue;
      // Contents that the new commit shares are put aside under their own name first.
      for (const file of this.files) {
        const blob = join(this.repo.blobs, contentName(file, this.commit));
        const path = this.contentPath(file);
        if (path !== undefined && path !== blob && path.startsWith(this.path)) linkOrCopy(path, blob);
      }
      rmSync(this.repo.recordFile(commit, "whole"), { force: true });
      for (const { path } of files) if (!wanted.has(path)) rmSync(join(this.path, path), { force: true });
    }
  }

  private putName(file: RepoFile, path: string): void {
    const content = this.contentPath(file);
    const blob = join(this.repo.blobs, contentName(file, this.commit));
    if (content === undefined) throw new Error(`${file.path} was there a moment ago`);
    if (content === path) return;
    mkdirSync(dirname(path), { recursive: true });
    if (this.repo.source === "huggingface" && content === blob && this.links()) {
      const target = relative(dirname(path), blob);
      if (linkTarget(path) === target) return;
      const temporary = `${path}.hone-${process.pid}`;
      rmSync(temporary, { force: true });
      symlinkSync(target, temporary, "file");
      renameSync(temporary, path);
      return;
    }
    // As the Python library does: a new content moves to its name; one that has a name gets a second. A branch's folder
    // says of no file what is in it until the record stands, so contents keep their own names until then.
    if (content === blob && this.repo.source === "huggingface") renameSync(blob, path);
    else linkOrCopy(content, path);
  }

  /** Asked once, in the repository itself: another disk may say otherwise. */
  private links(): boolean {
    if (this.makesLinks !== undefined) return this.makesLinks;
    const refused = /^(1|on|yes|true)$/i.test(process.env["HF_HUB_DISABLE_SYMLINKS"] ?? "");
    this.makesLinks = this.wantsLinks ?? (!refused && canLink(this.repo.notes));
    return this.makesLinks;
  }

  private hold(): void {
    const owner = held.get(this.repo.notes);
    if (owner !== undefined) {
      owner.users += 1;
      return;
    }
    try {
      held.set(this.repo.notes, { users: 1, release: lockFolder(this.repo.notes) });
    } catch (error) {
      if (!(error instanceof HoneError) || error.code !== "run-busy") throw error;
      throw new HoneError("download-busy", `another Hone is downloading ${this.ref.id}: ${error.message}`, {
        cause: error,
        ...(error.fix !== undefined && { fix: error.fix }),
      });
    }
  }

  /** Two names that this file system holds for one would overwrite each other without a word. */
  private requireDistinctNames(): void {
    const isCaseless = existsSync(join(dirname(this.repo.notes), ".HONE"));
    const seen = new Map<string, string>();
    const folders = new Set(this.files.flatMap(({ path }) => parents(path)));
    for (const { path } of this.files) {
      const key = isCaseless ? path.normalize("NFC").toLowerCase() : path;
      const other = folders.has(path) ? `${path}/…` : seen.get(key);
      if (other !== undefined) {
        throw new HoneError(
          "name-clash",
          `${this.ref.id} has the files ${other} and ${path}, which are one name on the file system of ${this.folder}`,
          { fix: "choose one of them with --file, or set HF_HUB_CACHE to a folder on another file system" },
        );
      }
      seen.set(key, path);
    }
  }

  private get writableFix(): string {
    const variable = this.ref.source === "huggingface" ? "HF_HUB_CACHE" : "MODELSCOPE_CACHE";
    return `make ${this.folder} writable for you, or set ${variable} to another folder`;
  }

  /** Runs what writes: what the system refuses is told with the folder and the way out. */
  private atWork(act: () => void): void {
    try {
      act();
    } catch (error) {
      const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
      if (code === "EACCES" || code === "EPERM" || code === "EROFS" || code === "ENOTDIR" || code === "EEXIST") {
        const { path, dest } = error as NodeJS.ErrnoException & { dest?: string };
        const why = fileReason(error) ?? "a file stands where a folder should";
        throw new HoneError("not-writable", `cannot write ${dest ?? path ?? this.folder}: ${why}`, {
          cause: error,
          fix: this.writableFix,
        });
      }
      if (error instanceof HoneError && error.code === "disk-full") throw error;
      rethrowDiskFull(error, this.folder);
    }
  }
}

function toText(record: SnapshotRecord): string {
  return `${JSON.stringify(record, undefined, 1)}\n`;
}

function parents(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("/"));
}

/** True for a file of that size, through links. */
export function isWhole(path: string, size: number): boolean {
  try {
    const info = statSync(path);
    return info.isFile() && info.size === size;
  } catch {
    return false;
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}

function removeDangling(path: string): void {
  if (linkTarget(path) !== undefined && !existsSync(path)) rmSync(path);
}

function canLink(folder: string): boolean {
  const probe = join(folder, `link-${process.pid}`);
  try {
    rmSync(probe, { force: true });
    symlinkSync("target", probe, "file");
    return true;
  } catch {
    return false;
  } finally {
    rmSync(probe, { force: true });
  }
}

/** One content under a second name: without taking space where the file system has hard links, as a copy elsewhere. */
export function linkOrCopy(from: string, to: string): void {
  if (resolve(from) === resolve(to)) return;
  const temporary = `${to}.hone-${process.pid}`;
  rmSync(temporary, { force: true });
  try {
    linkSync(from, temporary);
  } catch {
    copyFileSync(from, temporary);
    fsyncPath(temporary);
  }
  renameSync(temporary, to);
  // Of two names of one file a rename does nothing, and leaves both.
  rmSync(temporary, { force: true });
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Something is in it.
  }
}
