/** Calls that plan, begin and show training, and measure models. What takes long answers with the id of a job. */

import { z } from "zod";
import type { RunPlan } from "../cli-json.ts";
import { runConfigInputSchema, type RunConfigInput } from "../config.ts";
import { splits, type EvalChange, type EvalReport } from "../eval.ts";
import type { Origin } from "../resolve-config.ts";
import type { RolloutLine } from "../run.ts";
import { call } from "./call.ts";
import type { DrawnToken } from "./play-calls.ts";

const config = runConfigInputSchema;

/** What a run needs as far as it is known without opening the model. */
export interface TrainEstimate {
  /** Null where the task's rows could not be counted. */
  steps: number | null;
  /** Bytes at the highest point, with passes as Hone chooses them; null for a model that cannot be read. */
  memory: { total: number; free: number; machine: number; verdict: "fits" | "tight" | "does_not_fit" } | null;
  /** Bytes that the run folder may come to. */
  disk: { total: number; free: number } | null;
  /** From the last run here of the same model, task and method, by the number of its answers or rows; null: none. */
  seconds: { per_step: number; total: number | null; run: string } | null;
}

/** An answer of the run's model, token by token. */
export interface ShownAnswer extends Omit<RolloutLine, "prompt_ids" | "completion_ids" | "logprobs"> {
  tokens: DrawnToken[];
}

/** A measurement that was asked for in the app: a file of the folder `evaluations` in Hone's home. */
export interface KeptEvaluation {
  id: string;
  /** Epoch seconds. */
  created: number;
  /** As it was asked for: `starter`, a run, `RUN:step`. */
  model: string;
  task: string;
  report: EvalReport;
}

export const trainCalls = {
  /** What the form's defaults go by: a run's checkpoint and a task folder have their own. */
  "train.origin": call<Origin>()(z.object({ model: z.string().min(1), task: z.string().nullable().default(null) })),
  /** Quick, from headers and earlier runs alone. Throws what is wrong with the configuration. */
  "train.estimate": call<TrainEstimate>()(z.object({ config })),
  /** Opens the model and does a part of a step; takes up to half a minute, and can be cancelled. */
  "train.measure": call<RunPlan>()(z.object({ config })),
  "train.start": call<{ job: string }>()(z.object({ config })),
  /** Goes on with a run that was stopped or cut short; `max_steps` makes it longer. */
  "train.resume": call<{ job: string }>()(
    z.object({ run: z.string(), max_steps: z.number().int().min(1).nullable().default(null) }),
  ),
  /** Answers of one step with their tokens: one for each of the first prompts, or all answers to one of them. */
  "train.answers": call<{ answers: ShownAnswer[]; prompts: number }>()(
    z.object({
      run: z.string().min(1),
      step: z.number().int().min(0),
      prompt: z.number().int().min(0).nullable().default(null),
      limit: z.number().int().min(1).max(64).default(6),
    }),
  ),
  /** Options of a file that another tool or Hone has written; other tools' names are understood. */
  "train.read_config": call<RunConfigInput>()(z.object({ path: z.string().min(1) })),
  "train.write_config": call<null>()(z.object({ path: z.string().min(1), config })),
  /** Measures a model on a task. The job's result is `{id}` of the evaluation that is kept. */
  "train.evaluate": call<{ job: string }>()(
    z.object({
      model: z.string().min(1),
      task: z.string().min(1),
      /** A file, or null for the task's own. Left out: as the run had it that is measured. */
      reward: z.string().min(1).nullable().optional(),
      split: z.enum(splits).default("held-out"),
      /** Rows at most; null: all of them. */
      limit: z.number().int().min(1).nullable().default(null),
      samples: z.number().int().min(1).max(64).default(1),
      greedy: z.boolean().default(true),
      /** Games per side and opponent, where the task has games. */
      games: z.number().int().min(0).max(1000).default(100),
      control: z.boolean().default(false),
      seed: z.number().int().min(0).default(42),
    }),
  ),
  /** Newest first, without the single answers. */
  "evaluations.list": call<{ evaluations: KeptEvaluation[] }>()(
    z.object({ model: z.string().nullable().default(null), task: z.string().nullable().default(null) }),
  ),
  "evaluations.read": call<KeptEvaluation>()(z.object({ id: z.string().min(1) })),
  /** `after` minus `before`; null when they did not answer the same rows equally often. */
  "evaluations.compare": call<EvalChange | null>()(z.object({ before: z.string().min(1), after: z.string().min(1) })),
  "evaluations.delete": call<null>()(z.object({ id: z.string().min(1) })),
};
