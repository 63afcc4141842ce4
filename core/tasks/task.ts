/**
 * What a task (an environment) is: rows to show, a prompt for each, tools, and a reward for what the model did.
 *
 * A task is one small folder or file that exports a `Task` object and is listed in `tasks.ts`; a user's own task is a
 * folder with a task file, or a data file with a reward. Training, evaluation and play all go through `prompt` and
 * `start`, so what is trained is what is measured.
 */

import type { ChatMessage, ToolDefinition } from "../contract/chat.ts";
import type { FailureGroup, Split } from "../contract/eval.ts";
import type { Random, Seed } from "../contract/random.ts";
import type { RewardPart, RewardUsage } from "../contract/reward.ts";
import type { ParsedAssistant } from "../text/parse-assistant.ts";

/** Why generation ended; one list for every sample and turn. */
export type StopReason =
  | "eos"
  | "stop_sequence"
  | "tool_call"
  | "length"
  | "context_full"
  | "terminal"
  | "max_turns"
  | "timeout"
  | "cancelled"
  | "error";

/** What the model did in one turn. */
export interface Action {
  text: string;
  parsed: ParsedAssistant;
  stopReason: StopReason;
  /** Ids as they were drawn, where they are known. */
  tokens?: Int32Array;
  /** Natural logs at temperature 1, one per token. */
  logprobs?: Float32Array;
}

export interface TaskRow {
  id: string;
}

export interface Score {
  reward: number;
  /** Value of every reward part, before its weight. */
  parts: Record<string, number>;
  info: {
    /** One of the task's failure kinds; absent when nothing went wrong. */
    failure?: string;
    /** Which basic kind of error it was. Default: that of `failure`. */
    fault?: FailureGroup;
    /** What was chosen, as the user would name it (tic-tac-toe: the square). */
    choice?: string;
    /** The same choice seen from the problem's standard view, so that choices on mirrored rows can be compared. */
    problemChoice?: string;
    /** Named yes/no results, for the rates of an evaluation. A name is absent where the question does not arise. */
    outcomes: Record<string, boolean>;
  };
}

/** What the environment answers to an action. `score` comes with `done`. */
export interface Step {
  /** Tool results and other messages that the model sees before its next turn. */
  messages: ChatMessage[];
  done: boolean;
  score?: Score;
}

/** Where an episode stands among those that are played together: its prompt, and its sample of that prompt. */
export interface SamplePlace {
  prompt: number;
  sample: number;
}

/** One run through a row. Single use: a second episode needs a second `start`. */
export interface Episode {
  /** A thrown `EnvironmentError` is the environment's fault: the episode counts for nothing. */
  step(action: Action): Step | Promise<Step>;
  /** What it is worth where it stands, when a limit (`max_turns`, `context_full`, `timeout`) ends it from outside. */
  end(reason: StopReason): Score | Promise<Score>;
}

/** The environment failed (a tool timed out, a service is away), not the model. */
export class EnvironmentError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "EnvironmentError";
  }
}

/** A failure kind: what it means, and which of the four basic kinds of error it is. */
export interface FailureKind {
  meaning: string;
  group: FailureGroup;
}

/** A row is of use for its prompt (to be answered), its right answer (to be imitated), its pair (to be preferred). */
export type RowUse = "prompt" | "solution" | "preference";

