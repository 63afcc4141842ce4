/**
 * The configuration of a training run. One schema drives the command line's flags and help, `--config` files, the form
 * in the app, validation, and the `config.json` of a run folder. Names are TRL's wherever TRL has one.
 */

import { z } from "zod";

export const methods = ["gspo", "grpo", "ppo", "sft", "dpo"] as const;
export type Method = (typeof methods)[number];

/** Methods that learn from rewards. */
export const rlMethods = ["gspo", "grpo", "ppo"] as const satisfies readonly Method[];

/** Whether a method samples answers and learns from their rewards. */
export function isRl(method: Method): boolean {
  return (rlMethods as readonly Method[]).includes(method);
}

/** Those that compare the answers to one prompt with each other. */
const groupMethods = ["gspo", "grpo"] as const satisfies readonly Method[];
/** Those that learn from given answers. */
const exampleMethods = ["sft", "dpo"] as const satisfies readonly Method[];

export const optionGroups = {
  what: "What to train",
  steps: "Steps and batches",
  examples: "Given answers (SFT, DPO)",
  sampling: "Sampling and episodes",
  objective: "Objective",
  critic: "Critic",
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
  /** The methods that use it. Absent: all. */
  methods?: readonly Method[];
}

/** Group, methods and help text of every option, for the command line's help and the app's form. */
export const optionMeta = z.registry<OptionMeta>();

function option<T extends z.ZodType>(group: OptionGroup, schema: T, help: string, usedBy?: readonly Method[]): T {
  optionMeta.add(schema, { group, help, ...(usedBy !== undefined && { methods: usedBy }) });
  return schema;
}

const positiveInt = () => z.number().int().min(1);
const naturalInt = () => z.number().int().min(0);
const positive = () => z.number().positive();
const nonNegative = () => z.number().min(0);
const share = () => z.number().min(0).max(1);

export const finetuningTypes = ["full", "lora"] as const;
export const schedules = ["constant", "linear", "cosine"] as const;
export const lossTypes = ["token_mean", "seq_mean", "const_length"] as const;
export const advantageEstimators = ["group_std", "group_mean", "rloo", "batch_std"] as const;
export const lossMasks = ["completion", "assistant_all", "assistant_last", "all_tokens"] as const;
const truncations = ["keep", "mask", "penalise"] as const;

