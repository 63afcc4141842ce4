/** Draws answers of a model to rows of a task, and keeps them as a source of the reward lab. */

import { basename } from "node:path";
import type { CheckedInput } from "../../contract/api/api.ts";
import type { ChatMessage, ToolDefinition } from "../../contract/chat.ts";
import type { EvalItem } from "../../contract/eval.ts";
import { HoneError } from "../../contract/errors.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import { Random } from "../../contract/random.ts";
import { evaluateTask } from "../../evaluate/evaluate-task.ts";
import { openTask } from "../../tasks/open-task.ts";
import { isBuiltIn } from "../../tasks/tasks.ts";
import { rowsFor, toolsOf, type Task, type TaskRow } from "../../tasks/task.ts";
import { callOpen } from "../../text/markers.ts";
import { parseAssistant } from "../../text/parse-assistant.ts";
import { columnsOf } from "../data/stored-rollouts.ts";
import { usualSettings } from "../evaluation/evaluate-model.ts";
import { newDrawnFile } from "../rewards/lab-source.ts";
import { machineChoices } from "../service/machine-choices.ts";
import { reportAnswers } from "../service/report-answers.ts";
import type { WorkContext } from "../service/work.ts";
import { Session } from "../session.ts";

export interface DrawnSamples {
  path: string;
  samples: number;
}

export async function drawWork(
  { model, task: reference, rows, samples, temperature, seed }: CheckedInput<"rewards.draw">,
  context: WorkContext,
): Promise<DrawnSamples> {
  const task = await openTask(reference);
  try {
    context.report({ phase: "loading" });
    const session = await Session.open();
    const opened = await session.openPolicy(model, await machineChoices(context));
    try {
      context.report({ phase: "sampling" });
      const picked = differentRows(task, rows, seed);
      const { maxTokens, splitSeed } = usualSettings(model, reference);
      const { items } = await evaluateTask(task, opened.policy, {
        model: opened.files.name,
        split: "train",
        splitSeed,
        rows: picked,
        samples,
        temperature,
        seed,
        maxTokens,
        greedy: false,
        games: false,
        signal: context.signal,
        onProgress: reportAnswers(context),
      });
      const known = new Map(picked.map((row) => [row.id, row]));
      const order = [...new Set(items.map(({ row_id }) => row_id))];
      const lines = items.flatMap((item) => {
        const row = known.get(item.row_id);
        return row === undefined || item.invalid !== null ? [] : [lineOf(task, row, item, order.indexOf(item.row_id))];
      });
      if (lines.length === 0) {
        throw new HoneError("no-rollouts", `${model} gave no answer that could be kept`, {
          fix: "choose another task",
        });
      }
      const path = newDrawnFile(`${basename(reference)}-${basename(model)}`);
      writeFileAtomic(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      context.tell("library", "rewards");
      return { path, samples: lines.length };
    } finally {
      await opened.close();
    }
  } finally {
    await task.close?.();
  }
}

/** Rows of as many problems as possible: mirror images of one board would say the same about a reward. */
function differentRows(task: Task, count: number, seed: number): TaskRow[] {
  const rows = new Random(seed).split("lab rows").shuffle(rowsFor(task, task.rows("train"), "prompt"));
  const first = [...new Map(rows.toReversed().map((row) => [task.problem(row), row])).values()].reverse();
  const chosen = new Set(first.slice(0, count));
  return [...chosen, ...rows.filter((row) => !chosen.has(row)).slice(0, Math.max(0, count - chosen.size))];
}

/** A line as a run keeps it, with the columns of its row beside it. */
function lineOf(task: Task, row: TaskRow, item: EvalItem, promptIndex: number) {
  const { row_id, turns, sample, reward, reward_parts, stop_reason, failure } = item;
  const prompt = task.prompt(row);
  return {
    step: 0,
    prompt_index: promptIndex,
    sample_index: sample,
    trajectory_id: `${row_id}-${sample}`,
    row_id,
    prompt,
    prompt_ids: [],
    completion: turns.map(({ text }) => text).join("\n"),
    completion_ids: turns.flatMap(({ tokens }) => tokens),
    logprobs: turns.flatMap(({ logprobs }) => logprobs),
    reward: reward ?? undefined,
    reward_parts,
    advantage: 0,
    stop_reason,
    failure,
    tools: toolsOf(task, row),
    row: judgedColumns(task, row, item),
    ...(turns.length > 1 && {
      messages: [
        ...prompt,
        ...turns.flatMap(({ text, stop_reason: stop, replies }) => [
          assistantMessage(text, stop, toolsOf(task, row)),
          ...replies.map((reply) => ({ role: reply.role, content: reply.text })),
        ]),
      ],
    }),
  };
}

/** A reward of one's own sees what a task that comes with Hone says itself of an answer, as it does in training. */
function judgedColumns(task: Task, row: TaskRow, { reward, reward_parts: parts, failure }: EvalItem) {
  const columns = columnsOf(task, row);
  return isBuiltIn(task.name) ? { ...columns, judged: { reward, parts, failure } } : columns;
}

function assistantMessage(text: string, stopReason: string, tools: ToolDefinition[]): ChatMessage {
  const parsed = parseAssistant(text, tools, text.includes(callOpen) ? "hermes" : "json", {
    stopReason,
    parallel: true,
  });
  return {
    role: "assistant",
    content: parsed.content,
    ...(parsed.tool_calls.length > 0 && { tool_calls: parsed.tool_calls.map((call) => ({ function: call })) }),
  };
}
