/** What the command line prints with `--json`: one document per command, in these shapes. */

import { z } from "zod";
import { runConfigInputSchema } from "./config.ts";
import { controlChangeSchema, evalChangeSchema, evalOutputSchema } from "./eval.ts";
import { rewardUsageSchema } from "./reward.ts";
import { checkpointLineSchema, metricsRowSchema, runEventSchema } from "./run.ts";

const count = z.number().int().min(0);

/** On stderr when a command fails. */
export const errorOutputSchema = z.object({
  error: z.object({ code: z.string(), message: z.string(), fix: z.string().nullable() }),
});

/** `hone score`. Index t of `logprobs` and `entropy` is about token t + 1 given all before it, so both are one shorter. */
export const scoreOutputSchema = z.object({
  tokens: z.array(count),
  logprobs: z.array(z.number()),
  entropy: z.array(z.number()),
});
export type ScoreOutput = z.infer<typeof scoreOutputSchema>;

/** `hone template render`. `trained` marks the tokens that a loss would use. */
export const renderOutputSchema = z.object({
  text: z.string(),
  ids: z.array(count),
  trained: z.array(z.boolean()),
});

/** `hone template parse`. */
export const parseOutputSchema = z.object({
  content: z.string(),
  reasoning: z.string(),
  tool_calls: z.array(z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) })),
  problems: z.array(z.object({ code: z.string(), message: z.string() })),
});

/** `hone demo`. */
export const demoOutputSchema = z.object({
  before: evalOutputSchema,
  after: evalOutputSchema,
  /** After minus before on the same rows and the same control, with 95 % intervals. */
  change: evalChangeSchema.extend({ control: controlChangeSchema.nullable() }),
  /** What the change says, in words. */
  verdict: z.array(z.string()),
  train: z.object({
    steps: count,
    rollouts: count,
    tokens: count,
    seconds: z.number(),
    peak_rss_bytes: count,
  }),
  /** Path of the run folder. */
  run: z.string(),
  /** Path of the report page. */
  report: z.string(),
});
export type DemoOutput = z.infer<typeof demoOutputSchema>;

/** `hone train` and `hone resume`. */
export const trainOutputSchema = z.object({
  run: z.string(),
  finished: z.boolean(),
  steps: count,
  rollouts: count,
  tokens: count,
  seconds: z.number(),
  peak_rss_bytes: count,
  best: z.object({ step: count, metric: z.string(), value: z.number() }).nullable(),
  /** Cost of the reward's judges since the run was begun or taken up again; null where there are none. */
  judge: rewardUsageSchema.nullable(),
});

/** `hone train --dry-run`. */
export const runPlanSchema = z.object({
  /** The options that the run goes by. */
  config: runConfigInputSchema,
  model: z.object({
    name: z.string(),
    architecture: z.string(),
    parameters: count,
    trainable_parameters: count,
    dtype: z.string(),
  }),
  rows: z.object({ train: count, validation: count, held_out: count }),
  steps: count,
  epochs: z.number(),
  /** Rows, pairs or prompts in one step. */
  rows_per_step: count,
  /** Null where nothing is sampled. */
  answers_per_step: count.nullable(),
  optimizer_steps: count,
  /** Prompts once, and answers: as long as they are now, and at their limit. */
  tokens_per_step: z.object({ now: count, most: count }),
  /** At the highest point, by use. Activations and sampling take turns: `total` counts the larger of the two. */
  memory_bytes: z.object({
    weights: count,
    gradients: count,
    optimizer: count,
    activations: count,
    kv_cache: count,
    /** A second copy of the model, where a KL term needs one. */
    reference: count,
    /** Hone itself, before a model is opened. */
    program: count,
    total: count,
  }),
  disk_bytes: z.number(),
  disk_free_bytes: z.number(),
  /** From a short measurement on this machine, with answers as they are now, and (`most_per_step`) at their limit. */
  seconds: z.object({ per_step: z.number(), most_per_step: z.number(), evaluation: z.number(), total: z.number() }),
  notes: z.array(z.string()),
});
export type RunPlan = z.infer<typeof runPlanSchema>;

/** `hone ls`: one entry per run, newest first. */
export const runSummarySchema = z.object({
  name: z.string(),
  path: z.string(),
  created: z.string(),
  task: z.string(),
  model: z.string(),
  method: z.string(),
  finetuning_type: z.string(),
  step: count,
  total_steps: count,
  /** Of the last step; null where nothing is rewarded. */
  reward: z.number().nullable(),
  loss: z.number().nullable(),
  best: z.object({ step: count, metric: z.string(), value: z.number() }).nullable(),
  checkpoints: z.array(count),
});
export type RunSummary = z.infer<typeof runSummarySchema>;
export const listOutputSchema = z.object({ runs: z.array(runSummarySchema) });

/** `hone show`. */
export const showOutputSchema = runSummarySchema.extend({
  config: runConfigInputSchema,
  metrics: z.array(metricsRowSchema),
  checkpoint_index: z.array(checkpointLineSchema),
  events: z.array(runEventSchema),
});

/** `hone chat` with a message on stdin or `--prompt`. */
export const chatOutputSchema = z.object({
  content: z.string(),
  reasoning: z.string(),
  tool_calls: parseOutputSchema.shape.tool_calls,
  finish_reason: z.enum(["stop", "length", "tool_calls"]),
  usage: z.object({ prompt_tokens: count, completion_tokens: count, total_tokens: count }),
});

/** `hone play`, from the player's point of view. */
export const playOutputSchema = z.object({
  model: z.string(),
  games: z.array(
    z.object({
      /** The player's. */
      side: z.enum(["x", "o"]),
      /** Null when the player left. */
      result: z.enum(["win", "draw", "loss"]).nullable(),
      /** Why the model lost without playing on: an illegal move or a missing call. */
      failure: z.string().nullable(),
      /** Squares of both sides in order. */
      moves: z.array(count),
    }),
  ),
});
export type PlayedGame = z.infer<typeof playOutputSchema>["games"][number];

/** `hone starter`. */
export const starterOutputSchema = z.object({
  path: z.string(),
  steps: count,
  /** Mean negative log-prob of a trained token in the last step. */
  loss: z.number(),
  seconds: z.number(),
});

/** `hone devices`. */
export const devicesOutputSchema = z.object({
  devices: z.array(
    z.object({
      name: z.string(),
      kind: z.enum(["cpu", "gpu"]),
      memory_total: z.number(),
      memory_free: z.number(),
      threads: count,
      simd: z.string(),
      note: z.string(),
    }),
  ),
});

/** `hone bench`. */
export const benchOutputSchema = z.object({
  machine: z.record(z.string(), z.unknown()),
  results: z.array(
    z.object({
      name: z.string(),
      value: z.number(),
      unit: z.string(),
      higher_is_better: z.boolean(),
      /** Of the time of a training step. */
      shares: z.object({ rollout: z.number(), reward: z.number(), training: z.number() }).optional(),
    }),
  ),
});
