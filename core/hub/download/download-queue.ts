/**
 * All downloads: several at once, kept on disk, so that a start after a quit, a crash or a reboot goes on with them.
 * A download that failed or was paused stays in the list until somebody resumes or removes it.
 */

import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { CancelledError, errorKind, errorMessage, HoneError } from "../../contract/errors.ts";
import type { Download, RepoSnapshot } from "../../contract/hub.ts";
import { isDiskFull } from "../../files/disk.ts";
import { fileReason } from "../../files/system-error.ts";
import type { HubSettings } from "../find-snapshot.ts";
import { findLeftovers, removeLeftovers } from "../storage/leftovers.ts";
import { cacheTarget } from "../storage/snapshot-target.ts";
import type { DownloadOptions, DownloadProgress } from "./download-options.ts";
import { downloadOrderSchema, planDownload, runDownload, type DownloadOrderInput } from "./plan-download.ts";
import { queueFolder, QueueStore, type QueueEntry } from "./queue-store.ts";
import { Throttle } from "./throttle.ts";

export interface QueueOptions {
  /** Default: `downloads` in Hone's folder. */
  folder?: string;
  /** Read anew for every download: settings may change. */
  hubs?: () => HubSettings | Promise<HubSettings>;
  /** Downloads at a time. Default 2. */
  parallel?: number;
  /** Bytes per second of all together; null: no limit. */
  bandwidthLimit?: number | null;
  /** For tests: patience, connections, disk. */
  download?: Pick<DownloadOptions, "patience" | "connections" | "pieceBytes" | "noteSeconds" | "disk">;
}

type Listener = (downloads: Download[]) => void;

/** Why a download was told to stop. */
type Reason = "paused" | "cancelled" | "closing";

/** What a running download is stopped with. */
interface Running {
  abort: AbortController;
  reason: Reason | undefined;
  ended: Promise<void>;
}

/** Nobody waits in front of it: a lost network is borne for an hour. */
const queuePatience = { total: 3600 };

/** Ended downloads that the list keeps. */
const keptEnded = 50;

export class DownloadQueue {
  readonly #store: QueueStore;
  readonly #options: QueueOptions;
  readonly #throttle: Throttle;
  readonly #listeners = new Set<Listener>();
  readonly #running = new Map<string, Running>();
  #entries: QueueEntry[];
  #parallel: number;
  #isClosed = false;

  /** Goes on with what an earlier process left. Throws `downloads-busy`. */
  constructor(options: QueueOptions = {}) {
    this.#options = options;
    this.#store = new QueueStore(options.folder ?? queueFolder());
    this.#throttle = new Throttle(options.bandwidthLimit ?? null);
    this.#parallel = options.parallel ?? 2;
    this.#entries = this.#store.read();
    for (const { download } of this.#entries) {
      if (download.state === "downloading" || download.state === "checking") download.state = "queued";
    }
    this.#next();
  }

  /** The newest first. */
  list(): Download[] {
    return this.#entries.map(({ download }) => structuredClone(download)).reverse();
  }

