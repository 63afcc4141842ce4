/**
 * A task made of a user's rows: each has a prompt, and what else the methods need: an answer to imitate, a pair to
 * prefer, columns for the reward. One answer is one episode, and its reward comes from a reward file.
 */

import { createHash } from "node:crypto";
import { messageText, type ChatMessage, type ToolDefinition } from "../contract/chat.ts";
import type { DataRow } from "../contract/data.ts";
import { HoneError } from "../contract/errors.ts";
import type { Split } from "../contract/eval.ts";
import type { Seed } from "../contract/random.ts";
import type { RewardPart } from "../contract/reward.ts";
import type { Reward } from "../rewards/reward.ts";
import { Grading, type GradingOptions } from "./grading.ts";
import { drawRow } from "./draw-row.ts";
import { rewardSample, type PlayedTurn } from "./reward-sample.ts";
import { RowStore } from "./row-store.ts";
import { KeyGroups, splitKeys, usualShares, type SplitShares } from "./split-keys.ts";
import {
  oneTurnEpisode,
  weigh,
  type Episode,
  type Example,
  type SamplePlace,
  type Score,
  type StopReason,
  type Task,
} from "./task.ts";

/** A row by its place: what it holds is read when it is needed. */
export interface DataTaskRow {
  id: string;
  /** From 0, over all files. */
  index: number;
  /** Of its content: 16 hexadecimal digits. */
  hash: string;
}

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

const usualSplitSeed = 2026;

/** A task with the rows at hand; what user-made tasks build on. */
export interface DataTask extends Task<DataTaskRow> {
  /** What a row holds: a new object every time. */
  read(row: DataTaskRow): TaskData;
  close(): Promise<void>;
}

