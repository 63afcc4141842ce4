/** Jobs: what is waiting, running and done. Training and measuring take all of the machine, so one at a time works. */

import { randomUUID } from "node:crypto";
import type { Job } from "../../contract/api/job-calls.ts";
import { errorKind, errorToData, HoneError } from "../../contract/errors.ts";
import type { Served } from "../../contract/rpc.ts";
import { AppThread } from "./app-thread.ts";
import type { JobOrder } from "./handlers.ts";
import type { JobReport } from "./work.ts";

interface Entry {
  job: Job;
  order: JobOrder;
  abort: AbortController;
  thread: AppThread | undefined;
  killed: boolean;
  ended: Promise<void>;
  end: () => void;
}

/** Ended jobs that are kept for a window that opens later. */
const keptJobs = 50;

export class Jobs {
  readonly #entries = new Map<string, Entry>();
  readonly #served: Served;
  readonly #changed: () => void;

  /** `changed` is called whenever the list is another. */
  constructor(served: Served, changed: () => void) {
    this.#served = served;
    this.#changed = changed;
  }

  list(): Job[] {
    return [...this.#entries.values()].map(({ job }) => job);
  }

  /** Jobs that would be lost or cut short if Hone ended now. */
  active(): Job[] {
    return this.list().filter(({ ended }) => ended === null);
  }

  start(order: JobOrder): string {
    const { kind, title, run = null } = order;
    const busy = this.active().find((job) => run !== null && job.run === run);
    if (busy !== undefined) {
      throw new HoneError("run-busy", `the run ${String(run)} is being worked on already`, {
        fix: "wait until it has ended, or stop it",
      });
    }
    const id = randomUUID();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const job: Job = {
      id,
      kind,
      title,
      state: "queued",
      phase: null,
      progress: null,
      seconds_left: null,
      created: Date.now() / 1000,
      ended: null,
      run,
      error: null,
      result: null,
    };
    const entry: Entry = { job, order, abort: new AbortController(), thread: undefined, killed: false, ended, end };
    this.#entries.set(id, entry);
    this.#forgetOldest();
    this.#changed();
    this.#next();
    return id;
  }

  report(id: string, report: JobReport): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.job.ended !== null) return;
    entry.job = { ...entry.job, ...report };
    this.#changed();
  }

  stop(id: string, save: boolean): void {
    const entry = this.#require(id);
    if (entry.job.ended !== null) return;
    if (entry.job.state === "queued") {
      this.#finish(entry, { state: "stopped" });
      return;
    }
    entry.job = { ...entry.job, state: "stopping" };
    entry.killed = !save;
    this.#changed();
    if (save) entry.abort.abort();
    else void entry.thread?.end();
  }

  dismiss(id: string): void {
    if (this.#require(id).job.ended === null) return;
    this.#entries.delete(id);
    this.#changed();
  }

  async wait(id: string): Promise<Job> {
    const entry = this.#require(id);
    await entry.ended;
    return entry.job;
  }

  /** Asks everything to stop in an orderly way and waits for it. */
  async close(): Promise<void> {
    const active = [...this.#entries.values()].filter(({ job }) => job.ended === null);
    for (const { job } of active) this.stop(job.id, true);
    await Promise.all(active.map(({ ended }) => ended));
  }

  #require(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new HoneError("no-such-job", "this work is no longer on the list");
    return entry;
  }

  #next(): void {
    const entries = [...this.#entries.values()];
    if (entries.some(({ job }) => job.state === "running" || job.state === "stopping")) return;
    const next = entries.find(({ job }) => job.state === "queued");
    if (next !== undefined) void this.#run(next);
  }

  async #run(entry: Entry): Promise<void> {
    const { order, abort } = entry;
    const id = entry.job.id;
    entry.job = { ...entry.job, state: "running" };
    this.#changed();
    const thread = new AppThread(`the work on ${order.title}`, this.#served);
    entry.thread = thread;
    try {
      const input = { id, work: order.work, input: order.input };
      const result = await thread.call("internal.work", input, abort.signal);
      this.#finish(entry, { state: abort.signal.aborted ? "stopped" : "done", result });
    } catch (error) {
      const stopped = entry.killed || errorKind(error) === "cancelled";
      this.#finish(entry, stopped ? { state: "stopped" } : { state: "failed", error: errorToData(error) });
    } finally {
      await thread.end();
    }
  }

  #finish(entry: Entry, end: Partial<Job>): void {
    entry.job = { ...entry.job, ...end, phase: null, seconds_left: null, ended: Date.now() / 1000 };
    entry.end();
    this.#changed();
    this.#next();
  }

  #forgetOldest(): void {
    const ended = [...this.#entries.values()].filter(({ job }) => job.ended !== null);
    for (const { job } of ended.slice(0, Math.max(0, ended.length - keptJobs))) this.#entries.delete(job.id);
  }
}
