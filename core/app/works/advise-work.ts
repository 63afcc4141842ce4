/** Should this task be trained? With a model, a baseline is measured. */

import type { CheckedInput } from "../../contract/api/api.ts";
import type { Advice } from "../../contract/advice.ts";
import { advise } from "../advise.ts";
import { machineChoices } from "../service/machine-choices.ts";
import { reportAnswers } from "../service/report-answers.ts";
import type { WorkContext } from "../service/work.ts";
import { Session } from "../session.ts";

export async function adviseWork(
  { task, model, rows }: CheckedInput<"tasks.advise">,
  context: WorkContext,
): Promise<Advice> {
  return advise(() => Session.open(), { task, rows, ...(model !== null && { model }) }, await machineChoices(context), {
    signal: context.signal,
    onProgress: reportAnswers(context),
  });
}
