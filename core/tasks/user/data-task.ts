/**
 * A task made of a user's rows: each has a prompt, and what else the methods need: an answer to imitate, a pair to
 * prefer, columns for the reward. One answer is one episode, and its reward comes from a reward file.
 */

import { messageText, type ChatMessage, type ToolDefinition } from "../../contract/chat.ts";
import type { DataRow } from "../../contract/data.ts";
import { HoneError } from "../../contract/errors.ts";
import { defaultSplitSeed, type Split } from "../../contract/eval.ts";
import type { Seed } from "../../contract/random.ts";
import type { RewardPart } from "../../contract/reward.ts";
import type { Reward } from "../../rewards/reward.ts";
import {
  oneTurnEpisode,
  weigh,
  type Episode,
  type Example,
  type RowUse,
  type SamplePlace,
  type Score,
  type StopReason,
  type Task,
} from "../task.ts";
import { Grading, type GradingOptions } from "./grading.ts";
import { drawRow } from "./draw-row.ts";
import { rewardSample, type PlayedTurn } from "./reward-sample.ts";
import { RowTable, type DataTaskRow } from "./row-table.ts";
import { usualShares, type SplitShares } from "./split-keys.ts";

export type { DataTaskRow } from "./row-table.ts";

/** What a row holds. */
export interface TaskData {
  id: string;
  columns: Record<string, unknown>;
  prompt: ChatMessage[];
  tools?: ToolDefinition[];
  solution?: ChatMessage[];
  example?: Example;
  preference?: { chosen: ChatMessage[]; rejected: ChatMessage[] };
}

export interface SourceRow {
  data: TaskData;
  /** The part that the file it came from stands for. */
  part?: Split;
}

export interface DataTaskOptions {
  name: string;
  title: string;
  description: string;
  reward?: Reward;
  /** Parts of the score that the episode itself gives, beside those of the reward. */
  parts?: readonly RewardPart[];
  /** How failures are told. */
  grading?: GradingOptions;
  /** Default: one answer is all. */
  start?: (data: TaskData, seed: Seed, grade: Grade) => Episode;
  tools?: ToolDefinition[];
  toolChoice?: string;
  parallelCalls?: boolean;
  limits?: Partial<Task["limits"]>;
  /** Columns whose values, together, say which rows pose one problem. Default: rows with the same prompt do. */
  group?: readonly string[];
  shares?: SplitShares;
  /** Mixed with the seed that `rows` is asked for. */
  splitSeed?: Seed;
  /** What a user should know about the rows; read when all of them have been. */
  notes?: readonly string[];
  draw?: (data: TaskData) => string;
}

/** Scores an episode; `own`: values of the episode's own parts. Throws `no-reward` where the task has none. */
export type Grade = (
  turns: readonly PlayedTurn[],
  stopReason: StopReason,
  own?: { values: Record<string, number>; info?: Record<string, unknown> },
) => Promise<Score>;

/** A task with the rows at hand; what user-made tasks build on. */
export interface DataTask extends Task<DataTaskRow> {
  /** What a row holds: a new object every time. */
  read(row: DataTaskRow): TaskData;
  close(): Promise<void>;
}

