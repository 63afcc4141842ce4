/**
 * Downloads files of a snapshot: several ranges at a time, from whichever source answers, going on from what is there,
 * every file checked before it gets its name, and nothing visible before all are there.
 */

import { setMaxListeners } from "node:events";
import { CancelledError, errorKind, HoneError } from "../../contract/errors.ts";
import { isSafeRepoPath, type FileProgress, type RepoFile, type RepoSnapshot } from "../../contract/hub.ts";
import { formatBytes, formatSeconds } from "../../contract/units.ts";
import { isTransient, RetryLaterError, type HttpReply } from "../http.ts";
import { retryWait } from "../retry.ts";
import type { HubSource } from "../sources/source.ts";
import type { CacheTarget } from "../storage/cache-target.ts";
import { Checksums, checkKind } from "./checksum.ts";
import { realDisk, type Disk } from "./data-file.ts";
import { usualPatience, type DownloadOptions, type DownloadResult, type Patience } from "./download-options.ts";
import { fetchRange } from "./fetch-range.ts";
import { FileTask, cut, type Route, type Supply } from "./file-task.ts";
import { PartialFile, readNote } from "./partial-file.ts";
import type { Interval } from "./range-set.ts";
import { SpeedMeter } from "./speed-meter.ts";
import { Throttle } from "./throttle.ts";

/**
 * Fetches `files` of a snapshot into `target` and makes it visible. Throws `disk-space` before anything is written,
 * `disk-full`, `not-writable`, `checksum-mismatch`, `hostile-file-name`, what `CacheTarget.open` throws, the last error
 * of the network, and `CancelledError`: after each of them the same call goes on from what is there.
 */
export async function downloadSnapshot(
  source: HubSource,
  snapshot: RepoSnapshot,
  files: readonly RepoFile[],
  target: CacheTarget,
  options: DownloadOptions = {},
): Promise<DownloadResult> {
  return new SnapshotDownload({ source, snapshot }, files, target, options).run();
}

/** Errors of a source that no waiting mends: another source may still do. */
const refusals = new Set([
  "no-such-repo",
  "no-such-revision",
  "no-such-file",
  "no-permission",
  "repo-disabled",
  "hub-refused",
  "proxy-refused",
  "certificate",
  "bad-address",
  "bad-proxy",
  "bad-token",
]);

/** The own machine's troubles, and a licence that must be accepted: another source is no way around it. */
const finalErrors = new Set(["disk-full", "not-writable", "file-error", "gated", "not-signed-in"]);

class SnapshotDownload {
  private readonly supply: Supply;
  private readonly files: readonly RepoFile[];
  private readonly target: CacheTarget;
  private readonly options: DownloadOptions;
  private readonly patience: Patience;
  private readonly throttle: Throttle;
  private readonly disk: Disk;
  private readonly pieceBytes: number;
  private readonly stop = new AbortController();
  private readonly checksums = new Checksums();
  private readonly speed = new SpeedMeter();
  private readonly tasks: FileTask[] = [];
  /** Per source: nothing is asked before, because it said so. */
  private readonly gates = new Map<HubSource, number>();
  private changed = Promise.withResolvers<void>();
  private asking: Promise<void> | undefined;
  private fatal: { error: unknown } | undefined;
  private fetched = 0;
  private retries = 0;
  private note: string | null = null;

  constructor(supply: Supply, files: readonly RepoFile[], target: CacheTarget, options: DownloadOptions) {
    this.supply = supply;
    this.files = files;
    this.target = target;
    this.options = options;
    this.patience = { ...usualPatience, ...options.patience };
    const { bandwidthLimit = null } = options;
    this.throttle = bandwidthLimit instanceof Throttle ? bandwidthLimit : new Throttle(bandwidthLimit);
    this.disk = options.disk ?? realDisk;
    this.pieceBytes = options.pieceBytes ?? 16 * 1024 ** 2;
    // One listener per connection is as it should be.
    setMaxListeners(0, this.stop.signal);
  }