export interface Task<Row extends TaskRow = TaskRow> {
  /** Kebab-case, as given to `--task`. */
  name: string;
  title: string;
  description: string;
  /** What a row is, in one word for reports (tic-tac-toe: `board`). Default `row`. */
  rowName?: string;
  tools: ToolDefinition[];
  /** The tools of one row, where rows have tools of their own; `tools` is empty then. Ask `toolsOf`. */
  toolsFor?(row: Row): ToolDefinition[];
  /** The tool that every answer must call; absent when the model may choose. */
  toolChoice?: string;
  /** Several calls in one turn are allowed. Default false: then none of them counts. */
  parallelCalls?: boolean;
  /** Empty when there is no reward: then the task serves SFT and DPO only. */
  rewardParts: RewardPart[];
  /** Every failure kind, most basic first. */
  failures: Record<string, FailureKind>;
  /** Every named yes/no result with its label for reports, the most telling first. */
  outcomes: Record<string, string>;
  /** Defaults: turns of the model, new tokens per turn, seconds per episode. */
  limits: { turns: number; tokens: number; seconds: number };
  /** All rows of a split, in a fixed order. */
  rows(split: Split, options?: { seed?: Seed }): Row[];
  /** Checks one object of a rows file. Throws `HoneError` `bad-row`. */
  parseRow(value: unknown): Row;
  /** Which problem a row poses. Rows of one problem stay in one split and are resampled together. */
  problem(row: Row): string;
  /** What the model sees first. */
  prompt(row: Row): ChatMessage[];
  /** Begins an episode; every random choice of the environment follows from the seed. `place`: only to be told to a reward. */
  start(row: Row, seed: Seed, place?: SamplePlace): Episode;
  /** A right answer to the prompt (all messages up to the end, tool results included), for SFT. */
  solution?(row: Row): ChatMessage[] | undefined;
  /** What SFT learns from this row when that is not `solution` as the answer to `prompt`. It takes `solution`'s place. */
  example?(row: Row): Example | undefined;
  /** A better and a worse answer to the prompt, for DPO. */
  preference?(row: Row): { chosen: ChatMessage[]; rejected: ChatMessage[] } | undefined;
  /** Where rows are of several kinds: what this one is of use for. Ask `rowsFor`. */
  holds?(row: Row, use: RowUse): boolean;
  /** Mean rewards of known players on these rows: the lines to hold a model's score against. */
  reference(rows: readonly Row[]): Record<string, number>;
  draw(row: Row): string;
  /** What a user should know about the rows, such as how many were set aside and why. */
  notes?: readonly string[];
  /** A whole game, for tasks whose rows are moments of one. */
  game?: Game;
  /** What the judges of its reward cost so far; undefined when it has none. */
  usage?(): RewardUsage | undefined;
  /** Ends what the task has started (reward processes, sandboxes). */
  close?(): Promise<void>;
}

/**
 * A row to imitate that is no prompt with one answer. What of it is trained unless the user says otherwise (`loss_mask`):
 * - a conversation, in which the model speaks more than once: every turn of the assistant (`assistant_all`);
 * - plain text: every token, and the end of the text;
 * - token ids, as they are: those whose `loss_mask` is 1.
 */
export type Example = { messages: ChatMessage[] } | { text: string } | { tokens: number[]; loss_mask: number[] };

/** The rows that are of this use; all of them where a task's rows are of one kind. */
export function rowsFor<Row extends TaskRow>(task: Pick<Task<Row>, "holds">, rows: readonly Row[], use: RowUse): Row[] {
  return rows.filter((row) => task.holds?.(row, use) ?? true);
}

/** What the model may call on this row. */
export function toolsOf<Row extends TaskRow>(task: Pick<Task<Row>, "tools" | "toolsFor">, row: Row): ToolDefinition[] {
  return task.toolsFor?.(row) ?? task.tools;
}

/** Reward and parts from the values of some parts; a part that is not named is worth 0. */
export function weigh(rewardParts: readonly RewardPart[], values: Readonly<Record<string, number>>) {
  const parts = Object.fromEntries(rewardParts.map(({ name }) => [name, values[name] ?? 0]));
  return { reward: rewardParts.reduce((sum, { name, weight }) => sum + weight * parts[name], 0), parts };
}

/** The episode of a task in which one answer is all. */
export function oneTurnEpisode(row: TaskRow, score: (action: Action) => Score | Promise<Score>): Episode {
  let over = false;
  const once = async (action: Action): Promise<Step> => ({ messages: [], done: true, score: await score(action) });
  return {
    step(action) {
      if (over) throw new Error(`the episode of row ${row.id} is over`);
      over = true;
      return once(action);
    },
    end: (reason) => score(textAction("", reason)),
  };
}

/** An answer that is nothing but text. */
export function textAction(text: string, stopReason: StopReason = "eos"): Action {
  return { text, parsed: { content: text, reasoning: "", tool_calls: [], problems: [] }, stopReason };
}

/** The first player of a game is `x`. */
export type Side = "x" | "o";

/** A two-player game with full sight, whose states are strings. */
export interface Game {
  start: string;
  toMove(state: string): Side;
  result(state: string): Side | "draw" | undefined;
  /** The state after a legal move. */
  play(state: string, move: number): string;
  /** What a model sees when it is to move, whichever side it plays. */
  prompt(state: string): ChatMessage[];
  /** The model's move, or why it is none. */
  readMove(state: string, action: Action): { move: number } | { failure: string };
  /** Fixed opponents by name; each returns a legal move. */
  opponents: Record<string, (state: string, random: Random) => number>;
  /** How a side is shown to a model, in words, for the report. */
  sides: Record<Side, string>;
}
