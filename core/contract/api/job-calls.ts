/** Work that takes a while: it goes on without a window, and every window sees it. */

import { z } from "zod";
import type { ErrorData } from "../errors.ts";
import { call } from "./call.ts";

export type JobKind = "train" | "evaluate" | "download" | "reward" | "other";
export type JobState = "queued" | "running" | "stopping" | "done" | "stopped" | "failed";

export interface Job {
  id: string;
  kind: JobKind;
  /** What is worked on, in a person's words: a run's name, a model. */
  title: string;
  state: JobState;
  /** A word such as `loading`, `evaluating`, `sampling`, `updating`, `saving`. */
  phase: string | null;
  /** Null until it is known how much there is to do. */
  progress: { done: number; total: number; unit: string } | null;
  seconds_left: number | null;
  /** Epoch seconds. */
  created: number;
  ended: number | null;
  /** The run that is trained or measured. */
  run: string | null;
  /** Why it failed. */
  error: ErrorData | null;
  /** What it came to; its type goes by the kind. */
  result: unknown;
}

export const jobCalls = {
  "jobs.list": call<Job[]>()(z.object({})),
  /**
   * Asks a job to stop. `save` (of training): finish by saving a checkpoint; otherwise it ends at once, and a run goes
   * on from its last checkpoint when it is resumed.
   */
  "jobs.stop": call<null>()(z.object({ id: z.string(), save: z.boolean().default(true) })),
  /** Takes an ended job off the list. */
  "jobs.dismiss": call<null>()(z.object({ id: z.string() })),
  /** Resolves when the job has ended, with its last state. */
  "jobs.wait": call<Job>()(z.object({ id: z.string() })),
};
