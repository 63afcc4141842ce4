/** What `hone task ls` and `hone task show` tell, as data and as text. */

import { basename } from "node:path";
import type { z } from "zod";
import { HoneError } from "../../contract/errors.ts";
import { failureGroups, splits, type Split } from "../../contract/eval.ts";
import type { TaskCheck, TaskList, taskShowOutputSchema } from "../../contract/task.ts";
import { textTable } from "../../contract/text-table.ts";
import { plural, formatDecimal } from "../../contract/units.ts";
import { drawMessages } from "../../tasks/user/draw-row.ts";
import { listTaskFolders } from "../../tasks/open-task.ts";
import { readTaskFile } from "../../tasks/user/task-file.ts";
import { toolsOf, type Task } from "../../tasks/task.ts";
import { tasks } from "../../tasks/tasks.ts";

/** The built-in tasks, and the folders in `./tasks` and in the library. */
export function listTasks(): TaskList {
  const builtIn = tasks.map(({ name, title, description, limits }) => ({
    name,
    title,
    path: null,
    description,
    turns: limits.turns,
    problem: null,
  }));
  const folders = listTaskFolders().map((path): TaskList["tasks"][number] => {
    try {
      const { title, name, description, limits, environment } = readTaskFile(path);
      const turns = limits.turns ?? (environment === undefined ? 1 : null);
      return { name: basename(path), title: title ?? name, path, description, turns, problem: null };
    } catch (error) {
      if (!(error instanceof HoneError)) throw error;
      return { name: basename(path), title: "", path, description: "", turns: null, problem: error.message };
    }
  });
  return { tasks: [...builtIn, ...folders] };
}

export function taskListText({ tasks: listed }: TaskList): string {
  const rows = listed.map(({ name, description, path, problem }) => [
    name,
    problem === null ? `${description}${path === null ? "" : ` (${path})`}` : `cannot be opened: ${problem}`,
  ]);
  return textTable(rows);
}

export type TaskShow = z.infer<typeof taskShowOutputSchema>;

/** A task with one of its rows, counted from 1. Throws `no-such-row`. */
export function showTask(task: Task, { split, row: number }: { split: Split; row: number }): TaskShow {
  const parts = splits.map((name) => [name, task.rows(name)] as const);
  const rows = parts.find(([name]) => name === split)?.[1] ?? [];
  if (number < 1 || number > rows.length) {
    throw new HoneError("no-such-row", `the ${split} part of ${task.name} has no row ${number}`, {
      fix: rows.length === 0 ? "it has no rows; choose another --split" : `its rows are 1 to ${rows.length}`,
    });
  }
  const row = rows[number - 1];
  const { name, title, description, limits, rewardParts, failures } = task;
  return {
    name,
    title,
    description,
    rows: Object.fromEntries(parts.map(([part, list]) => [part, list.length])) as TaskShow["rows"],
    limits,
    reward_parts: rewardParts.map(({ name: part, weight, description: what }) => ({
      name: part,
      weight,
      description: what,
    })),
    failures,
    row: {
      id: row.id,
      split,
      problem: task.problem(row),
      prompt: task.prompt(row),
      tools: toolsOf(task, row),
      solution: task.solution?.(row) ?? null,
      drawing: task.draw(row),
    },
  };
}

export function taskShowText({
  name,
  title,
  description,
  rows,
  limits,
  reward_parts,
  failures,
  row,
}: TaskShow): string {
  const counts = splits.map((split) => `${rows[split]} ${split}`).join(", ");
  const turns = limits.turns === 1 ? "one answer" : `up to ${limits.turns} turns`;
  const parts = reward_parts.map(({ name: part, weight, description: what }) => [`  ${weight} × ${part}`, what]);
  const kinds = Object.entries(failures).map(([kind, { meaning, group }]) => [
    `  ${kind}`,
    `${meaning} (${failureGroups[group].split(":")[0]})`,
  ]);
  return [
    `${name}: ${title}. ${description}`,
    `rows: ${counts}; ${turns} of at most ${plural(limits.tokens, "token")}`,
    ...(parts.length === 0 ? ["no reward"] : ["reward:", textTable(parts)]),
    ...(kinds.length === 0 ? [] : ["failures:", textTable(kinds)]),
    "",
    `row ${row.id} (${row.split}), as the model sees it:`,
    ...drawMessages(row.prompt),
    ...row.tools.map((tool) => `[may call] ${JSON.stringify(tool.function)}`),
    ...(row.solution === null ? [] : ["", "a right answer:", ...drawMessages(row.solution)]),
    "",
    row.drawing,
  ].join("\n");
}

export function taskCheckText(check: TaskCheck): string {
  const { task, rows, problems, methods, reward_parts, rewards, prompt_length: length, findings } = check;
  const number = (value: number | null) => (value === null ? "-" : formatDecimal(value));
  const tried = Object.entries(rewards).filter(([, mean]) => mean !== null);
  return [
    `${task}: ${splits.map((split) => `${rows[split]} ${split}`).join(", ")} rows, ${plural(problems, "problem")}; methods: ${methods.join(", ") || "none"}`,
    `prompts: ${Math.round(length.mean)} ${length.unit} on average, ${length.max} at most`,
    ...(reward_parts.length === 0
      ? []
      : [
          textTable([
            ["part of the reward", "weight", "least", "greatest"],
            ...reward_parts.map(({ name, weight, least, greatest }) => [
              name,
              String(weight),
              number(least),
              number(greatest),
            ]),
          ]),
          `mean reward: ${tried.map(([kind, mean]) => `${kind} ${number(mean)}`).join(", ")}`,
        ]),
    ...findings.flatMap(({ severity, code, message, fix }) => [`${severity} ${code}: ${message}`, `  → ${fix}`]),
    findings.length === 0 ? "nothing is wrong" : check.ok ? "it can be trained on" : "mend the errors before training",
  ].join("\n");
}
