/** A task of one's own: a folder with a `task.json`, that can be copied to whoever is to have it. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { RewardFile, RewardPart } from "../../contract/reward.ts";
import { taskFileName, type TaskFile } from "../../contract/task.ts";
import { openReward } from "../../rewards/open-reward.ts";
import type { Reward } from "../../rewards/reward.ts";
import { dataRows, recordRows, type Origin } from "./data-rows.ts";
import { dataTask, type DataTask, type SourceRow, type TaskData } from "./data-task.ts";
import { fillMessages, fillText, type MessageTemplate } from "./fill-template.ts";
import { markedParts } from "./grading.ts";
import { numberPart, ScriptEpisode, solveRows, type EnvironmentScript } from "./script-episode.ts";
import { usualShares } from "./split-keys.ts";
import { badTask, readTaskFile } from "./task-file.ts";
import { TaskScript } from "./task-script.ts";

/** Throws `bad-task` with file, field and way out, `bad-row`, `bad-reward-file`, and what opening its data throws. */
export async function folderTask(folder: string, { reward: other }: { reward?: string } = {}): Promise<DataTask> {
  const path = join(folder, taskFileName);
  const file = readTaskFile(folder);
  const opened: { close(): Promise<void> }[] = [];
  const open = <T extends { close(): Promise<void> }>(resource: T): T => {
    opened.push(resource);
    return resource;
  };
  try {
    const environment = file.environment === undefined ? undefined : open(await openEnvironment(folder, file));
    const own = environment === undefined ? [] : ownParts(file);
    const spec = other ?? rewardSpec(folder, file);
    const reward = spec === undefined ? undefined : open(await openReward(spec, { folder }));
    requireParts(path, file, own, reward);
    const notes: string[] = [];
    const rows = solved(filled(folder, file, notes), environment);
    const { split } = file;
    const task = await dataTask(rows, {
      name: file.name,
      title: file.title ?? file.name,
      description: file.description,
      ...(reward !== undefined && { reward }),
      parts: own,
      grading: {
        marked: { ...Object.fromEntries(own.map(({ name }) => [name, "choice"] as const)), ...markedParts(spec) },
        failures: file.failures,
      },
      tools: file.tools,
      ...(file.tool_choice !== undefined && { toolChoice: file.tool_choice }),
      ...(file.parallel_calls !== undefined && { parallelCalls: file.parallel_calls }),
      limits: {
        ...(environment !== undefined && { turns: 8 }),
        ...(file.limits.turns !== undefined && { turns: file.limits.turns }),
        ...(file.limits.tokens !== undefined && { tokens: file.limits.tokens }),
        ...(file.limits.seconds !== undefined && { seconds: file.limits.seconds }),
      },
      ...(split.group !== undefined && { group: [split.group].flat() }),
      shares: {
        heldOut: split.held_out ?? usualShares.heldOut,
        validation: split.validation ?? usualShares.validation,
      },
      ...(split.seed !== undefined && { splitSeed: split.seed }),
      notes,
      ...(file.draw !== undefined && { draw: drawer(file.draw) }),
      ...(environment !== undefined && {
        start: (data, seed, grade) =>
          new ScriptEpisode(
            environment,
            own.map(({ name }) => name),
            data,
            seed,
            grade,
          ),
      }),
    });
    return {
      ...task,
      close: async () => {
        await task.close();
        await environment?.close();
      },
    };
  } catch (error) {
    await Promise.all(opened.map((resource) => resource.close()));
    throw error;
  }
}

async function openEnvironment(folder: string, { environment = "" }: TaskFile): Promise<EnvironmentScript> {
  const path = requireFile(folder, "environment", environment);
  return TaskScript.open(path, { required: ["start", "step"], optional: ["end", "solve"] });
}

/** What the environment's score is made of. */
function ownParts({ parts }: TaskFile): RewardPart[] {
  if (parts === undefined) return [{ name: numberPart, weight: 1, description: "the environment's score" }];
  return Object.entries(parts).map(([name, { weight, description }]) => ({ name, weight, description }));
}