/** Reads the rows to their end. Throws `no-rows`, `bad-rows` when they are of different kinds, `no-such-column`. */
export async function dataTask(
  source: AsyncIterable<SourceRow> | Iterable<SourceRow>,
  options: DataTaskOptions,
): Promise<DataTask> {
  const { name, title, description, reward, parts: ownParts = [], tools = [] } = options;
  const { toolChoice, parallelCalls } = options;
  const store = new RowStore<TaskData>();
  const close = async () => {
    store.close();
    await reward?.close();
  };
  try {
    const table = await readTable(source, store, options);
    const { has, rows, problems } = table;
    const parts = new Partition(table, options.shares ?? usualShares, options.splitSeed);
    const read = (row: DataTaskRow) => store.get(row.index);
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
      rows: (split, { seed } = {}) => parts.rows(split, seed),
      parseRow: (value) => knownRow(value, rows, name),
      problem: (row) => problems[row.index],
      prompt: (row) => read(row).prompt,
      start(row, seed, place = { prompt: 0, sample: 0 }) {
        const data = read(row);
        return (
          options.start?.(data, seed, grade(data, place)) ??
          oneTurnEpisode(row, (action) => grade(data, place)([{ action, replies: [] }], action.stopReason))
        );
      },
      ...(has.solution && { solution: (row: DataTaskRow) => required(read(row).solution, row) }),
      ...(has.example && { example: (row: DataTaskRow) => required(read(row).example, row) }),
      ...(has.preference && { preference: (row: DataTaskRow) => required(read(row).preference, row) }),
      reference: () => ({}),
      draw: (row) => (options.draw ?? drawRow)(read(row)),
      notes: options.notes ?? [],
      read,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A row of data as a task holds it. `id` must be the row's own. */
export function taskData(row: DataRow, id: string): TaskData {
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
    case "label":
      throw new HoneError(
        "unsupported-rows",
        "rows with a prompt, a completion and a label (KTO) train no method yet",
        {
          fix: "keep the rows whose label is true for SFT, or make pairs of chosen and rejected for DPO",
        },
      );
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

interface Table {
  rows: DataTaskRow[];
  problems: string[];
  /** By which rows stay together. */
  keys: string[];
  given: (Split | undefined)[];
  has: Record<"solution" | "example" | "preference" | "tools", boolean>;
}

async function readTable(
  source: AsyncIterable<SourceRow> | Iterable<SourceRow>,
  store: RowStore<TaskData>,
  { name, group, notes = [] }: DataTaskOptions,
): Promise<Table> {
  const table: Table = {
    rows: [],
    problems: [],
    keys: [],
    given: [],
    has: { solution: false, example: false, preference: false, tools: false },
  };
  const together = new KeyGroups();
  let kind: string | undefined;
  for await (const { data, part } of source) {
    const { id, ...content } = data;
    const rowKind = (["solution", "example", "preference"] as const).filter((what) => data[what] !== undefined).join();
    if (kind !== undefined && kind !== rowKind) {
      throw new HoneError("bad-rows", `row ${id} is of another kind than those before it`, {
        fix: "give prompts, conversations and pairs in files of their own",
      });
    }
    kind = rowKind;
    const what = data.prompt.length > 0 ? data.prompt : data.example;
    const prompt = contentHash(what);
    const problem = group === undefined ? prompt : groupOf(data, group);
    // The same prompt in two groups ties them together: otherwise its copy would cross.
    if (group !== undefined) together.join(`prompt ${prompt}`, `group ${problem}`);
    table.rows.push({ id, index: table.rows.length, hash: contentHash(content) });
    table.problems.push(problem);
    table.keys.push(group === undefined ? prompt : `group ${problem}`);
    table.given.push(part);
    table.has = {
      solution: data.solution !== undefined,
      example: data.example !== undefined,
      preference: data.preference !== undefined,
      tools: table.has.tools || data.tools !== undefined,
    };
    store.append(data);
  }
  if (table.rows.length === 0) {
    throw new HoneError(
      "no-rows",
      `task ${name} has no row that could be used${notes.map((note) => `: ${note}`).join("")}`,
      {
        fix: "`hone data check FILE` tells what is wrong with each row",
      },
    );
  }
  if (group !== undefined) table.keys = table.keys.map((key) => together.nameOf(key));
  return table;
}

/** Given parts are respected; a part that no file gives is dealt from the training rows. */
class Partition {
  readonly #table: Table;
  readonly #shares: SplitShares;
  readonly #ownSeed: Seed | undefined;
  #dealt: { seed: Seed; parts: Record<Split, DataTaskRow[]> } | undefined;

  constructor(table: Table, shares: SplitShares, ownSeed: Seed | undefined) {
    this.#table = table;
    this.#ownSeed = ownSeed;
    const gives = (part: Split) => table.given.includes(part);
    this.#shares = {
      heldOut: gives("held-out") ? 0 : shares.heldOut,
      validation: gives("validation") ? 0 : shares.validation,
    };
  }

  rows(split: Split, seed: Seed = usualSplitSeed): DataTaskRow[] {
    if (this.#dealt?.seed !== seed) this.#dealt = { seed, parts: this.#deal(seed) };
    return this.#dealt.parts[split];
  }

  #deal(seed: Seed): Record<Split, DataTaskRow[]> {
    const { rows, keys, given } = this.#table;
    const open = rows.filter(({ index }) => given[index] === undefined || given[index] === "train");
    const dealt = splitKeys(
      open.map(({ index }) => keys[index]),
      this.#shares,
      this.#ownSeed === undefined ? seed : `${this.#ownSeed}/${seed}`,
    );
    const parts: Record<Split, DataTaskRow[]> = { train: [], validation: [], "held-out": [] };
    for (const row of rows) {
      const fixed = given[row.index];
      const part = fixed === undefined || fixed === "train" ? dealt.get(keys[row.index]) : fixed;
      parts[part ?? "train"].push(row);
    }
    return parts;
  }
}

function groupOf({ id, columns }: TaskData, group: readonly string[]): string {
  const values = group.map((column) => {
    if (Object.hasOwn(columns, column)) return columns[column];
    throw new HoneError("no-such-column", `row ${id} has no column ${JSON.stringify(column)} to group by`, {
      fix: `its columns are ${Object.keys(columns).join(", ") || "none"}`,
    });
  });
  return values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(" / ");
}

function contentHash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}

function knownRow(value: unknown, rows: readonly DataTaskRow[], task: string): DataTaskRow {
  const id = typeof value === "object" && value !== null && "id" in value ? value.id : undefined;
  const found = rows.find((row) => row.id === id);
  if (found !== undefined) return found;
  throw new HoneError("bad-row", `task ${task} has no row ${JSON.stringify(id)}`, {
    fix: 'give {"id": …} of one of its rows',
  });
}

function required<T>(value: T | undefined, row: DataTaskRow): T {
  if (value === undefined) throw new Error(`row ${row.id} is of another kind`);
  return value;
}
