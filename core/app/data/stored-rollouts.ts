/** Stored rollouts as samples that a reward can score: of a run, or of a JSON Lines file. */

import { existsSync } from "node:fs";
import { z } from "zod";
import type { RunConfig } from "../../contract/config.ts";
import {
  messageText,
  functionOf,
  type ChatMessage,
  type ToolDefinition,
  chatMessageSchema,
  toolSchema,
} from "../../contract/chat.ts";
import { HoneError } from "../../contract/errors.ts";
import { splits } from "../../contract/eval.ts";
import type { RewardSample } from "../../contract/reward.ts";
import { rolloutLineSchema, type RolloutLine } from "../../contract/run.ts";
import { readRows } from "../../files/json.ts";
import { requireRun } from "../../store/library.ts";
import { dataOptions, openTask } from "../../tasks/open-task.ts";
import { isBuiltIn } from "../../tasks/tasks.ts";
import { toolsOf, type Task, type TaskRow } from "../../tasks/task.ts";
import { callOpen, thinkOpen } from "../../text/markers.ts";
import { parseAssistant } from "../../text/parse-assistant.ts";
import { RunFolder } from "../../train/run-folder/run-folder.ts";

export interface StoredRollout {
  step: number;
  sample: RewardSample;
  /** What the model saw, as text. */
  promptText: string;
  /** What it could call. */
  tools: ToolDefinition[];
  stored: { reward: number; parts: Record<string, number> } | undefined;
}

export interface StoredRollouts {
  source: string;
  rollouts: StoredRollout[];
  /** What a user should know of how they were read. */
  notes: string[];
}

/** Rollouts of one step of a run, or of all. Throws `no-rollouts` where there are none. */
export async function rolloutsOfRun(reference: string, step: number | "all"): Promise<StoredRollouts> {
  const folder = RunFolder.open(requireRun(reference));
  const known = folder.rolloutSteps();
  const steps = step === "all" ? known : known.filter((one) => one === step);
  if (steps.length === 0) {
    const which = step === "all" ? "" : ` of step ${step}`;
    throw new HoneError("no-rollouts", `the run ${folder.name} has no rollouts${which}`, {
      fix:
        known.length === 0
          ? "only runs that learn from rewards keep them, with log_completions true"
          : `it has steps ${known[0]} to ${known.at(-1)}`,
    });
  }
  const lines = steps.flatMap((one) => readRows(folder.rolloutFile(one), rolloutLineSchema));
  const notes: string[] = [];
  const { config } = folder.readConfig();
  const rows = await rowsOfTask(config, notes);
  // As in training: a reward of one's own sees what a task that comes with Hone says itself of an answer.
  const judges = isBuiltIn(config.task) && config.reward === null;
  const rowOf = ({ row_id, reward, reward_parts: parts, failure }: RolloutLine): KnownRow | undefined => {
    const row = rows.get(row_id);
    if (row === undefined || !judges) return row;
    return { ...row, columns: { ...row.columns, judged: { reward, parts, failure } } };
  };
  return { source: folder.path, rollouts: lines.map((line) => fromLine(line, rowOf(line))), notes };
}

interface KnownRow {
  columns: Record<string, unknown>;
  prompt: ChatMessage[];
  tools: ToolDefinition[];
  parallel: boolean;
}

/** The rows of the run's task by id; none, with a note, where the task can no longer be opened. */
async function rowsOfTask({ task: reference, map, group }: RunConfig, notes: string[]): Promise<Map<string, KnownRow>> {
  let task: Task;
  try {
    task = await openTask(reference, dataOptions({ map, group }));
  } catch (error) {
    if (!(error instanceof HoneError)) throw error;
    notes.push(`the rows of ${reference} are not at hand, so a reward sees no columns: ${error.message}`);
    return new Map();
  }
  try {
    const rows = new Map<string, KnownRow>();
    for (const split of splits) {
      for (const row of task.rows(split)) {
        rows.set(row.id, {
          columns: columnsOf(task, row),
          prompt: task.prompt(row),
          tools: toolsOf(task, row),
          parallel: task.parallelCalls === true,
        });
      }
    }
    return rows;
  } finally {
    await task.close?.();
  }
}

/** A task of data reads its rows' columns when asked; the rows of other tasks are their own columns. */
export function columnsOf(
  task: Task & { read?: (row: TaskRow) => { columns: Record<string, unknown> } },
  row: TaskRow,
) {
  return task.read?.(row).columns ?? { ...row };
}

