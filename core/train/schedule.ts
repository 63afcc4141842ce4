/**
 * Learning rate at optimizer step s = 0, 1, …, with W warm-up steps and D steps in all:
 *
 *     s < W   base·(s + 1) / W, so the first step already learns
 *     s ≥ W   p = clamp((s − W) / max(1, D − W), 0, 1)
 *             constant  base
 *             linear    min + (1 − p)·(base − min)
 *             cosine    min + ½·(1 + cos πp)·(base − min)
 */

import { schedules, type RunConfig } from "../contract/config.ts";
import { HoneError } from "../contract/errors.ts";
import { clamp } from "../contract/numbers.ts";
import type { OptimStepOptions } from "../engine/types.ts";

export interface Schedule {
  name: (typeof schedules)[number];
  base: number;
  min: number;
  warmupSteps: number;
  totalSteps: number;
}

/** More warm-up than this is never chosen by `warmup_ratio`. */
const maxWarmupSteps = 20;

export type ScheduleOptions = Pick<RunConfig, "learning_rate" | "min_lr" | "warmup_ratio" | "warmup_steps"> & {
  lr_scheduler_type: string;
};

/** The schedule of a run of `totalSteps` optimizer steps. Throws `HoneError` `unknown-schedule`. */
export function makeSchedule(options: ScheduleOptions, totalSteps: number): Schedule {
  const name = schedules.find((known) => known === options.lr_scheduler_type);
  if (name === undefined) {
    throw new HoneError("unknown-schedule", `there is no learning-rate schedule "${options.lr_scheduler_type}"`, {
      fix: `known schedules: ${schedules.join(", ")}`,
    });
  }
  return {
    name,
    base: options.learning_rate,
    min: options.min_lr,
    warmupSteps: options.warmup_steps ?? Math.min(maxWarmupSteps, Math.ceil(options.warmup_ratio * totalSteps)),
    totalSteps,
  };
}

export function learningRate({ name, base, min, warmupSteps, totalSteps }: Schedule, step: number): number {
  if (step < warmupSteps) return (base * (step + 1)) / warmupSteps;
  const progress = clamp((step - warmupSteps) / Math.max(1, totalSteps - warmupSteps), 0, 1);
  switch (name) {
    case "constant":
      return base;
    case "linear":
      return min + (1 - progress) * (base - min);
    case "cosine":
      return min + 0.5 * (1 + Math.cos(Math.PI * progress)) * (base - min);
  }
}

/** AdamW's settings for one optimizer step at this rate. */
export function optimizerOptions(config: RunConfig, lr: number): OptimStepOptions {
  return {
    lr,
    betas: [config.adam_beta1, config.adam_beta2],
    eps: config.adam_epsilon,
    weightDecay: config.weight_decay,
    maxGradNorm: config.max_grad_norm,
    decayAll: config.decay_all,
  };
}
