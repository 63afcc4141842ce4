/** From what a user wrote (TRL's spelling accepted, typing errors named) to a complete run configuration. */

import type { z } from "zod";
import { aliasNames, badConfig, replaceAliases } from "./config-aliases.ts";
import {
  isRl,
  isUsed,
  optionMeta,
  optionNames,
  runConfigInputSchema,
  runConfigSchema,
  type RunConfig,
  type RunConfigInput,
} from "./config.ts";
import { defaultsFor } from "./defaults.ts";
import { nearest } from "./nearest.ts";

type Defaults = Omit<RunConfig, "model" | "task">;

/** Left in a run's `config.json` beside the options: not settings, so not read back. */
export const recordKey = "record";

/** Every name that may stand in a configuration. */
export function knownNames(): string[] {
  return [...optionNames, ...aliasNames];
}

/**
 * Reads user input: aliases become options, an unknown name or a wrong value is refused (`bad-config`) by name.
 * `source` says where it came from, for the message. It wins over what was given `before`, which it is added to.
 */
export function parseConfigInput(input: unknown, source: string, before: RunConfigInput = {}): RunConfigInput {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw badConfig(`${source} must be a JSON object of options`, "see `hone train --help` for the options");
  }
  const raw: Record<string, unknown> = { ...input };
  delete raw[recordKey];
  const known = knownNames();
  for (const name of Object.keys(raw)) {
    if (known.includes(name)) continue;
    const meant = nearest(name, known);
    throw badConfig(
      `${source}: there is no option ${JSON.stringify(name)}`,
      meant === undefined ? "see `hone train --help` for the options" : `did you mean ${JSON.stringify(meant)}?`,
    );
  }
  replaceAliases(raw, before, source);
  return { ...before, ...parse(runConfigInputSchema, raw, source) };
}

/** Where a run begins that goes on from another one. */
export interface Origin {
  /** The model that the earlier run was of: it has the same presets. */
  model?: string;
  /** What the earlier run's adapter dictates, unless the user says otherwise. */
  defaults?: RunConfigInput;
}

/** Completes what the user gave with defaults, and refuses (`bad-config`) what contradicts itself or has no effect. */
export function resolveConfig(input: RunConfigInput, origin: Origin = {}): RunConfig {
  const { model, task } = input;
  if (model === undefined) throw badConfig("no model was given", "--model FOLDER, a .gguf file, or --model starter");
  if (task === undefined) throw badConfig("no task was given", "--task tic-tac-toe, a task folder, or a data file");
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as RunConfigInput;
  const defaults = defaultsFor({ ...origin.defaults, ...given, model: origin.model ?? model, task });
  const values = { ...defaults, ...origin.defaults, ...given };
  const config = parse(runConfigSchema, values, "configuration");
  if (given.num_train_epochs != null && given.max_steps == null) config.max_steps = null;
  if (given.max_steps != null && given.num_train_epochs == null) config.num_train_epochs = null;
  refuseUnused(config, given, defaults);
  refuseContradictions(config, given, defaults);
  if (isRl(config.method)) refuseRlContradictions(config);
  return config;
}

/** An option that the run would not look at, with a value other than its default. */
function refuseUnused(config: RunConfig, given: RunConfigInput, defaults: Defaults): void {
  for (const name of optionNames) {
    if (given[name] === undefined || isUsed(name, config) || name === "model" || name === "task") continue;
    if (sameValue(given[name], defaults[name])) continue;
    const users = optionMeta.get(runConfigSchema.shape[name])?.methods;
    if (users !== undefined && !users.includes(config.method)) {
      throw badConfig(
        `${name} has no effect with method ${config.method}`,
        `leave it out, or train with --method ${users.join(", ")}`,
      );
    }
    throw badConfig(`${name} has no effect with finetuning_type full`, "use finetuning_type lora");
  }
}

function refuseContradictions(config: RunConfig, given: RunConfigInput, defaults: Defaults): void {
  if (given.max_steps != null && given.num_train_epochs != null) {
    throw badConfig("max_steps and num_train_epochs both say how long to train", "give one of them");
  }
  if (config.max_steps === null && config.num_train_epochs === null) {
    throw badConfig("nothing says how long to train", "--max-steps N");
  }
  if (given.warmup_steps != null && config.warmup_ratio !== defaults.warmup_ratio) {
    throw badConfig("warmup_steps and warmup_ratio both set the warm-up", "give one of them");
  }
  if (config.max_completion_length >= config.max_length) {
    const isUsual = given.max_completion_length === undefined;
    if (given.max_length === undefined) config.max_length = 2 * config.max_completion_length;
    // Given answers are as long as they are; those that an evaluation draws get the room that their prompts leave.
    else if (!isUsual || isRl(config.method)) {
      throw badConfig(
        `max_completion_length ${config.max_completion_length}${isUsual ? " (as usual)" : ""} leaves no room for a prompt in max_length ${config.max_length}`,
        isUsual ? `give max_completion_length too, below ${config.max_length}` : "raise max_length",
      );
    }
  }
  if (config.min_lr > config.learning_rate) throw badConfig("min_lr is above learning_rate", "lower min_lr");
  if (config.lr_scheduler_type === "constant" && config.min_lr > 0) {
    throw badConfig("min_lr has no effect with a constant schedule", "use lr_scheduler_type cosine or linear");
  }
  if (config.early_stopping_patience !== null && config.eval_steps === 0) {
    throw badConfig("early_stopping_patience counts evaluations, and eval_steps 0 makes none", "give eval_steps");
  }
  if (config.method === "dpo" && config.beta === 0) {
    throw badConfig("with beta 0 DPO has no gradient and nothing can be learnt", "use 0.1, or up to 0.5");
  }
}

function refuseRlContradictions(config: RunConfig): void {
  if (config.num_mini_batches > config.prompts_per_step) {
    throw badConfig(
      `${config.prompts_per_step} prompts cannot be cut into ${config.num_mini_batches} mini-batches`,
      "lower num_mini_batches: the answers to one prompt stay together",
    );
  }
  if (config.method !== "ppo" && config.num_generations < 2) {
    throw badConfig(
      "with num_generations 1 every advantage is 0 and nothing can be learnt",
      "compare at least 2 answers, better 8",
    );
  }
  const { truncation_penalty, truncated_completions, dynamic_sampling_max, dynamic_sampling } = config;
  const common = defaultsFor(config);
  if (truncation_penalty !== common.truncation_penalty && truncated_completions !== "penalise") {
    throw badConfig(
      "truncation_penalty has no effect unless cut answers are penalised",
      "truncated_completions penalise",
    );
  }
  if (dynamic_sampling_max !== common.dynamic_sampling_max && !dynamic_sampling) {
    throw badConfig("dynamic_sampling_max has no effect without dynamic_sampling", "dynamic_sampling true");
  }
}

function sameValue(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function parse<T>(schema: z.ZodType<T>, raw: unknown, source: string): T {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const name = issue.path.join(".");
  throw badConfig(`${source}: ${name}: ${issue.message}`, "see `hone train --help` for the options");
}
