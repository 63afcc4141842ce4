/** Checks a task, with a model's own tokens where one is given. */

import type { TaskCheck } from "../../contract/task.ts";
import { checkTask, type CheckTaskOptions } from "../../tasks/check/check-task.ts";
import type { Task } from "../../tasks/task.ts";
import { Session, type OpenChoices } from "../session.ts";

export async function checkUserTask(
  task: Task,
  model: { reference: string; choices: OpenChoices } | undefined,
  signal: AbortSignal,
): Promise<TaskCheck> {
  if (model === undefined) return checkTask(task, { signal });
  const session = await Session.open();
  const opened = await session.openPolicy(model.reference, model.choices);
  try {
    const promptTokens: CheckTaskOptions["promptTokens"] = (messages, tools) =>
      opened.chat.renderPrompt(messages, tools).length;
    return await checkTask(task, { signal, promptTokens, contextLength: opened.model.info().contextLength });
  } finally {
    await opened.close();
  }
}
