/** The files of a run folder. Everything in it is plain JSON, JSON Lines or safetensors, readable without Hone. */

import { z } from "zod";
import { chatMessageSchema } from "./chat.ts";

/** Names of files and folders inside a run folder. */
export const runFiles = {
  config: "config.json",
  metrics: "metrics.jsonl",
  checkpointIndex: "checkpoints.jsonl",
  checkpoints: "checkpoints",
  rollouts: "rollouts",
  evaluations: "eval",
  logs: "logs",
  events: "logs/events.jsonl",
  reference: "reference.jsonl",
  droppedMetrics: "logs/dropped-metrics.jsonl",
} as const;

/** `manifest.json` of a checkpoint: written last, so a folder with a valid one is whole. */
export const manifestSchema = z.object({
  version: z.literal(1),
  files: z.array(
    z.object({ path: z.string().min(1), size: z.number().int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  ),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** What made a run, beside its options: under `record` in `config.json`. */
export const runRecordSchema = z.object({
  hone_version: z.string(),
  engine_version: z.string(),
  created: z.iso.datetime(),
  /** The exact command, or what called Hone instead. */
  command: z.array(z.string()),
  model: z.object({
    path: z.string(),
    architecture: z.string(),
    parameters: z.number().int(),
    trainable_parameters: z.number().int(),
    sha256: z.string(),
  }),
  data: z.object({
    task: z.string(),
    split_seed: z.number().int(),
    train: z.number().int(),
    validation: z.number().int(),
    held_out: z.number().int(),
    /** SHA-256 over the training rows as JSON lines. */
    train_sha256: z.string(),
  }),
  total_steps: z.number().int(),
});
export type RunRecord = z.infer<typeof runRecordSchema>;

/** One line of `metrics.jsonl` for one step; step 0 holds what was measured before training. Absent is not zero. */
export const metricsRowSchema = z.object({ step: z.number().int().min(0), time: z.number() }).catchall(z.number());
export type MetricsRow = z.infer<typeof metricsRowSchema>;

/** A line of `metrics.jsonl` that marks where a run was taken up again. */
export const seamSchema = z.object({
  event: z.literal("resume"),
  /** The last step before the seam. */
  step: z.number().int().min(0),
  time: z.number(),
  /** Steps that were measured before the stop but not saved; their rows stand in `logs/dropped-metrics.jsonl`. */
  dropped_steps: z.array(z.number().int()),
});
export type Seam = z.infer<typeof seamSchema>;

/** One line of `checkpoints.jsonl`. */
export const checkpointLineSchema = z.object({
  step: z.number().int().min(0),
  /** Relative to the run folder, with `/`. */
  path: z.string().min(1),
  time: z.number(),
  /** Evaluation metrics of that step, if there were any. */
  eval: z.record(z.string(), z.number()),
  /** Hash of the manifest's lines. */
  sha256: z.string(),
});
export type CheckpointLine = z.infer<typeof checkpointLineSchema>;

/** `trainer_state.json` of a checkpoint: everything that is not a tensor and is needed to go on exactly. */
export const trainerStateSchema = z.object({
  version: z.literal(1),
  /** Batches done: of rollouts, rows or pairs. */
  step: z.number().int().min(0),
  /** Optimizer steps done. */
  global_step: z.number().int().min(0),
  total_steps: z.number().int().min(1),
  epoch: z.number(),
  num_tokens: z.number(),
  num_rollouts: z.number(),
  /** Sampling, updating and evaluating, over all parts of the run. */
  seconds: z.number(),
  /** Where in the shuffled training rows the next step begins. */
  data_cursor: z.object({ epoch: z.number().int().min(0), index: z.number().int().min(0), seed: z.number().int() }),
  nonfinite_in_a_row: z.number().int().min(0),
  /** Evaluations since the last one that was better than all before. */
  evaluations_without_better: z.number().int().min(0).default(0),
  /** `highest`: the best value of the metric so far, which need not be that of the best checkpoint. */
  best: z.object({ step: z.number().int(), metric: z.string(), value: z.number(), highest: z.number() }).nullable(),
  /** Every draw comes from the seed, the step and the prompt, so this is the whole state of the random numbers. */
  rng: z.object({ seed: z.number().int() }),
  /** Metrics of the last step when its evaluation is still to be done, which completes them. */
  pending: metricsRowSchema.nullable(),
  has_critic: z.boolean(),
  has_reference: z.boolean(),
});
export type TrainerState = z.infer<typeof trainerStateSchema>;

/** One turn of the model in a rollout of several. */
export const rolloutTurnSchema = z.object({
  /** The prompt goes on exactly where the turn before ended; `prompt` is then only what came between. */
  continues: z.boolean(),
  prompt: z.string(),
  prompt_ids: z.array(z.number().int()),
  completion: z.string(),
  completion_ids: z.array(z.number().int()),
  stop_reason: z.string(),
  thinking_tokens: z.number().int().optional(),
});
export type RolloutTurn = z.infer<typeof rolloutTurnSchema>;

/** One line of `rollouts/step_<N>.jsonl`. */
export const rolloutLineSchema = z.object({
  step: z.number().int(),
  /** Prompt of the step, and answer within its group. */
  prompt_index: z.number().int(),
  sample_index: z.number().int(),
  trajectory_id: z.string(),
  row_id: z.string(),
  prompt: z.string(),
  prompt_ids: z.array(z.number().int()),
  /** Everything the model wrote; of several turns each on lines of its own, and their ids and log-probs end to end. */
  completion: z.string(),
  completion_ids: z.array(z.number().int()),
  logprobs: z.array(z.number()),
  reward: z.number(),
  reward_parts: z.record(z.string(), z.number()),
  /** PPO: mean over the tokens. */
  advantage: z.number(),
  stop_reason: z.string(),
  failure: z.string().nullable(),
  /** Only where there were several. */
  turns: z.array(rolloutTurnSchema).optional(),
  /** The whole conversation; only where there were several turns. */
  messages: z.array(chatMessageSchema).optional(),
});
export type RolloutLine = z.infer<typeof rolloutLineSchema>;

/** An alarm or another thing that happened, in `logs/events.jsonl`. */
export const runEventSchema = z.object({
  time: z.number(),
  step: z.number().int(),
  kind: z.enum(["alarm", "resume", "stop", "failure", "checkpoint", "info"]),
  name: z.string(),
  message: z.string(),
  action: z.string().optional(),
});
export type RunEvent = z.infer<typeof runEventSchema>;
