/** Tells what is wrong with a task before anything is trained on it, in plain words and with the way out. */

import type { ChatMessage, ToolDefinition } from "../../contract/chat.ts";
import { splits, type Split } from "../../contract/eval.ts";
import type { TaskCheck, TaskFinding } from "../../contract/task.ts";
import { plural } from "../../contract/units.ts";
import { evenly, mean } from "../../contract/numbers.ts";
import { rowsFor, toolsOf, type Task, type TaskRow } from "../task.ts";
import { checkRewards, range, tryAnswers, type Find } from "./check-rewards.ts";
import { answerKinds } from "./probe-answers.ts";
import { findLeaks } from "./split-leaks.ts";

export interface CheckTaskOptions {
  /** Length of a rendered prompt, with a model. Absent: characters are counted. */
  promptTokens?: (messages: ChatMessage[], tools: ToolDefinition[]) => number;
  /** Tokens that the model can read, prompt and answers together. */
  contextLength?: number;
  /** Rows on which answers are tried; the same ones every time. Default 60. */
  tried?: number;
  signal?: AbortSignal;
}

/** Rows of which prompts are measured. */
const measuredRows = 1000;

/** Throws only what is no finding: a cancelled check, a defect. */
export async function checkTask(task: Task, options: CheckTaskOptions = {}): Promise<TaskCheck> {
  const findings: TaskFinding[] = [];
  const find: Find = (severity, code, message, fix) => findings.push({ severity, code, message, fix });
  const rows = Object.fromEntries(splits.map((split) => [split, task.rows(split)])) as Record<Split, TaskRow[]>;
  const all = splits.flatMap((split) => rows[split]);
  for (const note of task.notes ?? []) {
    find("warning", "set-aside", note, "`hone data check FILE` lists every such row; mend or remove them");
  }
  checkSizes(task, rows, find);
  for (const leak of findLeaks(task, rows)) findings.push(leak);
  const prompt_length = checkLengths(task, evenly(all, measuredRows), options, find);
  const tried =
    task.rewardParts.length > 0
      ? await tryAnswers(task, evenly(rowsFor(task, all, "prompt"), options.tried ?? 60), options.signal, find)
      : undefined;
  if (tried !== undefined) checkRewards(task, tried, find);
  checkStability(task, rows, find);
  const methods = methodsOf(task);
  checkMethods(methods, find);
  const order = (finding: TaskFinding) => ["error", "warning", "note"].indexOf(finding.severity);
  return {
    task: task.name,
    ok: findings.every(({ severity }) => severity !== "error"),
    rows: { train: rows.train.length, validation: rows.validation.length, "held-out": rows["held-out"].length },
    problems: new Set(all.map((row) => task.problem(row))).size,
    methods,
    reward_parts: task.rewardParts.map(({ name, weight, description }) => ({
      name,
      weight,
      description,
      ...range((tried?.plays ?? []).map(({ played }) => played.score.parts[name] ?? 0)),
    })),
    rewards: Object.fromEntries(answerKinds.map((kind) => [kind, tried?.mean(kind) ?? null])) as TaskCheck["rewards"],
    prompt_length,
    findings: findings.toSorted((a, b) => order(a) - order(b)),
  };
}

/** What can learn from a task. */
export function methodsOf(task: Task): TaskCheck["methods"] {
  return [
    ...(task.solution !== undefined || task.example !== undefined ? (["sft"] as const) : []),
    ...(task.preference !== undefined ? (["dpo"] as const) : []),
    ...(task.rewardParts.length > 0 ? (["rl"] as const) : []),
  ];
}

function checkMethods(methods: TaskCheck["methods"], find: Find): void {
  if (methods.length === 0) {
    find(
      "error",
      "no-feedback",
      "the task has neither a reward nor right answers nor pairs, so no method can learn from it",
      "give a reward (`--reward FILE`, or reward in task.json), solutions, or chosen and rejected answers",
    );
  } else if (!methods.includes("rl")) {
    find(
      "note",
      "no-reward",
      "the task has no reward: it can be trained by SFT or DPO, not by RL",
      "`hone reward new` makes a reward to begin with",
    );
  }
}

