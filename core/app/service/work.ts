/** Long work by name: each is a file of `core/app/works`, and runs in a thread that ends with it. */

import type { Job } from "../../contract/api/job-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import { asUserError } from "../../files/system-error.ts";
import type { CallContext } from "./handlers.ts";

/** What a job shows while it works; what is not given stays as it is. */
export type JobReport = Partial<Pick<Job, "phase" | "progress" | "seconds_left" | "run" | "title">>;

export interface WorkContext extends CallContext {
  report(report: JobReport): void;
}

/** Returns what the job came to. An aborted `signal` asks it to stop in an orderly way. */
export type Work = (input: never, context: WorkContext) => Promise<unknown>;

const works: Readonly<Record<string, () => Promise<Work>>> = {
  train: async () => (await import("../works/train-work.ts")).trainWork,
  evaluate: async () => (await import("../works/evaluate-work.ts")).evaluateWork,
  draw: async () => (await import("../works/draw-work.ts")).drawWork,
  advise: async () => (await import("../works/advise-work.ts")).adviseWork,
  "move-models": async () => (await import("../works/move-models-work.ts")).moveModelsWork,
  "measure-speed": async () => (await import("../works/measure-speed-work.ts")).measureSpeedWork,
  "check-task": async () => (await import("../works/check-task-work.ts")).checkTaskWork,
};

export async function doWork(
  { id, work, input }: { id: string; work: string; input: unknown },
  context: CallContext,
): Promise<unknown> {
  const load = works[work];
  if (load === undefined) throw new HoneError("unknown-work", `there is no work ${JSON.stringify(work)}`);
  const run = await load();
  const report = (now: JobReport) => {
    context.tell("job-report" as never, now as never, id);
  };
  try {
    return await run(input as never, { ...context, report });
  } catch (error) {
    throw asUserError(error);
  }
}