/** Reads the rows to their end; they may be of different kinds. Throws `no-rows`, `no-such-column`. */
export async function dataTask(
  source: AsyncIterable<SourceRow> | Iterable<SourceRow>,
  options: DataTaskOptions,
): Promise<DataTask> {
  const { name, title, description, reward, parts: ownParts = [], tools = [] } = options;
  const { toolChoice, parallelCalls } = options;
  const table = new RowTable(options.group);
  const close = async () => {
    table.close();
    await reward?.close();
  };
  try {
    for await (const { data, part } of source) table.add(data, part);
    if (table.length === 0) throw noRows(name, options.notes ?? []);
    const { has } = table;
    const parts = table.partition(options.shares ?? usualShares, options.splitSeed);
    const read = (row: DataTaskRow) => table.read(row.index);
    const mixed = table.mixed();
    const rewardParts = () => [...ownParts, ...(reward?.parts ?? [])];
    const grading = new Grading(rewardParts(), options.grading ?? {}, tools.length > 0 || has.tools);
    const grade =
      (data: TaskData, place: SamplePlace): Grade =>
      (turns, stopReason, own) =>
        gradeEpisode({ name, reward, ownParts, grading, data, place, turns, stopReason, own });
    return {
      name,
      title,
      description,
      tools,
      ...(has.tools && { toolsFor: (row: DataTaskRow) => read(row).tools ?? tools }),
      ...(toolChoice !== undefined && { toolChoice }),
      ...(parallelCalls !== undefined && { parallelCalls }),
      get rewardParts() {
        return rewardParts();
      },
      failures: grading.failures,
      outcomes: grading.outcomes,
      limits: { turns: 1, tokens: 512, seconds: 120, ...options.limits },
      rows: (split, { seed = defaultSplitSeed } = {}) => parts(split, seed),
      parseRow: (value) => knownRow(value, table, name),
      problem: (row) => table.problem(row.index),
      prompt: (row) => read(row).prompt,
      start(row, seed, place = { prompt: 0, sample: 0 }) {
        const data = read(row);
        return (
          options.start?.(data, seed, grade(data, place)) ??
          oneTurnEpisode(row, (action) => grade(data, place)([{ action, replies: [] }], action.stopReason))
        );
      },
      ...(has.solution && { solution: (row: DataTaskRow) => read(row).solution }),
      ...(has.example && { example: (row: DataTaskRow) => read(row).example }),
      ...(has.preference && { preference: (row: DataTaskRow) => read(row).preference }),
      ...(mixed !== undefined && { holds: (row: DataTaskRow, what: RowUse) => table.holds(row.index, what) }),
      reference: () => ({}),
      draw: (row) => (options.draw ?? drawRow)(read(row)),
      notes: [...(options.notes ?? []), ...(mixed === undefined ? [] : [mixed])],
      usage: () => reward?.usage(),
      read,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A row of data as a task holds it. `id` must be the row's own. */
export function taskData(row: Exclude<DataRow, { shape: "label" }>, id: string): TaskData {
  const base = { id, columns: row.columns, ...(row.tools !== undefined && { tools: row.tools }) };
  switch (row.shape) {
    case "prompt":
      return { ...base, prompt: row.prompt };
    case "completion":
      return { ...base, columns: withAnswer(row), prompt: row.prompt, solution: row.completion };
    case "preference":
      return { ...base, prompt: row.prompt, preference: { chosen: row.chosen, rejected: row.rejected } };
    case "messages":
      return { ...base, ...fromConversation(row.messages) };
    case "text":
      return { ...base, prompt: [], example: { text: row.text } };
    case "tokens":
      return { ...base, prompt: [], example: { tokens: row.tokens, loss_mask: row.loss_mask } };
  }
}

/** A reward may compare with the answer, by the name of its column, also where the answer is what SFT learns. */
function withAnswer({ columns, completion }: Extract<DataRow, { shape: "completion" }>): Record<string, unknown> {
  return { completion: messageText(completion.at(-1) ?? {}), ...columns };
}

/** The prompt ends with the last user message; earlier answers are part of it, and SFT learns from all of them. */
function fromConversation(messages: ChatMessage[]): Pick<TaskData, "prompt" | "solution" | "example"> {
  const firstAnswer = messages.findIndex(({ role }) => role === "assistant");
  if (firstAnswer < 0) return { prompt: messages };
  const lastAsked = messages.findLastIndex(({ role }, i) => role === "user" && i < messages.length - 1);
  const begin = Math.max(lastAsked + 1, lastAsked < 0 ? firstAnswer : 0);
  return { prompt: messages.slice(0, begin), solution: messages.slice(begin), example: { messages } };
}

interface Graded {
  name: string;
  reward: Reward | undefined;
  ownParts: readonly RewardPart[];
  grading: Grading;
  data: TaskData;
  place: SamplePlace;
  turns: readonly PlayedTurn[];
  stopReason: StopReason;
  own: Parameters<Grade>[2];
}

async function gradeEpisode({
  name,
  reward,
  ownParts,
  grading,
  data,
  place,
  turns,
  stopReason,
  own,
}: Graded): Promise<Score> {
  if (reward === undefined && ownParts.length === 0) {
    throw new HoneError("no-reward", `task ${name} has no reward, so an answer cannot be scored`, {
      fix: "give one with --reward FILE, or train by SFT or DPO",
    });
  }
  const { id, columns, prompt } = data;
  const sample = rewardSample({ row_id: id, row: columns, prompt, place }, turns, stopReason);
  const judged = await reward?.score(sample);
  const paid = weigh(ownParts, own?.values ?? {});
  const result = {
    reward: paid.reward + (judged?.reward ?? 0),
    parts: { ...paid.parts, ...judged?.parts },
    info: { ...judged?.info, ...own?.info },
  };
  return grading.toScore(result, turns, stopReason);
}

function noRows(name: string, notes: readonly string[]): HoneError {
  const why = notes.map((note) => `: ${note}`).join("");
  return new HoneError("no-rows", `task ${name} has no row that could be used${why}`, {
    fix: "`hone data check FILE` tells what is wrong with each row",
  });
}

function knownRow(value: unknown, table: RowTable, task: string): DataTaskRow {
  const id = typeof value === "object" && value !== null && "id" in value ? value.id : undefined;
  const found = typeof id === "string" ? table.find(id) : undefined;
  if (found !== undefined) return found;
  throw new HoneError("bad-row", `task ${task} has no row ${JSON.stringify(id)}`, {
    fix: 'give {"id": …} of one of its rows',
  });
}