/** Below these a part is too small to say much. */
const fewTrain = 32;
const fewProblems = 10;

function checkSizes(task: Task, rows: Record<Split, TaskRow[]>, find: Find): void {
  const more = "give more rows, or let the generator make more";
  if (rows.train.length === 0) find("error", "no-training-rows", "there is no row to train on", more);
  else if (rows.train.length < fewTrain) {
    find(
      "warning",
      "few-rows",
      `only ${plural(rows.train.length, "row")} to train on: a model will learn them by heart`,
      more,
    );
  }
  for (const split of ["validation", "held-out"] as const) {
    const problems = new Set(rows[split].map((row) => task.problem(row))).size;
    const use = split === "validation" ? "the best checkpoint cannot be chosen" : "a gain cannot be proved";
    if (problems === 0) find("warning", "empty-part", `the ${split} part has no row: ${use}`, more);
    else if (problems < fewProblems) {
      find(
        "warning",
        "few-problems",
        `the ${split} part has only ${plural(problems, "problem")}: its intervals will be wide`,
        `${more}, or a larger share for this part (split in task.json)`,
      );
    }
  }
}

/** TRL's usual limit for prompt and answer together, which is Hone's too. */
const usualLength = 2048;
/** Of plain English; a guess that is only used without a model. */
const charactersPerToken = 4;

function checkLengths(
  task: Task,
  rows: readonly TaskRow[],
  { promptTokens, contextLength }: CheckTaskOptions,
  find: Find,
) {
  const unit = promptTokens === undefined ? ("characters" as const) : ("tokens" as const);
  const lengths = rows.map((row) => {
    const [messages, tools] = [task.prompt(row), toolsOf(task, row)];
    return promptTokens?.(messages, tools) ?? JSON.stringify({ messages, tools }).length;
  });
  const max = Math.max(0, ...lengths);
  const tokens = unit === "tokens" ? max : Math.ceil(max / charactersPerToken);
  const longest = rows[lengths.indexOf(max)] as TaskRow | undefined;
  const limit = Math.min(contextLength ?? usualLength, usualLength);
  const about = unit === "tokens" ? `${tokens} tokens` : `about ${tokens} tokens`;
  if (longest !== undefined && tokens >= limit) {
    const severity = unit === "tokens" ? "error" : "warning";
    find(
      severity,
      "long-prompt",
      `the prompt of row ${longest.id} has ${about}, and ${limit} are the limit with the answer`,
      "shorten it, or raise max_length as far as the model can read",
    );
  } else if (longest !== undefined && tokens + task.limits.tokens > limit) {
    find(
      "warning",
      "little-room",
      `the prompt of row ${longest.id} has ${about}: of ${limit} that leaves fewer than the ${task.limits.tokens} that an answer may have`,
      "shorten the prompt or the answer (limits.tokens)",
    );
  }
  return { unit, mean: lengths.length === 0 ? 0 : mean(lengths), max };
}

/** The same seed must give the same rows, parts and prompts. */
function checkStability(task: Task, rows: Record<Split, TaskRow[]>, find: Find): void {
  const split = splits.find((name) => JSON.stringify(task.rows(name)) !== JSON.stringify(rows[name]));
  const prompts = evenly(rows.train, 20);
  const changed = prompts.find((row) => JSON.stringify(task.prompt(row)) !== JSON.stringify(task.prompt(row)));
  if (split !== undefined || changed !== undefined) {
    const what = split === undefined ? `the prompt of row ${changed?.id ?? ""}` : `the ${split} part`;
    find(
      "error",
      "not-repeatable",
      `${what} is another one when it is asked for again`,
      "let everything follow from the row and the seed",
    );
  }
}
