/**
 * Everything that a window may ask of Hone, and everything that Hone tells it. One map types both ends: the desktop's
 * IPC, the browser's socket, the handlers in `core/app/handlers` and the calls in `renderer/`.
 */

import type { z } from "zod";
import type { Download } from "../hub.ts";
import type { MetricsRow, RunEvent } from "../run.ts";
import { appCalls, type Settings, type SystemLoad } from "./app-calls.ts";
import { chatCalls } from "./chat-calls.ts";
import { dataCalls } from "./data-calls.ts";
import { hubCalls } from "./hub-calls.ts";
import { jobCalls, type Job } from "./job-calls.ts";
import { modelCalls } from "./model-calls.ts";
import { playCalls } from "./play-calls.ts";
import { rewardCalls } from "./reward-calls.ts";
import { runCalls } from "./run-calls.ts";
import { taskCalls } from "./task-calls.ts";
import { trainCalls } from "./train-calls.ts";
import { tutorialCalls } from "./tutorial-calls.ts";

/** By area: an area is served by one file of `core/app/handlers`, in one place (`core/app/service/places.ts`). */
export const areas = {
  app: appCalls,
  jobs: jobCalls,
  models: modelCalls,
  hub: hubCalls,
  data: dataCalls,
  tasks: taskCalls,
  rewards: rewardCalls,
  train: trainCalls,
  runs: runCalls,
  play: playCalls,
  chat: chatCalls,
  tutorial: tutorialCalls,
} as const;

export type Area = keyof typeof areas;

export const calls = {
  ...appCalls,
  ...jobCalls,
  ...modelCalls,
  ...hubCalls,
  ...dataCalls,
  ...taskCalls,
  ...rewardCalls,
  ...trainCalls,
  ...runCalls,
  ...playCalls,
  ...chatCalls,
  ...tutorialCalls,
};

type Calls = typeof calls;
export type CallName = keyof Calls;
/** What a caller gives: defaults may be left out. */
export type CallInput<Name extends CallName> = z.input<Calls[Name]["input"]>;
/** What a handler gets: checked, defaults filled in. */
export type CheckedInput<Name extends CallName> = z.output<Calls[Name]["input"]>;
export type CallResult<Name extends CallName> = NonNullable<Calls[Name]["result"]> | NullIn<Calls[Name]["result"]>;
type NullIn<T> = null extends T ? null : never;

/** Parts of the library that lists are made of: told when one of them has changed, so that lists are read again. */
export type LibraryPart = "models" | "datasets" | "tasks" | "rewards" | "runs" | "evaluations";

/** What Hone tells without being asked. A topic with a key has one stream for each key. */
export interface Topics {
  /** All jobs, whenever one has changed; at most ten times a second. */
  jobs: Job[];
  /** All downloads, the newest first, whenever one has changed; at most ten times a second. */
  downloads: Download[];
  settings: Settings;
  load: SystemLoad;
  library: LibraryPart;
  /** Key: a run's name. New lines of a run that is being trained, gathered ten times a second. */
  run: RunNews;
  /** Key: chosen by the caller and given as `stream`. Pieces of an answer that is being written. */
  stream: unknown;
}
export type TopicName = keyof Topics;

/** What has happened in a run since the last news. */
export interface RunNews {
  rows: MetricsRow[];
  events: RunEvent[];
  /** Steps whose rollouts can now be read. */
  rollout_steps: number[];
  checkpoints: number[];
}

/** One window's end of the contract. */
export interface Api {
  readonly host: "electron" | "browser";
  /** Rejects with the errors of `errorFromData`; an aborted `signal` cancels the work and rejects with `CancelledError`. */
  call<Name extends CallName>(
    name: Name,
    input: CallInput<Name>,
    options?: { signal?: AbortSignal },
  ): Promise<CallResult<Name>>;
  /** Returns what ends the subscription. A topic with a present state (`jobs`, `settings`) tells it at once. */
  subscribe<Name extends TopicName>(topic: Name, listener: (news: Topics[Name]) => void, key?: string): () => void;
  /** What a window cannot do alone. */
  readonly shell: WindowShell;
}

/** Done by the system where there is one (Electron), by the page itself in a browser. */
export interface WindowShell {
  /** Asks for files or a folder. Undefined where the page has to show its own picker (`files.list`). */
  pick?(options: { kind: "file" | "folder"; title: string; many?: boolean; extensions?: string[] }): Promise<string[]>;
  /** Asks where to save. Undefined as above. */
  pickSave?(options: { title: string; name: string }): Promise<string | null>;
  /** The path of a file that was dropped onto the window; in a browser the file is first copied to this machine's Hone. */
  pathOf(file: File): Promise<string>;
  openExternal(url: string): Promise<void>;
  /** Shows a file in the system's file manager. Undefined in a browser. */
  reveal?(path: string): Promise<void>;
}
