/** Calls about models on this machine. */

import { z } from "zod";
import type { ErrorData } from "../errors.ts";
import { repoKinds, type FitReport, type Leftover, type MovePlan, type Removal, type StorageListing } from "../hub.ts";
import { call } from "./call.ts";

/** What is not in a list's line: read when somebody looks closer. */
export interface ModelDetails {
  /** Null where it cannot be reckoned: `fit_problem` says why. */
  fit: FitReport | null;
  fit_problem: ErrorData | null;
  /** From its card or its file; null: neither says. */
  licence: string | null;
  /** Whether it has a chat template that Hone reads; otherwise `template_problem` says why not. */
  template: boolean;
  template_problem: ErrorData | null;
  /** Hone's name of the way in which it writes tool calls; null without a template, or where Hone does not read it. */
  tool_format: string | null;
  /** Whether thinking can be switched on and off. */
  thinks: boolean;
}

const reference = z.object({ reference: z.string().min(1), kind: z.enum(repoKinds).default("model") });

export const modelCalls = {
  /** What is on this machine: the starter, the caches of other programs, own folders; incomplete ones too, and datasets. */
  "models.list": call<StorageListing>()(z.object({})),
  /** What a model on this machine is and needs, from its headers and its template. */
  "models.details": call<ModelDetails>()(z.object({ reference: z.string().min(1) })),
  /** Opens a model and measures how fast it answers. The job's result is a `FitReport`. */
  "models.measure": call<{ job: string }>()(z.object({ reference: z.string().min(1) })),
  /** Looks for models in a folder, or in the folder of a .gguf file, from now on. Nothing is copied. */
  "models.add_folder": call<{ folder: string; models: number }>()(z.object({ path: z.string().trim().min(1) })),
  /** What `models.remove` would delete. */
  "models.plan_removal": call<Removal>()(reference),
  "models.remove": call<Removal>()(reference),
  "models.leftovers": call<Leftover[]>()(z.object({})),
  /** Deletes what `models.leftovers` tells. Returns the bytes that were freed. */
  "models.clean_up": call<number>()(z.object({})),
  /** What a move of the models folder would do, or why it cannot be. */
  "models.plan_move": call<MovePlan>()(z.object({ to: z.string().min(1) })),
  /** Begins a move, or goes on with one that stopped. Returns the job's id; its result is a `MoveResult`. */
  "models.move": call<string>()(z.object({ to: z.string().min(1) })),
  /** The move that has not come to its end, if there is one. */
  "models.unfinished_move": call<{ from: string; to: string } | null>()(z.object({})),
  /** Gives up a move that is still copying: the old folder remains the one. */
  "models.give_up_move": call<null>()(z.object({})),
};