function fromLine(line: RolloutLine, row: KnownRow | undefined): StoredRollout {
  const prompt = row?.prompt ?? [{ role: "user", content: line.prompt }];
  const last = line.turns?.at(-1) ?? line;
  const parsed = parseAssistant(
    last.completion,
    row?.tools ?? [],
    last.completion.includes(callOpen) ? "hermes" : "json",
    {
      stopReason: last.stop_reason,
      thinkingOpen: last.prompt.trimEnd().endsWith(thinkOpen),
      parallel: row?.parallel ?? false,
    },
  );
  const answer: ChatMessage = {
    role: "assistant",
    content: parsed.content,
    ...(parsed.tool_calls.length > 0 && { tool_calls: parsed.tool_calls.map((call) => ({ function: call })) }),
  };
  const messages = line.messages ?? [...prompt, answer];
  return {
    step: line.step,
    promptText: line.prompt,
    tools: row?.tools ?? [],
    stored: { reward: line.reward, parts: line.reward_parts },
    sample: {
      prompt,
      completion: last.completion,
      answer: parsed.content,
      reasoning: parsed.reasoning,
      messages,
      tool_calls: line.messages === undefined ? parsed.tool_calls : callsIn(messages.slice(prompt.length)),
      problems: parsed.problems,
      stop_reason: line.stop_reason,
      completion_ids: line.completion_ids,
      logprobs: line.logprobs,
      loss_mask: line.completion_ids.map(() => 1),
      row_id: line.row_id,
      row: row?.columns ?? {},
      prompt_index: line.prompt_index,
      sample_index: line.sample_index,
    },
  };
}

/** Calls of a conversation, each with the result that answers it: tool messages follow in the order of the calls. */
function callsIn(messages: readonly ChatMessage[]): RewardSample["tool_calls"] {
  const found: RewardSample["tool_calls"] = [];
  let open: RewardSample["tool_calls"] = [];
  for (const message of messages) {
    if (message.role === "assistant") {
      open = (message.tool_calls ?? []).map((call) => {
        const { name, arguments: given } = functionOf(call);
        return { name, arguments: typeof given === "string" ? (JSON.parse(given) as Record<string, unknown>) : given };
      });
      found.push(...open);
    } else if (message.role === "tool") {
      const call = open.shift();
      if (call !== undefined) call.result = messageText(message);
    }
  }
  return found;
}

/** A line of a file: what a run keeps, or as little as a prompt and a completion; other keys are columns of the row. */
const fileLineSchema = z.looseObject({
  completion: z.string(),
  prompt: z.union([z.string(), z.array(chatMessageSchema)]).default(""),
  step: z.number().int().default(0),
  row_id: z.string().optional(),
  row: z.record(z.string(), z.unknown()).optional(),
  prompt_index: z.number().int().optional(),
  sample_index: z.number().int().optional(),
  reward: z.number().optional(),
  reward_parts: z.record(z.string(), z.number()).default({}),
  /** What the model could call. */
  tools: z.array(toolSchema).default([]),
});

/** Rollouts of a file. Lines with the same step and prompt are one group. Throws `no-rollouts`, `bad-jsonl`, `bad-data`. */
export function rolloutsOfFile(path: string): StoredRollouts {
  if (!existsSync(path)) throw new HoneError("no-such-file", `there is no file ${path}`, { fix: "check the path" });
  const lines = readRows(path, fileLineSchema);
  if (lines.length === 0) throw new HoneError("no-rollouts", `${path} has no complete line`);
  return { source: path, rollouts: rolloutsOfLines(lines), notes: [] };
}

/** Rollouts of a file's lines, or of what stands for them. */
export function rolloutsOfLines(lines: readonly z.output<typeof fileLineSchema>[]): StoredRollout[] {
  const groups = new Map<string, { index: number; size: number }>();
  return lines.map((line): StoredRollout => {
    const {
      prompt,
      completion,
      step,
      row_id,
      row,
      prompt_index,
      sample_index,
      reward,
      reward_parts,
      tools,
      ...columns
    } = line;
    const promptText = typeof prompt === "string" ? prompt : prompt.map(messageText).join("\n\n");
    const whole = rolloutLineSchema.safeParse({ ...line, prompt: promptText });
    const known = {
      columns: row ?? (whole.success ? {} : columns),
      prompt: typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt,
      tools,
      parallel: false,
    };
    if (whole.success) return fromLine(whole.data, known);
    const key = `${step} ${prompt_index ?? JSON.stringify(prompt)}`;
    const group = groups.get(key) ?? { index: groups.size, size: 0 };
    groups.set(key, { ...group, size: group.size + 1 });
    const promptIndex = prompt_index ?? group.index;
    const made = fromLine(
      {
        step,
        prompt_index: promptIndex,
        sample_index: sample_index ?? group.size,
        trajectory_id: "",
        row_id: row_id ?? String(promptIndex),
        prompt: promptText,
        prompt_ids: [],
        completion,
        completion_ids: [],
        logprobs: [],
        reward: reward ?? 0,
        reward_parts,
        advantage: 0,
        stop_reason: "eos",
        failure: null,
      },
      known,
    );
    return reward === undefined ? { ...made, stored: undefined } : made;
  });
}
