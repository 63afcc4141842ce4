/** Checks a task, with a model's own tokens where one is given. */

import type { TaskCheck } from "../../contract/task.ts";
import { checkTask } from "../../tasks/check/check-task.ts";
import type { Task } from "../../tasks/task.ts";
import { findModel } from "../../train/model-ref.ts";
import { Session, type OpenChoices } from "../session.ts";

export async function checkUserTask(
  task: Task,
  model: { reference: string; choices: OpenChoices } | undefined,
  signal: AbortSignal,
): Promise<TaskCheck> {
  if (model === undefined) return checkTask(task, { signal });
  const session = await Session.open();
  const chat = await session.openChat(await findModel(model.reference), model.choices);
  return checkTask(task, { signal, promptTokens: (messages, tools) => chat.renderPrompt(messages, tools).length });
}
