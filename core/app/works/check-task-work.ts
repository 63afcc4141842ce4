/** Checks a task with a model's own tokens, for which the model is opened. */

import type { CheckedInput } from "../../contract/api/api.ts";
import type { TaskCheck } from "../../contract/task.ts";
import { openTask } from "../../tasks/open-task.ts";
import { machineChoices } from "../service/machine-choices.ts";
import type { WorkContext } from "../service/work.ts";
import { checkUserTask } from "../tasks/check-user-task.ts";

export async function checkTaskWork(
  { task: reference, model }: CheckedInput<"tasks.check_with_model">,
  context: WorkContext,
): Promise<TaskCheck> {
  const choices = await machineChoices(context);
  const task = await openTask(reference);
  try {
    return await checkUserTask(task, { reference: model, choices }, context.signal);
  } finally {
    await task.close?.();
  }
}
