/** The one way to a task: a built-in one by name, a task folder, or a data file. */

import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, extname, isAbsolute, join, resolve, sep } from "node:path";
import { HoneError } from "../contract/errors.ts";
import { nearest } from "../contract/nearest.ts";
import { findDataset, listDatasets } from "../data/dataset.ts";
import { namesDownload } from "../data/downloaded-rows.ts";
import { parseMapping, type Mapping } from "../data/forms.ts";
import { openReward } from "../rewards/open-reward.ts";
import { honeHome } from "../store/library.ts";
import { dataRows } from "./user/data-rows.ts";
import { dataTask, type DataTask } from "./user/data-task.ts";
import { folderTask } from "./user/folder-task.ts";
import { markedParts } from "./user/grading.ts";
import { rewardedTask } from "./user/rewarded-task.ts";
import { isTaskFolder, readTaskFile } from "./user/task-file.ts";
import type { Task } from "./task.ts";
import { tasks } from "./tasks.ts";

export interface OpenTaskOptions {
  /** A reward file, for a data file, or instead of a task's own. */
  reward?: string | null;
  /** Field → column of a data file. */
  map?: Mapping;
  /** Columns of a data file whose equal values keep rows together in one part. */
  group?: readonly string[];
}

/** As the options of a run say it: null for what they leave open. */
export interface DataChoices {
  reward?: string | null | undefined;
  /** `field=column`, each. */
  map?: readonly string[] | null | undefined;
  group?: readonly string[] | null | undefined;
}

/** Throws `usage` for a mapping that is none. */
export function dataOptions({ reward, map, group }: DataChoices): OpenTaskOptions {
  return {
    reward: reward ?? null,
    ...(map != null && { map: parseMapping(map) }),
    ...(group != null && { group }),
  };
}

/**
 * Opens a task; the caller calls its `close` when done. Throws `unknown-task` with the nearest name, `bad-task`,
 * `bad-reward-file`, `no-rows`, and what reading the data throws.
 */
export async function openTask(reference: string, options: OpenTaskOptions = {}): Promise<Task> {
  const { reward, map, group } = options;
  const builtIn = tasks.find(({ name }) => name === reference);
  if (builtIn !== undefined) {
    if (map !== undefined || group !== undefined) {
      throw usage(`the task ${reference} makes its own rows`, "give --map and --group with a data file");
    }
    return reward == null ? builtIn : rewardedTask(builtIn, await openReward(reward));
  }
  const folder = findTaskFolder(reference);
  if (folder !== undefined) {
    if (map !== undefined) throw usage(`the task ${reference} names its columns itself`, "leave the mapping out");
    if (group !== undefined)
      throw usage(`the task ${reference} groups its rows itself`, "set split.group in task.json");
    return folderTask(folder, reward == null ? {} : { reward });
  }
  if (existsSync(reference) || findDataset(reference) !== undefined || namesDownload(reference)) {
    return fileTask(reference, {
      ...(reward != null && { reward }),
      ...(map !== undefined && { map }),
      ...(group !== undefined && { group }),
    });
  }
  throw unknownTask(reference);
}

async function fileTask(
  path: string,
  { reward: spec, map, group }: { reward?: string; map?: Mapping; group?: readonly string[] },
): Promise<DataTask> {
  const notes: string[] = [];
  const reward = spec === undefined ? undefined : await openReward(spec);
  const stem = basename(path, extname(path));
  return dataTask(dataRows({ path, ...(map !== undefined && { map }) }, notes), {
    name:
      stem
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, "-")
        .replaceAll(/^-+|-+$/g, "") || "data",
    title: basename(path),
    description: `Rows of ${basename(path)}${spec === undefined ? "" : `, rewarded by ${basename(spec)}`}.`,
    ...(reward !== undefined && { reward }),
    grading: { marked: markedParts(spec) },
    ...(group !== undefined && { group }),
    notes,
  });
}

function usage(message: string, fix: string): HoneError {
  return new HoneError("usage", message, { fix });
}

/** Folders in which a task is found by its name. */
export function taskPlaces(): string[] {
  return [resolve("tasks"), join(honeHome(), "tasks")];
}

/** The folder of a task by its path, or by its name in `./tasks` or in the library. */
export function findTaskFolder(reference: string): string | undefined {
  if (reference === "") return undefined;
  const path = resolve(reference);
  if (isTaskFolder(path)) return path;
  // The file itself is as good as its folder.
  if (basename(path) === "task.json" && existsSync(path) && statSync(path).isFile()) return resolve(path, "..");
  if (isAbsolute(reference) || reference.includes("/") || reference.includes(sep)) return undefined;
  return taskPlaces()
    .map((place) => join(place, reference))
    .find(isTaskFolder);
}

/** Tokens of one answer that a task folder sets; undefined where it does not, and for any other task. */
export function answerTokens(reference: string): number | undefined {
  if (tasks.some(({ name }) => name === reference)) return undefined;
  const folder = findTaskFolder(reference);
  return folder === undefined ? undefined : readTaskFile(folder).limits.tokens;
}

/** Task folders in `./tasks` and in the library, each with its path. */
export function listTaskFolders(): string[] {
  return taskPlaces().flatMap((place) => {
    if (!existsSync(place)) return [];
    return readdirSync(place)
      .sort()
      .map((name) => join(place, name))
      .filter(isTaskFolder);
  });
}

function unknownTask(reference: string): HoneError {
  const known = [
    ...tasks.map(({ name }) => name),
    ...listTaskFolders().map((path) => basename(path)),
    ...listDatasets().map(({ name }) => name),
  ];
  const meant = nearest(basename(reference), known);
  const ways = `give a built-in task (${tasks.map(({ name }) => name).join(", ")}), a task folder, or a data file`;
  return new HoneError("unknown-task", `there is no task, task folder or data file ${JSON.stringify(reference)}`, {
    fix: meant === undefined ? ways : `did you mean ${JSON.stringify(meant)}? ${ways}`,
  });
}