  async run(): Promise<DownloadResult> {
    const began = performance.now();
    const { signal } = this.options;
    const cancel = () => this.end(new CancelledError("Cancelled", { cause: signal?.reason }));
    if (signal?.aborted === true) throw new CancelledError("Cancelled", { cause: signal.reason });
    this.checkNames();
    this.plan();
    this.requireSpace();
    this.target.open();
    signal?.addEventListener("abort", cancel);
    const timer = setInterval(() => this.report(), 250);
    try {
      if (this.options.checkExisting === true) await this.checkExisting();
      const connections = this.options.connections ?? 8;
      await Promise.all(Array.from({ length: connections }, () => this.work()));
      if (this.fatal !== undefined) throw this.fatal.error;
      this.target.publish();
      this.report();
    } finally {
      clearInterval(timer);
      signal?.removeEventListener("abort", cancel);
      await this.letGo();
    }
    return {
      path: this.target.path,
      bytes: this.files.reduce((sum, { size }) => sum + size, 0),
      fetched_bytes: this.fetched,
      seconds: (performance.now() - began) / 1000,
      retries: this.retries,
      files: this.files.map((file) => ({ path: file.path, size: file.size, checked: checkKind(file) })),
    };
  }

  /** Sources refuse such names themselves; what a queue kept on disk may have been changed there. */
  private checkNames(): void {
    const hostile = this.files.find(({ path }) => !isSafeRepoPath(path));
    if (hostile === undefined) return;
    throw new HoneError(
      "hostile-file-name",
      `${JSON.stringify(hostile.path)} is a file name that would leave its folder`,
      {
        fix: "do not use this repository; nothing of it was downloaded",
      },
    );
  }

  private plan(): void {
    const byData = new Map<string, FileTask>();
    for (const file of this.files) {
      if (this.target.here(file)) continue;
      const paths = this.target.incomplete(file);
      // One content may have several names.
      const same = byData.get(paths.data);
      if (same !== undefined) {
        same.names.push(file.path);
        continue;
      }
      byData.set(paths.data, this.makeTask(file));
    }
    this.tasks.push(...byData.values());
  }

  private makeTask(file: RepoFile): FileTask {
    const paths = this.target.incomplete(file);
    const there = readNote(paths, file.size);
    return new FileTask(file, {
      paths,
      kind: checkKind(file),
      supply: this.supply,
      pending: cut(there.missing(0, file.size), this.pieceBytes),
      bytes: there.size,
    });
  }

  private requireSpace(): void {
    const missing = this.tasks.reduce((sum, { file, bytes }) => sum + file.size - bytes, 0);
    if (missing === 0) return;
    // Notes, folders and what else the system writes meanwhile.
    const needed = Math.ceil(missing * 1.01) + 16 * 1024 ** 2;
    const free = this.disk.free(this.target.folder);
    if (free >= needed) return;
    throw new HoneError(
      "disk-space",
      `${this.supply.snapshot.ref.id} needs ${formatBytes(needed)} more at ${this.target.folder}, but only ${formatBytes(free)} are free`,
      { fix: "free some space (`hone ls models` shows what takes it), or put the models folder on another disk" },
    );
  }

  private async checkExisting(): Promise<void> {
    for (const file of this.files) {
      const path = this.target.contentPath(file);
      if (path === undefined || checkKind(file) === "size") continue;
      this.stop.signal.throwIfAborted();
      if ((await this.hash(file, path)) === expected(file)) continue;
      this.target.discard(file);
      this.tasks.push(this.makeTask(file));
      this.retries += 1;
    }
  }

  private async hash(file: RepoFile, path: string): Promise<string> {
    const kind = checkKind(file);
    if (kind === "size") throw new Error(`${file.path} has no hash`);
    return this.checksums.start({ path, size: file.size, kind }).digest();
  }

  /** One connection. */
  private async work(): Promise<void> {
    for (;;) {
      if (this.stop.signal.aborted) return;
      const piece = this.take();
      if (piece !== undefined) await this.fetch(piece.task, piece.range);
      else if (this.tasks.every(({ state }) => state === "done")) return;
      else await this.change();
    }
  }

  private take(): { task: FileTask; range: Interval | undefined } | undefined {
    const now = performance.now();
    for (const task of this.tasks) {
      if (task.state === "done" || task.state === "checking" || this.readyAt(task) > now) continue;
      const range = task.pending.shift();
      // A file that was whole already, or is empty, has only to be checked.
      if (range === undefined && (task.active > 0 || task.bytes < task.file.size)) continue;
      task.active += 1;
      if (range === undefined) task.state = "checking";
      else task.state = "downloading";
      return { task, range };
    }
    return undefined;
  }

  private readyAt(task: FileTask): number {
    return Math.max(task.notBefore, this.gates.get(task.route.supply.source) ?? 0);
  }

