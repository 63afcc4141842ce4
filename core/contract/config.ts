/**
 * The configuration of a training run. One schema drives the command line's flags and help, `--config` files, the form
 * in the app, validation, and the `config.json` of a run folder. Names are TRL's wherever TRL has one.
 */

import { z } from "zod";

export const optionGroups = {
  what: "What to train",
  steps: "Steps and groups",
  sampling: "Sampling",
  objective: "Objective",
  optimizer: "Optimizer",
  lora: "LoRA",
  evaluation: "Evaluation while training",
  saving: "Saving",
  machine: "This machine",
} as const;

export type OptionGroup = keyof typeof optionGroups;

export interface OptionMeta {
  group: OptionGroup;
  help: string;
}

/** Group and help text of every option, for the command line's help and the app's form. */
export const optionMeta = z.registry<OptionMeta>();

function option<T extends z.ZodType>(group: OptionGroup, schema: T, help: string): T {
  optionMeta.add(schema, { group, help });
  return schema;
}

const positiveInt = () => z.number().int().min(1);
const naturalInt = () => z.number().int().min(0);
const positive = () => z.number().positive();
const nonNegative = () => z.number().min(0);
const share = () => z.number().min(0).max(1);

export const methods = ["gspo", "grpo"] as const;
export const finetuningTypes = ["full", "lora"] as const;
export const schedules = ["constant", "linear", "cosine"] as const;
export const lossTypes = ["token_mean", "seq_mean", "const_length"] as const;
export const advantageEstimators = ["group_std", "group_mean", "rloo", "batch_std"] as const;

/** A resolved configuration: every option has its value; `null` means off, or chosen when the run starts. */
export const runConfigSchema = z.strictObject({
  model: option(
    "what",
    z.string().min(1),
    "model folder, .gguf file, `starter`, or RUN[:step] to go on from a checkpoint",
  ),
  task: option("what", z.string().min(1), "environment that gives prompts and rewards"),
  method: option("what", z.enum(methods), "gspo: one ratio per answer; grpo: one per token"),
  finetuning_type: option("what", z.enum(finetuningTypes), "train every weight, or a LoRA adapter"),
  chat_template_path: option(
    "what",
    z.string().min(1).nullable(),
    "`chatml` or a file with a Jinja template, instead of the model's own",
  ),
  output_dir: option("what", z.string().min(1).nullable(), "run folder (default: a new one in the library)"),
  seed: option("what", naturalInt(), "of prompt order, sampling and adapter weights: the same seed gives the same run"),
  split_seed: option("what", naturalInt(), "of the division into training, validation and held-out rows"),

  max_steps: option("steps", positiveInt().nullable(), "rollout batches to train on"),
  num_train_epochs: option("steps", positive().nullable(), "passes over the training prompts, instead of max_steps"),
  prompts_per_step: option("steps", positiveInt(), "different prompts in one step"),
  num_generations: option("steps", positiveInt(), "answers sampled for each prompt: the group that is compared"),
  num_mini_batches: option("steps", positiveInt(), "optimizer steps that one pass over a step's rollouts is cut into"),
  num_iterations: option("steps", positiveInt(), "passes over a step's rollouts"),

  max_length: option(
    "sampling",
    z.number().int().min(2),
    "tokens of prompt and answer together; longer prompts are skipped and counted",
  ),
  max_completion_length: option("sampling", positiveInt(), "tokens of one answer"),
  temperature: option("sampling", positive(), "of sampling; other than 1 it also divides the logits in training"),
  top_p: option("sampling", positive().max(1), "nucleus sampling; below 1 no ratio corrects for it"),
  top_k: option("sampling", naturalInt(), "most likely tokens kept, 0 is off; no ratio corrects for it"),
  min_p: option("sampling", share(), "least share of the best token's probability, 0 is off; no ratio corrects for it"),

  epsilon: option("objective", nonNegative(), "lower clip bound of the ratio"),
  epsilon_high: option("objective", nonNegative(), "upper clip bound of the ratio"),
  beta: option("objective", nonNegative(), "weight of the KL to the starting model; 0 needs no reference"),
  entropy_coef: option("objective", nonNegative(), "weight of the entropy bonus"),
  loss_type: option("objective", z.enum(lossTypes), "how token losses are averaged over an optimizer step"),
  advantage_estimator: option("objective", z.enum(advantageEstimators), "how a reward is compared with its group"),
  rescore_logprobs: option(
    "objective",
    z.boolean(),
    "score sampled answers again with the training pass before updating; done anyway when temperature is not 1",
  ),
  mask_truncated_completions: option("objective", z.boolean(), "leave answers cut by the token limit out of the loss"),

  learning_rate: option("optimizer", positive(), "AdamW's step size"),
  lr_scheduler_type: option("optimizer", z.enum(schedules), "course of the learning rate after warm-up"),
  min_lr: option("optimizer", nonNegative(), "where linear and cosine schedules end"),
  warmup_ratio: option("optimizer", share(), "share of the optimizer steps that warms up, at most 20 steps"),
  warmup_steps: option("optimizer", naturalInt().nullable(), "optimizer steps that warm up, instead of warmup_ratio"),
  adam_beta1: option("optimizer", share(), "decay of the mean gradient"),
  adam_beta2: option("optimizer", share(), "decay of the mean squared gradient"),
  adam_epsilon: option("optimizer", positive(), "term in AdamW's denominator"),
  weight_decay: option("optimizer", nonNegative(), "decoupled weight decay"),
  decay_all: option("optimizer", z.boolean(), "decay norms, biases and other vectors too"),
  max_grad_norm: option("optimizer", nonNegative(), "global norm that gradients are clipped to, 0 is off"),

  lora_r: option("lora", positiveInt(), "rank"),
  lora_alpha: option("lora", positive(), "scale: the adapter is multiplied by alpha / rank"),
  lora_dropout: option("lora", z.number().min(0).lt(1), "dropout before the adapter while training"),
  lora_target_modules: option(
    "lora",
    z.array(z.string().min(1)).min(1).nullable(),
    "module names, comma-separated (default: all linear layers)",
  ),

  eval_steps: option("evaluation", naturalInt(), "steps between evaluations on validation rows, 0 is off"),
  eval_on_start: option("evaluation", z.boolean(), "also evaluate before the first step"),
  eval_size: option("evaluation", positiveInt(), "validation rows, the same ones every time"),
  num_generations_eval: option("evaluation", positiveInt(), "answers for each validation row"),

  save_steps: option("saving", naturalInt(), "steps between checkpoints, 0 saves only at the end"),
  save_total_limit: option("saving", positiveInt(), "latest checkpoints to keep, beside the best"),
  log_completions: option("saving", z.boolean(), "keep every rollout in rollouts/"),

  micro_batch_tokens: option(
    "machine",
    positiveInt().nullable(),
    "tokens in one forward and backward pass (default: by free memory)",
  ),
  threads: option("machine", positiveInt().nullable(), "processor threads (default: all)"),
  memory_limit: option("machine", positiveInt().nullable(), "bytes the engine may take (default: what is free)"),
});

export type RunConfig = z.infer<typeof runConfigSchema>;
export type OptionName = keyof RunConfig;

/** What a user gives: any subset of the options. */
export const runConfigInputSchema = runConfigSchema.partial();
export type RunConfigInput = z.infer<typeof runConfigInputSchema>;

export const optionNames = Object.keys(runConfigSchema.shape) as OptionName[];
