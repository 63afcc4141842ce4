/**
 * What a task (an environment) is: rows to show, a prompt for each, tools, and a reward for what the model did.
 *
 * A task is one small folder or file that exports a `Task` object and is listed in `tasks.ts`. Training, evaluation and
 * play all go through `prompt` and `score`, so what is trained is what is measured.
 */

import type { Split } from "../contract/eval.ts";
import type { Random, Seed } from "../contract/random.ts";

export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
}

/** A tool as chat templates take it (OpenAI's shape). */
export interface ToolDefinition {
  type: "function";
  function: { name: string; description: string; parameters: Record<string, unknown> };
}

/** Why an answer is no valid call, as the text layer finds it. */
export type CallProblem =
  "no_call" | "several_calls" | "wrong_tool" | "bad_argument" | "out_of_range" | "truncated" | "malformed";

/** An assistant's text taken apart by the text layer. */
export interface ParsedAssistant {
  content: string;
  reasoning: string;
  tool_calls: { name: string; arguments: Record<string, unknown> }[];
  problems: { code: CallProblem; message: string }[];
}

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
}

export interface TaskRow {
  id: string;
}

/** One named part of the reward. The reward is the sum of weight × value over all parts. */
export interface RewardPart {
  name: string;
  weight: number;
  description: string;
}

export interface Score {
  reward: number;
  /** Value of every reward part, before its weight. */
  parts: Record<string, number>;
  info: {
    /** One of the task's failure kinds; absent when the action was valid. */
    failure?: string;
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
  messages: Message[];
  done: boolean;
  score?: Score;
}

/** One run through a row. Single use: a second episode needs a second `start`. */
export interface Episode {
  /** What the model sees first. */
  messages: Message[];
  step(action: Action): Step;
}

export interface Task<Row extends TaskRow = TaskRow> {
  /** Kebab-case, as given to `--task`. */
  name: string;
  title: string;
  description: string;
  tools: ToolDefinition[];
  /** The tool that every answer must call; absent when the model may choose. */
  toolChoice?: string;
  rewardParts: RewardPart[];
  /** Every failure kind with its meaning, most basic first. */
  failures: Record<string, string>;
  /** Defaults: turns of the model, new tokens per turn, seconds per episode. */
  limits: { turns: number; tokens: number; seconds: number };
  /** All rows of a split, in a fixed order. */
  rows(split: Split, options?: { seed?: Seed }): Row[];
  /** Checks one object of a rows file. Throws `HoneError` `bad-row`. */
  parseRow(value: unknown): Row;
  /** Which problem a row poses. Rows of one problem stay in one split and are resampled together. */
  problem(row: Row): string;
  prompt(row: Row): Message[];
  score(answer: { row: Row } & Action): Score;
  /** Begins an episode; every random choice of the environment follows from the seed. */
  start(row: Row, seed: Seed): Episode;
  /** Mean rewards of known players on these rows: the lines to hold a model's score against. */
  reference(rows: readonly Row[]): Record<string, number>;
  draw(row: Row): string;
  /** A whole game, for tasks whose rows are moments of one. */
  game?: Game;
}

/** The episode of a task in which one answer is all. */
export function oneTurnEpisode<Row extends TaskRow>(task: Pick<Task<Row>, "prompt" | "score">, row: Row): Episode {
  let over = false;
  return {
    messages: task.prompt(row),
    step(action) {
      if (over) throw new Error(`the episode of row ${row.id} is over`);
      over = true;
      return { messages: [], done: true, score: task.score({ row, ...action }) };
    },
  };
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
  prompt(state: string): Message[];
  /** The model's move, or why it is none. */
  readMove(state: string, action: Action): { move: number } | { failure: string };
  /** Fixed opponents by name; each returns a legal move. */
  opponents: Record<string, (state: string, random: Random) => number>;
  /** How a side is shown to a model, in words, for the report. */
  sides: Record<Side, string>;
}
