/** Rows of one part that stand in another too: whoever is measured on them is measured on memory. */

import { messageText } from "../../contract/chat.ts";
import { splits, type Split } from "../../contract/eval.ts";
import type { TaskFinding } from "../../contract/task.ts";
import { plural } from "../../contract/units.ts";
import { toolsOf, type Task, type TaskRow } from "../task.ts";

/** Rows of a part that are compared. */
const most = 50_000;

const fix = "take the copies out of one part, or group such rows (--group, split.group in task.json)";

/** One finding for each way in which parts overlap. */
export function findLeaks(task: Task, rows: Record<Split, TaskRow[]>): TaskFinding[] {
  const leaks: TaskFinding[] = [];
  const problem = overlap(rows, (row) => task.problem(row));
  if (problem !== undefined) {
    leaks.push({
      severity: "error",
      code: "shared-problem",
      message: `${problem.told("poses the same problem as", "pose the same problems as")}`,
      fix,
    });
  }
  const prompts = new Map<TaskRow, string>();
  for (const split of splits) {
    for (const row of rows[split].slice(0, most)) {
      prompts.set(row, JSON.stringify([task.prompt(row), task.example?.(row), toolsOf(task, row)]));
    }
  }
  const prompt = overlap(rows, (row) => prompts.get(row));
  if (prompt !== undefined) {
    leaks.push({
      severity: "error",
      code: "shared-prompt",
      message: prompt.told("has the same prompt as", "have the same prompts as"),
      fix,
    });
    return leaks;
  }
  const near = overlap(rows, (row) => (prompts.has(row) ? plainText(task, row) : undefined));
  if (near !== undefined) {
    leaks.push({
      severity: "warning",
      code: "near-prompt",
      message: near.told(
        "differs only by case, spaces or punctuation from",
        "differ only by case, spaces or punctuation from",
      ),
      fix,
    });
  }
  return leaks;
}

/** Words and numbers only. */
function plainText(task: Task, row: TaskRow): string {
  const example = task.example?.(row);
  const said = task.prompt(row).map((message) => messageText(message));
  if (example !== undefined && "text" in example) said.push(example.text);
  return said
    .join("\n")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

interface Overlap {
  told(one: string, many: string): string;
}

/** The first two parts that share a key, with the number of rows of the later one that do. */
function overlap(rows: Record<Split, TaskRow[]>, key: (row: TaskRow) => string | undefined): Overlap | undefined {
  const owners = new Map<string, { split: Split; row: TaskRow }>();
  for (const split of splits) {
    const shared: { row: TaskRow; with: { split: Split; row: TaskRow } }[] = [];
    for (const row of rows[split].slice(0, most)) {
      const own = key(row);
      if (own === undefined || own === "") continue;
      const owner = owners.get(own);
      if (owner === undefined) owners.set(own, { split, row });
      else if (owner.split !== split) shared.push({ row, with: owner });
    }
    if (shared.length === 0) continue;
    const [first] = shared;
    return {
      told: (one, many) =>
        `${plural(shared.length, "row")} of the ${split} part ${shared.length === 1 ? one : many} rows of the ${first.with.split} part, such as ${first.row.id} and ${first.with.row.id}`,
    };
  }
  return undefined;
}
