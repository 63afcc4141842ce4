/** Makes a task folder from one of the example tasks: something that works, to be changed step by step. */

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { HoneError } from "../../contract/errors.ts";
import { taskFileName, taskFileSchema } from "../../contract/task.ts";
import { publishFolder } from "../../files/atomic.ts";
import { honeHome } from "../../store/library.ts";
import { tasks } from "../../tasks/tasks.ts";

const examplesFolder = join(import.meta.dirname, "..", "..", "..", "examples", "tasks");

/** Template → folder of the example and what it shows. */
export const taskTemplates = {
  qa: { example: "unit-conversion", summary: "a question, a short answer, made rows, a reward of two parts" },
  extraction: { example: "invoice-fields", summary: "a text to JSON by a schema, rows in a file, a reward file" },
  agent: { example: "heating-agent", summary: "several turns with tools and an environment in TypeScript" },
} as const;
export type TaskTemplate = keyof typeof taskTemplates;

export interface NewTask {
  name: string;
  path: string;
  files: string[];
}

/** `out`: default a folder of that name in the library, where every command finds it by its name. Throws `bad-name`, `folder-exists`. */
export async function newTask(
  name: string,
  { template, out }: { template: TaskTemplate; out?: string },
): Promise<NewTask> {
  const named = taskFileSchema.shape.name.safeParse(name);
  if (!named.success) {
    throw new HoneError("bad-name", `${JSON.stringify(name)} cannot be a task's name`, {
      fix: named.error.issues[0].message,
    });
  }
  if (tasks.some((task) => task.name === name)) {
    throw new HoneError("bad-name", `${name} is a task that comes with Hone`, { fix: "choose another name" });
  }
  const path = resolve(out ?? join(honeHome(), "tasks", name));
  if (existsSync(path) && readdirSync(path).length > 0) {
    throw new HoneError("folder-exists", `${path} already exists and is not empty`, { fix: "choose another --out" });
  }
  mkdirSync(dirname(path), { recursive: true });
  await publishFolder(
    path,
    async (temporary) => {
      cpSync(join(examplesFolder, taskTemplates[template].example), temporary, { recursive: true });
      const file = join(temporary, taskFileName);
      const content = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
      writeFileSync(file, JSON.stringify({ ...content, name, title: titleOf(name) }, null, 2) + "\n");
    },
    { replace: false },
  );
  return { name, path, files: readdirSync(path).sort() };
}

/** `my-task` → `My task`. */
function titleOf(name: string): string {
  const words = name.replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
