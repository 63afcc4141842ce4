/** Makes a task folder from one of the example tasks: something that works, to be changed step by step. */

import { once } from "node:events";
import { cpSync, createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { finished } from "node:stream/promises";
import type { DataColumns } from "../../contract/api/task-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import { taskFileName, taskFileSchema } from "../../contract/task.ts";
import { openData } from "../../data/open-data.ts";
import { publishFolder } from "../../files/atomic.ts";
import { honeHome } from "../../store/library.ts";
import { tasks } from "../../tasks/tasks.ts";

/** Rows of one's own, within the folder. */
const rowsFile = "rows.jsonl";

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
export function newTask(name: string, { template, out }: { template: TaskTemplate; out?: string }): Promise<NewTask> {
  return makeFolder(name, out, (folder) => {
    cpSync(join(examplesFolder, taskTemplates[template].example), folder, { recursive: true });
    writeTaskFile(
      folder,
      name,
      JSON.parse(readFileSync(join(folder, taskFileName), "utf8")) as Record<string, unknown>,
    );
    return Promise.resolve();
  });
}

async function makeFolder(
  name: string,
  out: string | undefined,
  fill: (folder: string) => Promise<void>,
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
  await publishFolder(path, fill, { replace: false });
  return { name, path, files: readdirSync(path).sort() };
}

function writeTaskFile(folder: string, name: string, content: Record<string, unknown>): void {
  const whole = { ...content, name, title: titleOf(name) };
  writeFileSync(join(folder, taskFileName), JSON.stringify(whole, null, 2) + "\n");
}

/** What a task of one's own data is made of. */
export interface DataTemplate {
  /** A data file, or a dataset by its name: its rows are copied into the folder. */
  source: string;
  /** `{{column}}` is filled in; null where the rows have a prompt. */
  prompt: string | null;
  /** Column with the right answer: it is imitated, and the reward compares with it. */
  answer: string | null;
}

/** As `newTask`; also throws what reading the data throws. */
export async function newDataTask(
  name: string,
  { source, prompt, answer }: DataTemplate,
  out?: string,
): Promise<NewTask> {
  const data = await openData(source);
  return makeFolder(name, out, async (folder) => {
    const writer = createWriteStream(join(folder, rowsFile));
    try {
      for await (const { raw } of data.pairs()) {
        if ("reason" in raw) continue;
        if (!writer.write(`${JSON.stringify(raw.record)}\n`)) await once(writer, "drain");
      }
    } finally {
      writer.end();
      await finished(writer);
    }
    writeTaskFile(folder, name, {
      name,
      title: "",
      description: "",
      data: rowsFile,
      ...(prompt !== null && { prompt: [{ role: "user", content: prompt }] }),
      // Rows with a prompt of their own may have right answers of their own, too.
      ...(prompt !== null && answer !== null && { solution: `{{${answer}}}` }),
      ...(answer !== null && { reward: { parts: [{ type: "exact_match", name: "right", column: answer }] } }),
    });
  });
}

/** What columns there are to make a prompt and an answer of, with the first row's values. */
export async function dataColumns(source: string): Promise<DataColumns> {
  const data = await openData(source);
  const [first] = data.size === 0 ? [] : [await data.raw(1)];
  const record = first === undefined || "reason" in first ? {} : first.record;
  const shown = (value: unknown) => (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, 200);
  return {
    rows: data.size,
    columns: data.columns.map((name) => ({ name, sample: shown(record[name]) })),
    has_prompt: data.shape !== undefined,
  };
}

/** `my-task` → `My task`. */
function titleOf(name: string): string {
  const words = name.replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
