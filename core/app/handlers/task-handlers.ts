import { basename, join } from "node:path";
import type { CheckedInput } from "../../contract/api/api.ts";
import { HoneError } from "../../contract/errors.ts";
import type { CallContext, Handlers } from "../service/handlers.ts";
import { dataColumns, newDataTask, newTask, type NewTask } from "../tasks/new-task.ts";
import { deleteTaskFile, listTaskFiles, readTaskText, writeTaskText } from "../tasks/task-folder-files.ts";
import {
  checkAnyTask,
  editableFolder,
  listAllTasks,
  openTaskFolder,
  readTask,
  removeTask,
  taskRows,
} from "../tasks/task-library.ts";

function changed<T>(context: CallContext, result: T): T {
  context.tell("library", "tasks");
  return result;
}

function make({ name, template, folder, data }: CheckedInput<"tasks.create">): Promise<NewTask> {
  const out = folder === null ? undefined : join(folder, name);
  if (template !== "data") return newTask(name, { template, ...(out !== undefined && { out }) });
  if (data === null)
    throw new HoneError("bad-input", "a task of your own data needs a data file", { fix: "choose one" });
  return newDataTask(name, data, out);
}

export const taskHandlers: Handlers<"tasks"> = {
  "tasks.list": () => ({ tasks: listAllTasks() }),
  "tasks.read": ({ task }) => readTask(task),
  "tasks.rows": ({ task, ...wanted }) => taskRows(task, wanted),
  "tasks.check": ({ task }, { signal }) => checkAnyTask(task, signal),
  "tasks.check_with_model": async (input, context) => ({
    job: await context.startJob({
      kind: "other",
      title: `${basename(input.task)} · ${basename(input.model)}`,
      work: "check-task",
      input,
    }),
  }),
  "tasks.create": async (input, context) => {
    const { path, files } = await make(input);
    return changed(context, { ...openTaskFolder(path), path, files });
  },
  "tasks.columns": ({ source }) => dataColumns(source),
  "tasks.open": ({ path }, context) => changed(context, openTaskFolder(path)),
  "tasks.remove": ({ task }, context) => (removeTask(task), changed(context, null)),
  "tasks.files": ({ task }) => {
    const folder = editableFolder(task);
    return { folder, files: listTaskFiles(folder) };
  },
  "tasks.read_file": ({ task, file }) => readTaskText(editableFolder(task), file),
  "tasks.write_file": ({ task, file, text, version }, context) =>
    changed(context, writeTaskText(editableFolder(task), file, text, version)),
  "tasks.delete_file": ({ task, file }, context) => (
    deleteTaskFile(editableFolder(task), file),
    changed(context, null)
  ),
  "tasks.advise": async (input, context) => ({
    job: await context.startJob({
      kind: "evaluate",
      title: `${basename(input.task)}${input.model === null ? "" : ` · ${basename(input.model)}`}`,
      work: "advise",
      input,
    }),
  }),
};