function rewardSpec(folder: string, { reward }: TaskFile): string | RewardFile | undefined {
  return typeof reward === "string" ? requireFile(folder, "reward", reward) : reward;
}

function requireFile(folder: string, key: string, name: string): string {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  throw badTask(
    join(folder, taskFileName),
    `${key}: there is no file ${path}`,
    "paths are relative to the task's folder",
  );
}

/** A part that is declared twice, or a failure of a part that there is not, would count wrongly without a word. */
function requireParts(
  path: string,
  { failures }: TaskFile,
  own: readonly RewardPart[],
  reward: Reward | undefined,
): void {
  const names = [...own, ...(reward?.parts ?? [])].map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw badTask(
      path,
      `the part ${JSON.stringify(twice)} is the environment's and the reward's`,
      "rename one of them",
    );
  }
  for (const [kind, { part }] of Object.entries(failures)) {
    if (part === undefined || names.includes(part)) continue;
    throw badTask(path, `failures.${kind}: there is no part ${JSON.stringify(part)}`, `parts are ${names.join(", ")}`);
  }
}

/** The rows with everything that templates add. */
async function* filled(folder: string, file: TaskFile, notes: string[]): AsyncGenerator<SourceRow> {
  const { prompt, solution, preference } = file;
  const origin = originOf(folder, file);
  for await (const { data, part } of prompt === undefined ? dataRows(origin, notes) : recordRows(origin, notes)) {
    const { id, columns } = data;
    const fill = (template: MessageTemplate, role: "user" | "assistant") =>
      fillMessages(template, columns, `row ${id}`, role);
    const made: TaskData = {
      ...data,
      ...(prompt !== undefined && { prompt: fill(prompt, "user") }),
      ...(solution !== undefined && { solution: fill(solution, "assistant") }),
      ...(preference !== undefined && {
        preference: {
          chosen: fill(preference.chosen, "assistant"),
          rejected: fill(preference.rejected, "assistant"),
        },
      }),
    };
    if (solution !== undefined) delete made.example;
    yield { data: made, ...(part !== undefined && { part }) };
  }
}

/** Rows whose right answers are played together. */
const solvedTogether = 50;

/** The rows with the right answers that the environment's `solve` gives. */
async function* solved(
  rows: AsyncIterable<SourceRow>,
  environment: EnvironmentScript | undefined,
): AsyncGenerator<SourceRow> {
  if (environment?.has("solve") !== true) {
    yield* rows;
    return;
  }
  const solve = async (batch: readonly SourceRow[]): Promise<SourceRow[]> => {
    const solutions = await solveRows(
      environment,
      batch.map(({ data }) => data.columns),
    );
    return batch.map((row, i) => ({ ...row, data: { ...row.data, solution: solutions[i] } }));
  };
  let batch: SourceRow[] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < solvedTogether) continue;
    yield* await solve(batch);
    batch = [];
  }
  yield* await solve(batch);
}

/** Where the rows come from. */
function originOf(folder: string, { data, rows, generator }: TaskFile): Origin {
  if (data !== undefined) return { path: requireFile(folder, "data", data) };
  if (rows !== undefined) return { name: join(folder, taskFileName), records: async () => rows };
  if (generator === undefined) throw new Error("a task file without rows");
  return { name: join(folder, generator.file), records: () => generated(folder, generator) };
}

async function generated(
  folder: string,
  { file, count, seed }: NonNullable<TaskFile["generator"]>,
): Promise<Record<string, unknown>[]> {
  const script = await TaskScript.open(requireFile(folder, "generator", file), { required: ["rows"] });
  try {
    const made = await script.call("rows", [count, seed], seed);
    const isRow = (row: unknown) => typeof row === "object" && row !== null && !Array.isArray(row);
    if (Array.isArray(made) && made.length === count && made.every(isRow)) return made as Record<string, unknown>[];
    const what = Array.isArray(made) ? `${made.length} values` : JSON.stringify(made);
    throw badTask(script.path, `rows(${count}, ${seed}) returned ${what}, not ${count} objects`);
  } finally {
    await script.close();
  }
}

function drawer(template: string): (data: TaskData) => string {
  return ({ id, columns }) => fillText(template, columns, `row ${id}`);
}