  /** Waits until something is different, or until a wait that a file is in has passed. */
  private async change(): Promise<void> {
    const waiting = this.tasks.filter(({ pending, state }) => pending.length > 0 && state !== "done");
    const wait = Math.min(...waiting.map((task) => this.readyAt(task))) - performance.now();
    const timer = Number.isFinite(wait) ? setTimeout(() => this.notify(), Math.max(1, wait)) : undefined;
    await this.changed.promise;
    clearTimeout(timer);
  }

  private notify(): void {
    const { resolve } = this.changed;
    this.changed = Promise.withResolvers();
    resolve();
  }

  private async fetch(task: FileTask, range: Interval | undefined): Promise<void> {
    const { route } = task;
    try {
      const partial = await this.open(task);
      if (range !== undefined) await this.fetchRange(task, route, partial, range);
      if (range !== undefined) task.badAnswers = 0;
    } catch (error) {
      await this.failed(task, route, range, error);
    }
    task.active -= 1;
    if (range !== undefined && task.partial !== undefined && !task.whole) {
      task.pending.unshift(...task.partial.missing(...range));
    }
    if (task.whole && task.active === 0 && task.partial?.isWhole === false) task.pending = [[0, task.file.size]];
    if (task.active === 0 && task.partial?.isWhole === true && !this.stop.signal.aborted) {
      await this.finish(task, task.partial).catch((error: unknown) => this.end(error));
    }
    this.notify();
  }

  private async open(task: FileTask): Promise<PartialFile> {
    task.opening ??= PartialFile.open(task.paths, task.file.size, this.disk).then((partial) => {
      task.partial = partial;
      task.bytes = partial.bytes;
      this.startChecksum(task);
      return partial;
    });
    return task.opening;
  }

  private startChecksum(task: FileTask): void {
    task.checksum?.forget();
    const { kind, file, paths } = task;
    if (kind === "size") return;
    task.checksum = this.checksums.start({ path: paths.data, size: file.size, kind });
    if (task.partial !== undefined) task.checksum.advance(task.partial.prefix);
  }

  private async fetchRange(task: FileTask, route: Route, partial: PartialFile, [start, end]: Interval): Promise<void> {
    const { location, isDirect } = task.location();
    const { supply, file } = route;
    const refuse = (reply: HttpReply): Error => {
      const isElsewhere = isDirect || new URL(reply.url).origin !== new URL(location.url).origin;
      if (isElsewhere && [400, 401, 403, 404, 410].includes(reply.status)) {
        return new HoneError("signature-expired", `the signed address of ${file.path} has run out`, {
          fix: "try again: a new one is made",
        });
      }
      return supply.source.failure(reply, supply.snapshot.ref, file.path);
    };
    const { url } = await fetchRange({
      location,
      file: task.file,
      start,
      end,
      whole: task.whole,
      refuse,
      throttle: this.throttle,
      signal: this.stop.signal,
      idleSeconds: this.patience.idle,
      slowSeconds: this.patience.slow,
      slowBytes: this.patience.slow * 1000,
      write: async (pieces, position) => {
        this.received(task, partial, await partial.write(pieces, position));
        await partial.saveAfter(this.options.noteSeconds ?? 2);
      },
    });
    task.remember(route, url);
  }

  private received(task: FileTask, partial: PartialFile, bytes: number): void {
    if (bytes <= 0) return;
    task.bytes = partial.bytes;
    task.checksum?.advance(partial.prefix);
    task.failures = 0;
    task.lastProgress = performance.now();
    this.note = null;
    this.fetched += bytes;
    this.speed.add(bytes);
  }

  /** Decides what a failure means: another try, another source, or the end. */
  private async failed(task: FileTask, route: Route, range: Interval | undefined, error: unknown): Promise<void> {
    if (this.stop.signal.aborted) return;
    const code = error instanceof HoneError ? error.code : undefined;
    if (code === undefined || finalErrors.has(code)) return this.end(error);
    if (code === "answer-too-long" && range !== undefined) {
      task.partial?.forget(...range);
      task.bytes = task.partial?.bytes ?? 0;
      this.startChecksum(task);
    }
    task.forgetDirect(route);
    this.retries += 1;
    if (refusals.has(code)) return this.giveUp(task, route, error);
    if (code === "range-ignored") {
      task.ignoredRanges += 1;
      // Once may be a proxy's mood. What was under way when it became clear says nothing new.
      if (task.ignoredRanges >= 2) {
        task.whole = true;
        task.pending = [];
        return;
      }
    }
    const now = performance.now();
    // Connections that break at the same time are one failure.
    if (now < task.notBefore) return;
    const passes = isTransient(error) || code === "too-slow" || code === "network-error";
    task.failures += 1;
    if (!passes) task.badAnswers += 1;
    const isOut = passes
      ? now - task.lastProgress > this.patience.total * 1000 && task.failures >= 3
      : task.badAnswers >= this.patience.attempts;
    if (isOut) return this.giveUp(task, route, error);
    const asked = error instanceof RetryLaterError ? error.afterSeconds : undefined;
    if (asked !== undefined && asked > this.patience.total) return this.end(error);
    const wait = asked ?? retryWait(task.failures, this.patience.firstWait, this.patience.longestWait);
    if (asked !== undefined) this.gates.set(route.supply.source, now + asked * 1000);
    task.notBefore = now + wait * 1000;
    if (task.failures >= 2) {
      void this.askAlternative();
      task.rotate();
    }
    const reason = error instanceof Error ? error.message : String(error);
    this.note = wait < 1 ? reason : `${reason}; next attempt in ${formatSeconds(wait)}`;
  }

