/**
 * The app behind every window: it takes a call to where it is served, keeps the jobs, and tells news to who listens.
 * The desktop's main process and the browser host each make one.
 */

import { existsSync } from "node:fs";
import type { AppInfo, SecretName } from "../../contract/api/app-calls.ts";
import type { Job } from "../../contract/api/job-calls.ts";
import type { Served } from "../../contract/rpc.ts";
import { queueFile } from "../../hub/download/queue-store.ts";
import { appHandlers } from "../handlers/app-handlers.ts";
import { watchLoad } from "./system-load.ts";
import { AppThread } from "./app-thread.ts";
import { areaHandlers } from "./area-handlers.ts";
import type { CallContext, Handlers, JobOrder } from "./handlers.ts";
import { Jobs } from "./jobs.ts";
import { News } from "./news.ts";
import { places, type Place } from "./places.ts";
import { RunNewsDesk } from "./run-news.ts";
import { fileSecrets, type Secrets } from "./secrets.ts";
import { areaOf, serveCall } from "./serve-call.ts";
import { readSettings } from "./settings.ts";
import type { JobReport } from "./work.ts";
import type { RunNews } from "../../contract/api/api.ts";

export interface App extends Required<Pick<Served, "call" | "subscribe">> {
  /** Work that would be cut short if Hone ended now. */
  active(): Job[];
  /** Called whenever the list of jobs is another. */
  onJobs(listener: (jobs: Job[]) => void): void;
  /** Stops all work in an orderly way: runs save a checkpoint. */
  close(): Promise<void>;
}

export function createApp(host: AppInfo["host"], secrets: Secrets = fileSecrets()): App {
  const news = new News();
  const runNews = new RunNewsDesk(news);
  const jobsChanged = () => {
    news.tellSoon("jobs", () => jobs.list());
  };
  const served: Served = {
    call: (name, input, signal) => call(name, input, signal),
    tell: (topic, told, key) => {
      tell(topic, told, key);
    },
  };
  const jobs = new Jobs(served, jobsChanged);
  const threads: Record<Exclude<Place, "main">, AppThread> = {
    library: new AppThread("the library", served),
    models: new AppThread("the models", served),
    network: new AppThread("the network", served),
  };
  const load = watchLoad((now) => {
    news.tell("load", now);
  });

  function tell(topic: string, told: unknown, key: string | undefined): void {
    if (topic === "job-report") jobs.report(key ?? "", told as JobReport);
    else if (topic === "run") runNews.add(key ?? "", told as Partial<RunNews>);
    else news.tell(topic, told, key);
  }

  const jobHandlers: Handlers<"jobs"> = {
    "jobs.list": () => jobs.list(),
    "jobs.stop": ({ id, save }) => (jobs.stop(id, save), null),
    "jobs.dismiss": ({ id }) => (jobs.dismiss(id), null),
    "jobs.wait": ({ id }) => jobs.wait(id),
  };
  const ownHandlers = { app: appHandlers(host, secrets), jobs: jobHandlers };

  async function call(name: string, input: unknown, signal: AbortSignal): Promise<unknown> {
    if (name === "internal.startJob") return jobs.start(input as JobOrder);
    if (name === "internal.secret") return secrets.read(input as SecretName);
    const area = areaOf(name);
    const place = places[area];
    if (place !== "main") return threads[place].call(name, input, signal);
    const handlers = area === "app" || area === "jobs" ? ownHandlers[area] : await areaHandlers[area]();
    const context: CallContext = {
      signal,
      call: (other, given) => call(other, given, signal) as never,
      tell,
      secret: (secret) => Promise.resolve(secrets.read(secret)),
      startJob: (order) => Promise.resolve(jobs.start(order)),
    };
    return serveCall(handlers, name, input, context);
  }

  /** Downloads that an earlier Hone left go on; where there never was one, no thread is started for them. */
  async function readDownloads(): Promise<void> {
    if (!existsSync(queueFile())) return;
    try {
      news.tell("downloads", await call("hub.downloads", {}, new AbortController().signal));
    } catch {
      // Such as: another Hone has them. Whoever looks at the list asks for it, and is told.
    }
  }
  void readDownloads();

  return {
    // Windows call what the contract lists; what is internal has no area.
    call: (name, input, signal) => (areaOf(name), call(name, input, signal)),
    subscribe(topic, key, listener) {
      const end = news.subscribe(topic, key, listener);
      if (topic === "jobs") listener(jobs.list());
      if (topic === "settings") listener(readSettings());
      if (topic === "downloads") void readDownloads();
      if (topic === "load") load.start();
      return () => {
        end();
        if (topic === "load" && !news.hasListeners("load")) load.stop();
      };
    },
    active: () => jobs.active(),
    onJobs(listener) {
      news.subscribe("jobs", undefined, (list) => {
        listener(list as Job[]);
      });
    },
    async close() {
      await jobs.close();
      load.stop();
      news.close();
      await threads.network.leave();
      await Promise.all(Object.values(threads).map((thread) => thread.end()));
    },
  };
}