/** A resolved configuration: every option has its value; `null` means off, or chosen when the run starts. */
export const runConfigSchema = z.strictObject({
  model: option(
    "what",
    z.string().min(1),
    "model folder, .gguf file, downloaded OWNER/NAME, `starter`, or RUN[:step] to go on from a checkpoint",
  ),
  task: option("what", z.string().min(1), "what to learn: a built-in task, a task folder, or a data file"),
  reward: option(
    "what",
    z.string().min(1).nullable(),
    "file that says how answers are scored: those to a data file, or instead of the task's own reward",
  ),
  map: option(
    "what",
    z.array(z.string().min(1)).min(1).nullable(),
    "columns of a data file, where they are not called as the fields they are: prompt=question,completion=answer",
  ),
  group: option(
    "what",
    z.array(z.string().min(1)).min(1).nullable(),
    "columns of a data file whose equal values keep rows in one part (default: rows with the same prompt)",
  ),
  method: option(
    "what",
    z.enum(methods),
    "learn from rewards: gspo (one ratio per answer), grpo (one per token), ppo (with a critic); from given answers: sft; from better and worse ones: dpo",
  ),
  finetuning_type: option("what", z.enum(finetuningTypes), "train every weight, or a LoRA adapter"),
  chat_template_path: option(
    "what",
    z.string().min(1).nullable(),
    "`chatml` or a file with a Jinja template, instead of the model's own",
  ),
  thinking: option(
    "what",
    z.boolean().nullable(),
    "let the model think before it answers, where its template has a switch",
  ),
  output_dir: option("what", z.string().min(1).nullable(), "run folder (default: a new one in the library)"),
  seed: option("what", naturalInt(), "of row order, sampling and adapter weights: the same seed gives the same run"),
  split_seed: option("what", naturalInt(), "of the division into training, validation and held-out rows"),

  max_steps: option("steps", positiveInt().nullable(), "steps to train: batches of rollouts (RL), of rows or of pairs"),
  num_train_epochs: option("steps", positive().nullable(), "passes over the training rows, instead of max_steps"),
  batch_size: option("steps", positiveInt(), "rows or pairs in one optimizer step", exampleMethods),
  prompts_per_step: option("steps", positiveInt(), "different prompts in one step", rlMethods),
  num_generations: option(
    "steps",
    positiveInt(),
    "answers sampled for each prompt: the group that is compared",
    rlMethods,
  ),
  num_mini_batches: option(
    "steps",
    positiveInt(),
    "optimizer steps that one pass over a step's rollouts is cut into",
    rlMethods,
  ),
  num_iterations: option("steps", positiveInt(), "passes over a step's rollouts", rlMethods),
  dynamic_sampling: option(
    "steps",
    z.boolean(),
    "draw further prompts for groups in which all answers are worth the same",
    groupMethods,
  ),
  dynamic_sampling_max: option(
    "steps",
    positiveInt(),
    "extra batches that dynamic_sampling may draw in one step",
    groupMethods,
  ),

  loss_mask: option(
    "examples",
    z.enum(lossMasks).nullable(),
    "tokens in the loss (default: what the model writes of an answer to a prompt, assistant_all for a conversation, all_tokens for plain text)",
    ["sft"],
  ),
  overlong_rows: option(
    "examples",
    z.enum(["skip", "truncate"]),
    "what becomes of rows longer than max_length: left out and counted, or cut at their end",
    exampleMethods,
  ),

  max_length: option(
    "sampling",
    z.number().int().min(2),
    "tokens of prompt and answer together; longer ones are skipped and counted",
  ),
  max_completion_length: option("sampling", positiveInt(), "tokens of one answer"),
  temperature: option(
    "sampling",
    positive(),
    "of sampling; other than 1 it also divides the logits in training by rewards",
  ),
  top_p: option("sampling", positive().max(1), "nucleus sampling; below 1 no ratio corrects for it", rlMethods),
  top_k: option("sampling", naturalInt(), "most likely tokens kept, 0 is off; no ratio corrects for it", rlMethods),
  min_p: option(
    "sampling",
    share(),
    "least share of the best token's probability, 0 is off; no ratio corrects for it",
    rlMethods,
  ),
  max_turns: option("sampling", positiveInt().nullable(), "turns of the model in one episode (default: the task's)"),
  episode_seconds: option("sampling", positive().nullable(), "time limit of one episode (default: the task's)"),
  train_tool_results: option(
    "sampling",
    z.boolean(),
    "put tool results and other text of the environment into the loss too",
    rlMethods,
  ),
  truncated_completions: option(
    "sampling",
    z.enum(truncations),
    "answers cut by the token limit: keep them, mask them out of the loss, or penalise them",
    rlMethods,
  ),
  truncation_penalty: option("sampling", positive(), "taken from the reward of an answer that is penalised", rlMethods),
  invalid_rewards: option(
    "sampling",
    z.enum(["stop", "drop"]),
    "when a reward fails or is no number: stop the run, or drop the answer and count it",
    rlMethods,
  ),

  epsilon: option("objective", nonNegative(), "lower clip bound of the ratio", rlMethods),
  epsilon_high: option("objective", nonNegative(), "upper clip bound of the ratio", rlMethods),
  dual_clip: option("objective", z.number().gt(1).nullable(), "bound of the ratio where the advantage is negative", [
    "ppo",
  ]),
  beta: option(
    "objective",
    nonNegative(),
    "weight of the KL to the starting model, 0 needs no reference (dpo: how far a preference may move the model, usually 0.1; ppo: 0.001)",
    [...rlMethods, "dpo"],
  ),
  label_smoothing: option("objective", z.number().min(0).lt(0.5), "share of pairs taken to be the wrong way round", [
    "dpo",
  ]),
  entropy_coef: option("objective", nonNegative(), "weight of the entropy bonus", rlMethods),
  loss_type: option(
    "objective",
    z.enum(lossTypes),
    "how token losses are averaged over an optimizer step",
    groupMethods,
  ),
  advantage_estimator: option(
    "objective",
    z.enum(advantageEstimators),
    "how a reward is compared with its group",
    groupMethods,
  ),
  rescore_logprobs: option(
    "objective",
    z.boolean(),
    "score sampled answers again with the training pass before updating; done anyway when temperature is not 1",
    groupMethods,
  ),

  gamma: option("critic", share(), "discount of later rewards, per token", ["ppo"]),
  lam: option("critic", share(), "how far advantages look ahead (GAE's λ)", ["ppo"]),
  vf_coef: option("critic", positive(), "weight of the critic's loss", ["ppo"]),
  cliprange_value: option("critic", positive(), "how far a value may move from what it was", ["ppo"]),
  critic_learning_rate: option("critic", positive(), "of the critic's head", ["ppo"]),
  critic_warmup_steps: option("critic", naturalInt(), "first steps in which only the critic learns", ["ppo"]),

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
  lora_dropout: option("lora", z.number().min(0).lt(1), "dropout before the adapter while training", [
    ...rlMethods,
    "sft",
  ]),
  lora_target_modules: option(
    "lora",
    z.array(z.string().min(1)).min(1).nullable(),
    "module names, comma-separated (default: all linear layers)",
  ),

  eval_steps: option("evaluation", naturalInt(), "steps between evaluations on validation rows, 0 is off"),
  eval_on_start: option("evaluation", z.boolean(), "also evaluate before the first step"),
  eval_size: option("evaluation", positiveInt(), "validation rows, the same ones every time"),
  num_generations_eval: option("evaluation", positiveInt(), "answers for each validation row"),
  early_stopping_patience: option(
    "evaluation",
    positiveInt().nullable(),
    "end the run after so many evaluations without a better one; any gain counts, also one that may be chance",
  ),

  save_steps: option("saving", naturalInt(), "steps between checkpoints, 0 saves only at the end"),
  save_total_limit: option("saving", positiveInt(), "latest checkpoints to keep, beside the best"),
  log_completions: option("saving", z.boolean(), "keep every rollout in rollouts/", rlMethods),

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

/** Whether this option changes anything in a run of this method and kind of fine-tuning. */
export function isUsed(name: OptionName, { method, finetuning_type }: Pick<RunConfig, "method" | "finetuning_type">) {
  const meta = optionMeta.get(runConfigSchema.shape[name]);
  if (meta?.group === "lora" && finetuning_type === "full") return false;
  return meta?.methods?.includes(method) ?? true;
}

/** The options that a run goes by: what stands in its `config.json`. */
export function usedOptions(config: RunConfig): RunConfigInput {
  return Object.fromEntries(optionNames.filter((name) => isUsed(name, config)).map((name) => [name, config[name]]));
}

/** What a user should know about these settings before the run begins. */
export function settingNotes(config: RunConfig): string[] {
  if (!isRl(config.method)) return [];
  const list: string[] = [];
  if (config.num_mini_batches * config.num_iterations === 1) {
    list.push("one optimizer step per batch of rollouts: the ratio is always 1, so the clip bounds never act");
  }
  if (config.top_p < 1 || config.top_k > 0 || config.min_p > 0) {
    list.push("top_p, top_k and min_p cut the sampler's distribution, and no ratio corrects for it");
  }
  if (config.temperature !== 1) {
    list.push(`temperature ${config.temperature}: logits are divided by it in training too, and answers scored again`);
  }
  return list;
}
