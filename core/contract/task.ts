/** A task of one's own: the `task.json` of its folder, and what `hone task` prints with `--json`. */

import { z } from "zod";
import { chatMessageSchema, toolSchema } from "./chat.ts";
import { failureGroupNames, splits } from "./eval.ts";
import type { RewardFile } from "./reward.ts";

export const taskFileName = "task.json";

const text = z.string().min(1);
const column = text;
const share = z.number().min(0).lt(1);

/** `{{column}}` and `{{column.field}}` are filled in, as they stand; nothing is computed. */
const messages = z
  .array(
    z.looseObject({
      role: z.enum(["system", "developer", "user", "assistant", "tool"]),
    }),
  )
  .min(1);

/** A text is one message: the user's in a prompt, the assistant's elsewhere. */
const template = z.union([text, messages], { error: 'a text, or a list of messages {"role", "content"}' });

/** Paths are relative to the folder. One of `data`, `rows` and `generator` gives the rows. */
export const taskFileSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, "a name has small letters, digits and - only, such as my-task"),
  title: text.optional(),
  description: z.string().default(""),
  /** A data file or folder; with a `prompt` its records may have any columns. */
  data: text.optional(),
  rows: z.array(z.record(z.string(), z.unknown())).min(1).optional(),
  /** A script with `export function rows(count, seed)` that returns a list of objects. */
  generator: z
    .strictObject({ file: text, count: z.number().int().min(1), seed: z.number().int().min(0).default(0) })
    .optional(),
  /** Absent: the rows have a prompt themselves. */
  prompt: template.optional(),
  tools: z.array(toolSchema).default([]),
  /** The tool that every answer must call. */
  tool_choice: text.optional(),
  parallel_calls: z.boolean().optional(),
  limits: z
    .strictObject({
      turns: z.number().int().min(1),
      tokens: z.number().int().min(1),
      seconds: z.number().positive(),
    })
    .partial()
    .default({}),
  /** A reward file, or what stands in one. */
  reward: z
    .union([text, z.looseObject({ parts: z.array(z.unknown()) }) as unknown as z.ZodType<RewardFile>], {
      error: 'the path of a reward file, or {"parts": […]}',
    })
    .optional(),
  /** The parts that the environment's score names, from 0 to 1 each. Absent: its score is one number. */
  parts: z
    .record(text, z.strictObject({ weight: z.number().default(1), description: z.string().default("") }))
    .optional(),
  /** A script with `start(row, seed)`, `step(state, action)` and, if you like, `end(state, reason)` and `solve(row)`. */
  environment: text.optional(),
  /** Most basic first. With `part` it happened when that part is worth less than `below`; otherwise a script names it. */
  failures: z
    .record(
      text,
      z.strictObject({
        meaning: text,
        group: z.enum(failureGroupNames),
        part: text.optional(),
        below: z.number().optional(),
      }),
    )
    .default({}),
  split: z
    .strictObject({
      seed: z.number().int().min(0),
      /** Rows with equal values of these columns stay together. */
      group: z.union([column, z.array(column).min(1)]),
      held_out: share,
      validation: share,
    })
    .partial()
    .default({}),
  /** The row for people. */
  draw: text.optional(),
  /** A right answer. */
  solution: template.optional(),
  preference: z.strictObject({ chosen: template, rejected: template }).optional(),
});
export type TaskFile = z.infer<typeof taskFileSchema>;

export const severities = ["error", "warning", "note"] as const;
export type Severity = (typeof severities)[number];

/** What a check found. */
export const taskFindingSchema = z.object({
  /** Kebab-case, stable. */
  code: z.string(),
  severity: z.enum(severities),
  message: z.string(),
  /** The way out. */
  fix: z.string(),
});
export type TaskFinding = z.infer<typeof taskFindingSchema>;

const count = z.number().int().min(0);

/** `hone task check`. */
export const taskCheckOutputSchema = z.object({
  task: z.string(),
  /** No finding is an error. */
  ok: z.boolean(),
  rows: z.record(z.enum(splits), count),
  /** Different problems in all parts. */
  problems: count,
  methods: z.array(z.enum(["sft", "dpo", "rl"])),
  /** Every part of the reward with the least and the greatest value that was met. */
  reward_parts: z.array(
    z.object({
      name: z.string(),
      weight: z.number(),
      description: z.string(),
      least: z.number().nullable(),
      greatest: z.number().nullable(),
    }),
  ),
  /** Mean reward of each kind of answer that was tried; null where the task has none. */
  rewards: z.object({
    solution: z.number().nullable(),
    rejected: z.number().nullable(),
    empty: z.number().nullable(),
    mutated: z.number().nullable(),
  }),
  prompt_length: z.object({ unit: z.enum(["tokens", "characters"]), mean: z.number(), max: count }),
  findings: z.array(taskFindingSchema),
});
export type TaskCheck = z.infer<typeof taskCheckOutputSchema>;

/** `hone task ls`. */
export const taskListOutputSchema = z.object({
  tasks: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      /** Null for a task that comes with Hone. */
      path: z.string().nullable(),
      description: z.string(),
      turns: count.nullable(),
      /** Why a folder cannot be opened. */
      problem: z.string().nullable(),
    }),
  ),
});
export type TaskList = z.infer<typeof taskListOutputSchema>;

/** `hone task show`. */
export const taskShowOutputSchema = z.object({
  name: z.string(),
  title: z.string(),
  description: z.string(),
  rows: z.record(z.enum(splits), count),
  limits: z.object({ turns: count, tokens: count, seconds: z.number() }),
  reward_parts: z.array(z.object({ name: z.string(), weight: z.number(), description: z.string() })),
  failures: z.record(z.string(), z.object({ meaning: z.string(), group: z.enum(failureGroupNames) })),
  row: z.object({
    id: z.string(),
    split: z.enum(splits),
    problem: z.string(),
    prompt: z.array(chatMessageSchema),
    tools: z.array(toolSchema),
    solution: z.array(chatMessageSchema).nullable(),
    drawing: z.string(),
  }),
});

/** `hone task new`. */
export const taskNewOutputSchema = z.object({ name: z.string(), path: z.string(), files: z.array(z.string()) });
