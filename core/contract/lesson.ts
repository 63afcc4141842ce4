/** A lesson: a data file that leads through the loop. Every step asks the person to do something real. */

import { z } from "zod";
import { runConfigInputSchema } from "./config.ts";

/** The same text in each language of the interface; English stands in where the other is missing. */
const textSchema = z.object({ en: z.string().min(1), zh: z.string().min(1).optional() });
export type LessonText = z.infer<typeof textSchema>;

/** Asked before something is done; the answer is shown beside what really came out. */
const questionSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("choice"),
    prompt: textSchema,
    options: z.array(textSchema).min(2).max(5),
    /** What is said afterwards, whatever was chosen. */
    reveal: textSchema,
  }),
  z.object({
    kind: z.literal("number"),
    prompt: textSchema,
    least: z.number(),
    most: z.number(),
    step: z.number().positive(),
    reveal: textSchema,
  }),
]);
export type LessonQuestion = z.infer<typeof questionSchema>;

const common = {
  id: z.string().regex(/^[a-z0-9-]+$/),
  title: textSchema,
  /** Markdown. */
  text: textSchema,
  question: questionSchema.optional(),
};

const who = z.enum(["base", "trained"]);

export const lessonStepSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("read"), ...common }),
  /** A game against the model, on the board. */
  z.strictObject({ kind: z.literal("play"), ...common, model: who }),
  /** The model on held-out rows; the second measurement is shown beside the first. */
  z.strictObject({
    kind: z.literal("measure"),
    ...common,
    model: who,
    /** Rows that are measured; absent: all. */
    limit: z.number().int().min(1).optional(),
    /** Games for each side and opponent. */
    games: z.number().int().min(0).default(0),
  }),
  /** The text of a reward, to be changed and tried on answers of the model. */
  z.strictObject({ kind: z.literal("reward"), ...common, reward: z.string().min(1) }),
  z.strictObject({ kind: z.literal("train"), ...common, config: runConfigInputSchema }),
  /** Where to go from here. */
  z.strictObject({ kind: z.literal("finish"), ...common }),
]);
export type LessonStep = z.infer<typeof lessonStepSchema>;

export const lessonSchema = z.strictObject({
  /** Of the shape of this file. */
  version: z.literal(1),
  id: z.string().regex(/^[a-z0-9-]+$/),
  title: textSchema,
  description: textSchema,
  /** How long it usually takes. */
  minutes: z.number().positive(),
  model: z.string().min(1),
  task: z.string().min(1),
  steps: z.array(lessonStepSchema).min(1),
});
export type Lesson = z.infer<typeof lessonSchema>;

/** How far a person is. */
export const lessonProgressSchema = z.object({
  lesson: z.string(),
  /** Id of the step that is shown. */
  step: z.string(),
  done: z.array(z.string()),
  /** By step: the option's number, or the number that was guessed. */
  predictions: z.record(z.string(), z.number()),
  /** What the steps made: evaluations by step, the reward as it was left, the run. */
  evaluations: z.record(z.string(), z.string()),
  reward: z.string().nullable(),
  /** Answers of the model that the reward is tried on: a file of the reward lab. */
  answers: z.string().nullable(),
  job: z.string().nullable(),
  run: z.string().nullable(),
  finished: z.boolean(),
});
export type LessonProgress = z.infer<typeof lessonProgressSchema>;
