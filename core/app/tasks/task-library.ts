/** The tasks of the app: those that come with Hone, those of the library, and folders elsewhere that were opened. */

import { existsSync, mkdirSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import type { ListedTask, TaskDetails, TaskPicture, TaskRowView } from "../../contract/api/task-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import { splits, type Split } from "../../contract/eval.ts";
import type { TaskCheck } from "../../contract/task.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import { readJson } from "../../files/json.ts";
import { honeHome } from "../../store/library.ts";
import { checkTask, methodsOf } from "../../tasks/check/check-task.ts";
import { findTaskFolder, listTaskFolders, openTask } from "../../tasks/open-task.ts";
import { toolsOf, type Task, type TaskRow } from "../../tasks/task.ts";
import { parseRow, toBoard } from "../../tasks/tic-tac-toe/boards.ts";
import { isTaskFolder, readTaskFile } from "../../tasks/user/task-file.ts";
import { tasks } from "../../tasks/tasks.ts";

const builtInPictures: Readonly<Record<string, TaskPicture>> = {
  "tic-tac-toe": "board",
  extraction: "json",
  instructions: "list",
  "tool-call-repair": "tool_call",
  "writing-format": "page",
  "business-process": "flow",
};

function libraryFolder(): string {
  return join(honeHome(), "tasks");
}

function openedFile(): string {
  return join(honeHome(), "task-folders.json");
}

/** Folders that were opened, whether or not they are still there. A damaged list is as good as none. */
function openedFolders(): string[] {
  if (!existsSync(openedFile())) return [];
  try {
    return readJson(openedFile(), z.array(z.string()));
  } catch (error) {
    if (error instanceof HoneError) return [];
    throw error;
  }
}

function writeOpened(folders: readonly string[]): void {
  mkdirSync(honeHome(), { recursive: true });
  writeFileAtomic(openedFile(), `${JSON.stringify(folders, undefined, 2)}\n`);
}

export function listAllTasks(): ListedTask[] {
  const builtIn = tasks.map(({ name, title, description }): ListedTask => ({
    name,
    title,
    path: null,
    description,
    problem: null,
    reference: name,
    picture: builtInPictures[name] ?? "text",
    place: "built-in",
  }));
  const folders = [...new Set([...listTaskFolders(), ...openedFolders()])];
  return [...builtIn, ...folders.map(listedFolder)];
}

function listedFolder(path: string): ListedTask {
  const place = dirname(path) === libraryFolder() ? "library" : "opened";
  // A task of the library goes by its name, so that a command that is copied works on another machine.
  const reference = place === "library" && !tasks.some(({ name }) => name === basename(path)) ? basename(path) : path;
  const about = { name: basename(path), path, reference, place } as const;
  try {
    const file = readTaskFile(path);
    return {
      ...about,
      title: file.title ?? file.name,
      description: file.description,
      problem: null,
      picture: folderPicture(file),
    };
  } catch (error) {
    if (!(error instanceof HoneError)) throw error;
    return { ...about, title: basename(path), description: "", problem: error.message, picture: "text" };
  }
}

function folderPicture({ environment, tools, reward }: ReturnType<typeof readTaskFile>): TaskPicture {
  if (environment !== undefined) return "flow";
  if (tools.length > 0) return "tool_call";
  const types = typeof reward === "object" ? reward.parts.map(({ type }) => type) : [];
  const asksJson = types.some((type) => type === "json_schema" || type === "fields");
  return asksJson || reward === "reward.json" ? "json" : "text";
}

/** Opens a task, uses it, closes it. */
async function withTask<T>(reference: string, use: (task: Task) => T | Promise<T>): Promise<T> {
  const task = await openTask(reference);
  try {
    return await use(task);
  } finally {
    await task.close?.();
  }
}

export function readTask(reference: string): Promise<TaskDetails> {
  return withTask(reference, (task) => {
    const folder = tasks.some(({ name }) => name === reference) ? undefined : findTaskFolder(reference);
    const rows = Object.fromEntries(splits.map((split) => [split, task.rows(split)])) as Record<Split, TaskRow[]>;
    const file = folder === undefined ? undefined : readTaskFile(folder);
    return {
      reference,
      name: task.name,
      title: task.title,
      description: task.description,
      path: folder ?? null,
      picture: file === undefined ? (builtInPictures[task.name] ?? "text") : folderPicture(file),
      methods: methodsOf(task),
      rows: Object.fromEntries(splits.map((split) => [split, rows[split].length])) as Record<Split, number>,
      problems: new Set(splits.flatMap((split) => rows[split].map((row) => task.problem(row)))).size,
      limits: task.limits,
      reward_parts: task.rewardParts.map(({ name, weight, description }) => ({ name, weight, description })),
      reward_file: folder !== undefined && typeof file?.reward === "string" ? join(folder, file.reward) : null,
      tools: task.tools.length > 0 || rows.train.length === 0 ? task.tools : toolsOf(task, rows.train[0]),
      failures: Object.entries(task.failures).map(([name, { meaning, group }]) => ({ name, meaning, group })),
      outcomes: Object.entries(task.outcomes).map(([name, label]) => ({ name, label })),
      game: task.game !== undefined,
      reference_players: task.reference(rows["held-out"]),
      notes: [...(task.notes ?? [])],
    };
  });
}

export function taskRows(
  reference: string,
  { split, offset, limit }: { split: Split; offset: number; limit: number },
): Promise<{ rows: TaskRowView[]; total: number }> {
  return withTask(reference, (task) => {
    const rows = task.rows(split);
    return { rows: rows.slice(offset, offset + limit).map((row) => rowView(task, row)), total: rows.length };
  });
}

function rowView(task: Task, row: TaskRow): TaskRowView {
  return {
    id: row.id,
    problem: task.problem(row),
    prompt: task.prompt(row),
    tools: toolsOf(task, row),
    solution: task.solution?.(row) ?? null,
    preference: task.preference?.(row) ?? null,
    drawing: task.draw(row),
    board: task.name === "tic-tac-toe" && task.game !== undefined ? toBoard(parseRow(row)) : null,
  };
}

/** A folder that cannot be opened is told as a finding: what is wrong is what a check is asked for. */
export async function checkAnyTask(reference: string, signal: AbortSignal): Promise<TaskCheck> {
  try {
    return await withTask(reference, (task) => checkTask(task, { signal }));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof HoneError) || error.code === "unknown-task") throw error;
    const { code, message, fix = "mend it in the file that is named" } = error;
    return {
      task: basename(reference),
      ok: false,
      rows: { train: 0, validation: 0, "held-out": 0 },
      problems: 0,
      methods: [],
      reward_parts: [],
      rewards: { solution: null, rejected: null, empty: null, mutated: null },
      prompt_length: { unit: "characters", mean: 0, max: 0 },
      findings: [{ code, severity: "error", message, fix }],
    };
  }
}