  /** Called with the list, at most four times a second for each download. Returns what ends it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The same repository is not downloaded twice: one that has not ended is gone on with. */
  add(input: DownloadOrderInput): Download {
    const order = downloadOrderSchema.parse(input);
    const same = this.#entries.find(
      ({ order: other, download }) =>
        !["done", "cancelled"].includes(download.state) && JSON.stringify(other) === JSON.stringify(order),
    );
    if (same !== undefined) {
      if (same.download.state === "paused" || same.download.state === "failed") this.resume(same.download.id);
      return structuredClone(same.download);
    }
    const download: Download = {
      id: randomUUID(),
      ref: order.ref,
      commit: null,
      quant: order.quant,
      state: "queued",
      source: order.ref.source,
      created: new Date().toISOString(),
      finished: null,
      bytes: 0,
      bytes_done: 0,
      bytes_per_second: 0,
      seconds_left: null,
      files: [],
      retries: 0,
      note: null,
      error: null,
      path: null,
    };
    this.#entries.push({ order, download, snapshot: null });
    this.#next();
    return structuredClone(download);
  }

  /** Stops it and keeps what is there. */
  async pause(id: string): Promise<void> {
    const { download } = this.#find(id);
    if (download.state === "queued") this.#set(download, { state: "paused" });
    await this.#halt(id, "paused");
  }

  /** Goes on with a paused, failed or cancelled download. */
  resume(id: string): void {
    const { download } = this.#find(id);
    if (!["paused", "failed", "cancelled"].includes(download.state)) return;
    this.#set(download, { state: "queued", error: null, note: null, finished: null });
    this.#next();
  }

  /** Stops it and deletes the beginnings of files that it made. What was here before stays. */
  async cancel(id: string): Promise<void> {
    const entry = this.#find(id);
    await this.#halt(id, "cancelled");
    if (entry.download.state === "done") return;
    this.#discard(entry);
    this.#set(entry.download, { state: "cancelled", finished: new Date().toISOString(), bytes_done: 0 });
    this.#next();
  }

  /** Takes an ended download off the list; nothing on disk changes. Throws `download-active`. */
  remove(id: string): void {
    const { download } = this.#find(id);
    if (!["done", "failed", "cancelled"].includes(download.state)) {
      throw new HoneError("download-active", `the download of ${download.ref.id} has not ended`, {
        fix: "cancel it first",
      });
    }
    this.#entries = this.#entries.filter((entry) => entry.download !== download);
    this.#changed(true);
  }

  get bandwidthLimit(): number | null {
    return this.#throttle.bytesPerSecond;
  }

  /** Bytes per second of all downloads together, at once. Null: no limit. */
  set bandwidthLimit(bytesPerSecond: number | null) {
    this.#throttle.bytesPerSecond = bytesPerSecond;
  }

  set parallel(count: number) {
    this.#parallel = count;
    this.#next();
  }

  /** Resolves when nothing is queued or running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  /** Stops all of them where they are. The next process goes on with them. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.all([...this.#running.keys()].map((id) => this.#halt(id, "closing")));
    this.#save();
    this.#store.close();
    this.#listeners.clear();
  }

  #find(id: string): QueueEntry {
    const entry = this.#entries.find(({ download }) => download.id === id);
    if (entry === undefined) throw new HoneError("no-such-download", `there is no download ${id}`);
    return entry;
  }

  async #halt(id: string, reason: Reason): Promise<void> {
    const running = this.#running.get(id);
    if (running === undefined) return;
    running.reason ??= reason;
    running.abort.abort();
    await running.ended;
  }

  /** Starts what may start: never two at a time of one repository, which they would share files of. */
  #next(): void {
    for (const entry of this.#entries) {
      if (this.#isClosed || this.#running.size >= this.#parallel) break;
      if (entry.download.state !== "queued" || this.#isRepoBusy(entry)) continue;
      const running: Running = { abort: new AbortController(), reason: undefined, ended: Promise.resolve() };
      this.#running.set(entry.download.id, running);
      this.#set(entry.download, { state: "downloading" });
      running.ended = this.#run(entry, running).finally(() => {
        this.#running.delete(entry.download.id);
        this.#next();
      });
    }
    this.#changed(true);
  }

  #isRepoBusy({ order }: QueueEntry): boolean {
    return this.#entries.some(
      (other) =>
        this.#running.has(other.download.id) &&
        other.order.ref.kind === order.ref.kind &&
        other.order.ref.id === order.ref.id,
    );
  }

  async #run(entry: QueueEntry, running: Running): Promise<void> {
    const { download } = entry;
    try {
      await this.#fetch(entry, running.abort.signal);
    } catch (error) {
      const isOwn =
        running.reason !== undefined && (error instanceof CancelledError || errorKind(error) === "cancelled");
      const quiet = { bytes_per_second: 0, seconds_left: null, note: null };
      if (isOwn) {
        const state = running.reason === "closing" ? "queued" : running.reason === "paused" ? "paused" : "cancelled";
        this.#set(download, { ...quiet, state });
        return;
      }
      const { code, fix } = error instanceof HoneError ? error : { code: "internal", fix: undefined };
      this.#set(download, {
        ...quiet,
        state: "failed",
        finished: new Date().toISOString(),
        error: { code, message: errorMessage(error), fix: fix ?? null },
      });
    }
  }

  async #fetch(entry: QueueEntry, signal: AbortSignal, isSecond = false): Promise<void> {
    const { download, order } = entry;
    const hubs = (await this.#options.hubs?.()) ?? {};
    const known = entry.snapshot;
    const snapshot = known ?? (await this.#ask(entry, hubs, signal));
    const { files } = snapshot;
    this.#set(download, { commit: snapshot.commit, bytes: files.reduce((sum, { size }) => sum + size, 0) });
    try {
      const result = await runDownload(order, snapshot, files, {
        hubs,
        patience: queuePatience,
        ...this.#options.download,
        signal,
        bandwidthLimit: this.#throttle,
        onProgress: (progress) => this.#progress(download, progress),
      });
      this.#set(download, {
        state: "done",
        finished: new Date().toISOString(),
        bytes_done: result.bytes,
        bytes_per_second: 0,
        seconds_left: 0,
        note: null,
        path: result.path,
      });
      this.#forgetOldest();
    } catch (error) {
      // The commit is gone: the authors have written the history anew while the download waited.
      const isGone = error instanceof HoneError && ["no-such-revision", "no-such-file"].includes(error.code);
      if (!isGone || isSecond || known === null) throw error;
      entry.snapshot = null;
      this.#set(download, { note: `${order.ref.id} has changed meanwhile: its files are listed again` });
      await this.#fetch(entry, signal, true);
    }
  }

  /** Which files, of which commit. Kept, so that the next start needs no answer. */
  async #ask(entry: QueueEntry, hubs: HubSettings, signal: AbortSignal): Promise<RepoSnapshot> {
    const { snapshot, choice, note } = await planDownload(entry.order, { hubs, signal });
    entry.snapshot = { ...snapshot, files: choice.files };
    this.#set(entry.download, { source: snapshot.ref.source, quant: choice.quant, note });
    return entry.snapshot;
  }

  #progress(download: Download, progress: DownloadProgress): void {
    const { source, bytes, bytes_done, bytes_per_second, seconds_left, files, retries, note } = progress;
    const isChecking =
      files.some(({ state }) => state === "checking") && files.every(({ state }) => state !== "downloading");
    Object.assign(download, { source, bytes, bytes_done, bytes_per_second, seconds_left, files, retries, note });
    download.state = isChecking ? "checking" : "downloading";
    this.#changed(false);
  }

  /** Beginnings of files, and whole ones that no snapshot names; not while another download may go on from them. */
  #discard({ order, download, snapshot }: QueueEntry): void {
    download.files = [];
    if (snapshot === null) return;
    const target = cacheTarget(snapshot, snapshot.files);
    const mine = new Set<string | undefined>();
    for (const file of snapshot.files) {
      const { data, state } = target.incomplete(file);
      mine.add(data).add(target.contentPath(file));
      for (const path of [data, state]) rmSync(path, { force: true });
    }
    const isShared = this.#entries.some(
      (other) =>
        other.download !== download &&
        other.order.ref.id === order.ref.id &&
        !["done", "cancelled"].includes(other.download.state),
    );
    if (!isShared) removeLeftovers(findLeftovers().filter(({ path }) => mine.has(path)));
  }

  #set(download: Download, values: Partial<Download>): void {
    Object.assign(download, values);
    this.#changed(true);
  }

  #changed(isState: boolean): void {
    if (isState && !this.#isClosed) this.#save();
    const list = this.list();
    for (const listener of this.#listeners) listener(list);
  }

  #save(): void {
    try {
      this.#store.write(this.#entries);
    } catch (error) {
      // On a full disk the download says so itself, and the list in memory is right: the next change writes it.
      if (!isDiskFull(error) && fileReason(error) === undefined) throw error;
    }
  }

  #forgetOldest(): void {
    const ended = this.#entries.filter(({ download }) => download.state === "done" || download.state === "cancelled");
    const old = new Set(ended.slice(0, Math.max(0, ended.length - keptEnded)));
    this.#entries = this.#entries.filter((entry) => !old.has(entry));
  }
}