  /** This source will not do: another, or the end. */
  private async giveUp(task: FileTask, route: Route, error: unknown): Promise<void> {
    await this.askAlternative();
    if (!task.dropRoute(route)) return this.end(error);
    task.lastProgress = performance.now();
    task.failures = 0;
    task.badAnswers = 0;
  }

  private async askAlternative(): Promise<void> {
    const add = async () => {
      // That it does not answer either is no news: the first error is the one to tell.
      const supply = await this.options.alternative?.(this.stop.signal).catch(() => undefined);
      if (supply !== undefined) for (const task of this.tasks) task.addSupply(supply);
    };
    this.asking ??= add();
    return this.asking;
  }

  /** All bytes are there: the check decides. */
  private async finish(task: FileTask, partial: PartialFile): Promise<void> {
    task.state = "checking";
    task.partial = undefined;
    task.opening = undefined;
    await partial.finish();
    const digest = await task.checksum?.digest();
    if (digest !== undefined && digest !== expected(task.file)) {
      await this.startOver(task, partial);
      return;
    }
    this.target.keep(task.file);
    task.state = "done";
  }

  private async startOver(task: FileTask, partial: PartialFile): Promise<void> {
    await partial.reset();
    task.checksum = undefined;
    task.mismatches += 1;
    this.retries += 1;
    task.bytes = 0;
    if (task.mismatches >= this.patience.attempts) {
      throw new HoneError(
        "checksum-mismatch",
        `${task.file.path} arrived ${task.mismatches} times with other contents than ${task.route.supply.snapshot.page} lists`,
        { fix: "something between the hub and this machine changes the data: try another network, mirror or source" },
      );
    }
    this.note = `${task.file.path} arrived damaged and is fetched again`;
    task.rotate();
    task.pending = task.whole ? [[0, task.file.size]] : cut([[0, task.file.size]], this.pieceBytes);
    task.state = "waiting";
  }

  private end(error: unknown): void {
    this.fatal ??= {
      error: errorKind(error) === "cancelled" ? new CancelledError("Cancelled", { cause: error }) : error,
    };
    this.stop.abort();
    this.notify();
  }

  private async letGo(): Promise<void> {
    try {
      for (const task of this.tasks) {
        // What cannot be noted now is fetched again later; the first error is the one to tell.
        await task.partial?.close().catch(() => undefined);
      }
      await this.checksums.close();
    } finally {
      this.target.close();
    }
  }

  private report(): void {
    const { onProgress } = this.options;
    if (onProgress === undefined) return;
    const byName = new Map(this.tasks.flatMap((task) => task.names.map((name) => [name, task] as const)));
    const files = this.files.map(({ path, size }): FileProgress => {
      const task = byName.get(path);
      return { path, size, done: task?.bytes ?? size, state: task?.state ?? "done" };
    });
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    const done = files.reduce((sum, file) => sum + file.done, 0);
    const rate = this.speed.bytesPerSecond();
    const current = this.tasks.find(({ state }) => state === "downloading") ?? this.tasks.at(0);
    onProgress({
      source: (current?.route.supply ?? this.supply).source.name,
      bytes,
      bytes_done: done,
      fetched_bytes: this.fetched,
      bytes_per_second: rate,
      seconds_left: done === bytes ? 0 : rate === 0 ? null : (bytes - done) / rate,
      files,
      retries: this.retries,
      note: this.note,
    });
  }
}

function expected(file: RepoFile): string | null {
  return file.sha256 ?? file.etag;
}