/** Throws `unknown-task` when there is no `task.json`. What else is wrong with it is shown on its page. */
export function openTaskFolder(path: string): { reference: string } {
  const whole = resolve(basename(path) === "task.json" ? dirname(path) : path);
  if (!isTaskFolder(whole)) {
    throw new HoneError("unknown-task", `${whole} is no task folder: it has no task.json`, {
      fix: "choose the folder that holds task.json, or make a new task",
    });
  }
  const opened = openedFolders();
  if (dirname(whole) !== libraryFolder() && !opened.includes(whole)) writeOpened([...opened, whole]);
  return { reference: listedFolder(whole).reference };
}

/** An opened folder is left where it is. */
export function removeTask(reference: string): void {
  const opened = openedFolders();
  if (opened.includes(reference)) {
    writeOpened(opened.filter((path) => path !== reference));
    return;
  }
  const folder = findTaskFolder(reference);
  if (folder === undefined || dirname(folder) !== libraryFolder()) {
    throw new HoneError("read-only", `${reference} is not in Hone's folder of tasks, so it is not deleted here`, {
      fix: "delete its folder where it is",
    });
  }
  rmSync(folder, { recursive: true });
}

/** The folder of a task that can be edited. Throws `unknown-task`, `read-only`. */
export function editableFolder(reference: string): string {
  if (tasks.some(({ name }) => name === reference)) {
    throw new HoneError("read-only", `${reference} comes with Hone: it has no files to edit`, {
      fix: "make a new task from a template",
    });
  }
  const folder = findTaskFolder(reference);
  if (folder !== undefined) return folder;
  throw new HoneError("unknown-task", `there is no task folder ${reference}`, { fix: "it may have moved" });
}
