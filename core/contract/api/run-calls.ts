/** Calls about the runs of the library, from their folders. A run is called by its name. */

import { z } from "zod";
import type { RunSummary } from "../cli-json.ts";
import type { RunConfigInput } from "../config.ts";
import type { EvalChange, EvalReport } from "../eval.ts";
import type { CheckpointLine, MetricsRow, RolloutLine, RunEvent, RunRecord, Seam } from "../run.ts";
import { call } from "./call.ts";

const run = z.string().min(1);
const step = z.number().int().min(0);

/** What a person wrote about a run: `notes.json` in its folder. */
export const runNotesSchema = z.object({
  tags: z.array(z.string().trim().min(1).max(40)).max(20).default([]),
  notes: z.string().max(20_000).default(""),
});
export type RunNotes = z.infer<typeof runNotesSchema>;

/** `unfinished` can be resumed. `elsewhere`: another program trains it at this moment. */
export type RunState = "finished" | "unfinished" | "elsewhere";

export interface ListedRun extends RunSummary {
  state: RunState;
  tags: string[];
  notes: string;
  /** Of the step before training and of the last step: the metric that checkpoints are compared by. */
  first_measured: number | null;
}

export interface RunDetails extends ListedRun {
  config: RunConfigInput;
  record: RunRecord;
  metrics: MetricsRow[];
  seams: Seam[];
  checkpoint_index: CheckpointLine[];
  events: RunEvent[];
  /** Steps whose answers were kept. */
  rollout_steps: number[];
  /** Bytes of the folder. */
  size: number;
  /** Mean rewards of known players on the validation rows: the lines to hold the reward against. */
  references: Record<string, number>;
  /** A report page is in the folder. */
  has_report: boolean;
}

export const rolloutOrders = ["group", "reward", "-reward", "length", "-length"] as const;

export interface RolloutPage {
  rollouts: RolloutLine[];
  /** That pass the filter, on all pages. */
  total: number;
  /** Of the whole step, for the filter's choices. */
  stop_reasons: string[];
  failures: string[];
  rewards: { least: number; most: number };
}

/** A measurement that a run kept: step 0 is the model before training. */
export interface RunEvaluation {
  step: number;
  /** The part of the rows: `held-out`, `validation`. */
  name: string;
  report: EvalReport;
}

export const runCalls = {
  "runs.list": call<{ runs: ListedRun[]; unreadable: { name: string; why: string }[] }>()(z.object({})),
  "runs.read": call<RunDetails>()(z.object({ run })),
  "runs.annotate": call<RunNotes>()(
    z.object({ run, tags: runNotesSchema.shape.tags.optional(), notes: z.string().optional() }),
  ),
  /** Deletes a run's folder with all its checkpoints; answers with the bytes that are free again. */
  "runs.delete": call<{ freed: number }>()(z.object({ run })),
  /** Answers of one step. `text` is looked for in prompts and answers. */
  "runs.rollouts": call<RolloutPage>()(
    z.object({
      run,
      step,
      text: z.string().default(""),
      least: z.number().nullable().default(null),
      most: z.number().nullable().default(null),
      stop_reason: z.string().nullable().default(null),
      failure: z.string().nullable().default(null),
      order: z.enum(rolloutOrders).default("group"),
      offset: z.number().int().min(0).default(0),
      limit: z.number().int().min(1).max(200).default(50),
    }),
  ),
  /** The first answers to the same row at every step that has them, to see how they changed. */
  "runs.prompt": call<{ row_id: string; prompt: string; steps: { step: number; rollouts: RolloutLine[] }[] }>()(
    z.object({ run, row_id: z.string() }),
  ),
  /** What was measured on the part `name` while and after training, by step; without the single answers. */
  "runs.evaluations": call<{ evaluations: RunEvaluation[]; change: EvalChange | null }>()(
    z.object({ run, name: z.string().default("held-out") }),
  ),
  /** Writes into a folder that the person chose; answers with the path. */
  "runs.export": call<{ path: string }>()(
    z.discriminatedUnion("what", [
      z.object({ what: z.literal("metrics"), run, folder: z.string() }),
      z.object({ what: z.literal("bundle"), run, folder: z.string() }),
      z.object({ what: z.literal("checkpoint"), run, folder: z.string(), step }),
    ]),
  ),
};
