/** Should this task be trained? With a model, a baseline is measured. */

import type { CheckedInput } from "../../contract/api/api.ts";
import type { Advice } from "../../contract/advice.ts";
import { advise } from "../advise.ts";
import type { WorkContext } from "../service/work.ts";
import { Session } from "../session.ts";

export async function adviseWork(
  { task, model, rows }: CheckedInput<"tasks.advise">,
  context: WorkContext,
): Promise<Advice> {
  const { threads, memory_limit } = await context.call("settings.get", {});
  const begun = performance.now();
  return advise(
    () => Session.open(),
    { task, rows, ...(model !== null && { model }) },
    { ...(threads !== null && { threads }), ...(memory_limit !== null && { memoryLimit: memory_limit }) },
    {
      signal: context.signal,
      onProgress: ({ stage, done, total }) => {
        const left = done === 0 ? null : (((performance.now() - begun) / 1000) * (total - done)) / done;
        context.report({ phase: stage, progress: { done, total, unit: "answer" }, seconds_left: left });
      },
    },
  );
}
