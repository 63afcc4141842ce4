/** Calls that begin training and measuring. Both answer with the id of a job. */

import { z } from "zod";
import { runConfigInputSchema } from "../config.ts";
import { call } from "./call.ts";

export const trainCalls = {
  "train.start": call<{ job: string }>()(z.object({ config: runConfigInputSchema })),
  /** Goes on with a run that was stopped or cut short; `max_steps` makes it longer. */
  "train.resume": call<{ job: string }>()(
    z.object({ run: z.string(), max_steps: z.number().int().min(1).nullable().default(null) }),
  ),
};
