/** Calls about tasks: those that come with Hone, and folders with a `task.json`. A task is called by its name or its path. */

import { z } from "zod";
import type { ChatMessage, ToolDefinition } from "../chat.ts";
import { splits, type FailureGroup, type Split } from "../eval.ts";
import type { RewardPart } from "../reward.ts";
import type { TaskCheck, TaskList } from "../task.ts";
import { call } from "./call.ts";

const task = z.string().min(1);
const file = z.string().min(1);

/** What its rows look like, for the drawing of the task. */
export type TaskPicture = "board" | "tool_call" | "json" | "page" | "list" | "flow" | "text";

export interface ListedTask extends Omit<TaskList["tasks"][number], "turns"> {
  /** As `--task` and every call take it. */
  reference: string;
  picture: TaskPicture;
  /** `library`: a folder in Hone's own folder. `opened`: a folder elsewhere that was opened. */
  place: "built-in" | "library" | "opened";
}

export interface TaskDetails {
  reference: string;
  name: string;
  title: string;
  description: string;
  /** Its folder; null for a task that comes with Hone. */
  path: string | null;
  picture: TaskPicture;
  methods: TaskCheck["methods"];
  rows: Record<Split, number>;
  problems: number;
  limits: { turns: number; tokens: number; seconds: number };
  reward_parts: RewardPart[];
  /** Its reward file, where it has one that can be edited. */
  reward_file: string | null;
  tools: ToolDefinition[];
  failures: { name: string; meaning: string; group: FailureGroup }[];
  /** Named yes/no results that are measured, most telling first. */
  outcomes: { name: string; label: string }[];
  /** Whole games can be played on it. */
  game: boolean;
  /** Mean rewards of known players on the held-out rows. */
  reference_players: Record<string, number>;
  notes: string[];
}

export interface TaskRowView {
  id: string;
  problem: string;
  prompt: ChatMessage[];
  tools: ToolDefinition[];
  solution: ChatMessage[] | null;
  preference: { chosen: ChatMessage[]; rejected: ChatMessage[] } | null;
  /** The row as text for people. */
  drawing: string;
  /** A tic-tac-toe board: nine characters, row by row, `X`, `O` or `.`. */
  board: string | null;
}

/** A text file of a task or a reward, as an editor takes it. */
export interface TextFile {
  path: string;
  text: string;
  /** Of what stands in the file; a file that another program has changed since has another one. */
  version: string;
}

export interface FileEntry {
  /** Within the folder, with `/`. */
  name: string;
  size: number;
  /** A text that is small enough to edit. */
  editable: boolean;
}

export const taskTemplateNames = ["qa", "extraction", "agent", "data"] as const;

/** What a data file has, to make a task of it. */
export interface DataColumns {
  rows: number;
  columns: { name: string; sample: string }[];
  /** The rows have a prompt of their own. */
  has_prompt: boolean;
}

export const taskCalls = {
  "tasks.list": call<{ tasks: ListedTask[] }>()(z.object({})),
  /** Opens a task, which may run its own scripts (in a sandbox). Throws what is wrong with its folder. */
  "tasks.read": call<TaskDetails>()(z.object({ task })),
  "tasks.rows": call<{ rows: TaskRowView[]; total: number }>()(
    z.object({
      task,
      split: z.enum(splits).default("train"),
      offset: z.number().int().min(0).default(0),
      limit: z.number().int().min(1).max(100).default(20),
    }),
  ),
  /** What is wrong with a task. A folder that cannot be opened is told as a finding too. */
  "tasks.check": call<TaskCheck>()(z.object({ task })),
  /** The same with a model's own tokens; answers with a job's id, whose result is a `TaskCheck`. */
  "tasks.check_with_model": call<{ job: string }>()(z.object({ task, model: z.string().min(1) })),
  /** `data`: the file or dataset of the template `data`; it is copied into the folder. */
  "tasks.create": call<{ reference: string; path: string; files: string[] }>()(
    z.object({
      name: z.string(),
      template: z.enum(taskTemplateNames),
      /** The folder in which the task's own folder is made. Default: Hone's library. */
      folder: z.string().nullable().default(null),
      data: z
        .object({
          source: z.string().min(1),
          /** `{{column}}` is filled in; null where the rows have a prompt. */
          prompt: z.string().min(1).nullable().default(null),
          /** Column with the right answer; null: there is none. */
          answer: z.string().min(1).nullable().default(null),
        })
        .nullable()
        .default(null),
    }),
  ),
  /** What columns a data file or dataset has. */
  "tasks.columns": call<DataColumns>()(z.object({ source: z.string().min(1) })),
  /** Puts a folder with a `task.json` on the list, wherever it is. */
  "tasks.open": call<{ reference: string }>()(z.object({ path: z.string().min(1) })),
  /** Takes an opened folder off the list, and deletes one of the library. */
  "tasks.remove": call<null>()(z.object({ task })),
  "tasks.files": call<{ folder: string; files: FileEntry[] }>()(z.object({ task })),
  "tasks.read_file": call<TextFile>()(z.object({ task, file })),
  /** Throws `file-changed` when the file is no longer what `version` says. `version` null: the file is new. */
  "tasks.write_file": call<TextFile>()(z.object({ task, file, text: z.string(), version: z.string().nullable() })),
  "tasks.delete_file": call<null>()(z.object({ task, file })),
  /** Should this be trained? Answers with a job's id, whose result is an `Advice`. */
  "tasks.advise": call<{ job: string }>()(
    z.object({
      task,
      /** A baseline is measured with it; null: none. */
      model: z.string().min(1).nullable().default(null),
      rows: z.number().int().min(4).max(500).default(32),
    }),
  ),
};
