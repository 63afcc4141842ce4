/** Calls about rewards: files of the library (and elsewhere, by path), and the reward lab. */

import { z } from "zod";
import type { ErrorData } from "../errors.ts";
import type { RewardPart, RewardTrial } from "../reward.ts";
import { call } from "./call.ts";
import type { TextFile } from "./task-calls.ts";

const path = z.string().min(1);

/** `parts`: JSON of built-in parts. `script`: TypeScript in the sandbox. `program`: Python, as a process. */
export type RewardKind = "parts" | "script" | "program";

export interface ListedReward {
  name: string;
  path: string;
  kind: RewardKind;
  /** Epoch milliseconds. */
  modified: number;
  /** Comes with Hone: it is copied before it is changed. */
  example: boolean;
  /** Parts of a JSON reward, and of a script its own; empty where they are known only when it runs. */
  parts: { name: string; weight: number }[];
  problem: string | null;
}

export interface RewardVersion {
  id: string;
  /** Epoch milliseconds. */
  saved: number;
  size: number;
}

/** An answer written by hand. */
export const handSampleSchema = z.object({
  prompt: z.string(),
  completion: z.string(),
  /** Columns of the row, such as the right answer. */
  row: z.record(z.string(), z.unknown()).default({}),
});
export type HandSample = z.infer<typeof handSampleSchema>;

/** What a reward is tried on. */
export const labSourceSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("run"), run: z.string().min(1), step: z.number().int().min(1).nullable() }),
  z.object({ kind: z.literal("file"), path }),
  z.object({ kind: z.literal("hand"), samples: z.array(handSampleSchema).min(1).max(200) }),
]);
export type LabSource = z.infer<typeof labSourceSchema>;

/** One sample under the reward as it is written now, and under the one that it is compared with. */
export interface LabSample {
  /** Its place among all samples. */
  index: number;
  step: number;
  prompt_index: number;
  row_id: string;
  prompt: string;
  completion: string;
  answer: string;
  reasoning: string;
  tool_calls: { name: string; arguments: Record<string, unknown>; result?: string | undefined }[];
  row: Record<string, unknown>;
  /** Null: it could not be scored, and `error` says why. */
  reward: number | null;
  parts: Record<string, number>;
  info: Record<string, unknown> | null;
  error: string | null;
  /** The reward that it is compared with; null where there is none. */
  before: number | null;
  before_parts: Record<string, number> | null;
}

/** An error in the text of a reward, at its place. */
export interface RewardFault {
  error: ErrorData;
  line: number | null;
  column: number | null;
}

export interface LabResult {
  /** Why nothing could be scored; the rest is then empty. */
  fault: RewardFault | null;
  trial: RewardTrial | null;
  /** The reward that it is compared with, on the same samples. */
  before: RewardTrial | null;
  /** What became of the edit. Null without a reward to compare with. */
  change: {
    /** Samples whose reward is another. */
    changed: number;
    higher: number;
    lower: number;
    /** Pairs of answers to the same prompt whose order is reversed, and all pairs that one of the two orders. */
    reversed_pairs: number;
    pairs: number;
  } | null;
  parts: RewardPart[];
  samples: LabSample[];
  /** Samples that the source has; more than `samples` where not all were taken. */
  available: number;
  /** Faults of single samples, by their place in the text. */
  sample_faults: RewardFault[];
}

/** What asking judges would cost. */
export interface LabCost {
  samples: number;
  judges: { name: string; model: string; url: string; local: boolean; calls: number; prompt_tokens: number }[];
}

export interface LabSources {
  /** Runs that kept answers, newest first, each with the steps of which it did. */
  runs: { run: string; task: string; steps: number[] }[];
  /** Answers that were drawn for the lab, newest first. */
  drawn: { name: string; path: string; samples: number; created: number }[];
}

/** The text of a reward that need not be saved. `path` says its kind, and what its paths are relative to. */
const draft = { path, text: z.string() };

export const rewardCalls = {
  "rewards.list": call<{ rewards: ListedReward[]; folder: string }>()(z.object({})),
  "rewards.read": call<TextFile & { kind: RewardKind; example: boolean; history: RewardVersion[] }>()(
    z.object({ path }),
  ),
  /** Writes a new reward into the library: `text`, or something that works at once. */
  "rewards.create": call<TextFile>()(
    z.object({
      name: z.string(),
      kind: z.enum(["parts", "script", "program"]),
      text: z.string().nullable().default(null),
    }),
  ),
  /** Keeps the text that it takes the place of. Throws `file-changed` when the file is no longer what `version` says. */
  "rewards.save": call<TextFile & { history: RewardVersion[] }>()(z.object({ ...draft, version: z.string() })),
  "rewards.version": call<{ text: string }>()(z.object({ path, id: z.string().min(1) })),
  "rewards.rename": call<TextFile>()(z.object({ path, name: z.string() })),
  "rewards.delete": call<null>()(z.object({ path })),
  "rewards.sources": call<LabSources>()(z.object({})),
  /** Scores samples with the text as it stands. `compare`: another text of the same reward, or what the run paid. */
  "rewards.try": call<LabResult>()(
    z.object({
      ...draft,
      source: labSourceSchema,
      compare: z
        .discriminatedUnion("kind", [
          z.object({ kind: z.literal("text"), text: z.string() }),
          z.object({ kind: z.literal("stored") }),
        ])
        .nullable()
        .default(null),
      /** Samples that are taken at most, whole groups evenly over the steps. */
      limit: z.number().int().min(1).max(5000).default(400),
      /** Judges and services of this machine's user are asked, which may cost. */
      judges: z.boolean().default(false),
    }),
  ),
  "rewards.cost": call<LabCost>()(
    z.object({ ...draft, source: labSourceSchema, limit: z.number().int().min(1).max(5000).default(400) }),
  ),
  /** Draws answers of a model to rows of a task. A job's id; its result is `{path}`, a source of the lab. */
  "rewards.draw": call<{ job: string }>()(
    z.object({
      model: z.string().min(1),
      task: z.string().min(1),
      rows: z.number().int().min(1).max(200).default(8),
      samples: z.number().int().min(1).max(32).default(4),
      temperature: z.number().min(0).max(2).default(1),
      seed: z.number().int().min(0).default(42),
    }),
  ),
  "rewards.delete_drawn": call<null>()(z.object({ path })),
};
