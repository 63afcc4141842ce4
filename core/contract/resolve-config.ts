/** From what a user wrote (TRL's spelling accepted, typing errors named) to a complete run configuration. */

import type { z } from "zod";
import { optionNames, runConfigInputSchema, runConfigSchema, type RunConfig, type RunConfigInput } from "./config.ts";
import { defaultsFor } from "./defaults.ts";
import { HoneError } from "./errors.ts";
import { nearest } from "./nearest.ts";

type Raw = Record<string, unknown>;

interface Alias {
  /** Options that it sets: giving one of them as well is a contradiction unless the values agree. */
  sets: (value: unknown, raw: Raw) => Raw;
}

const rename = (name: string): Alias => ({ sets: (value) => ({ [name]: value }) });

function choice(alias: string, table: Record<string, Raw>): Alias {
  return {
    sets: (value) => {
      const found = table[String(value)];
      if (found !== undefined) return found;
      throw badConfig(`${alias} cannot be ${JSON.stringify(value)}`, `use one of ${Object.keys(table).join(", ")}`);
    },
  };
}

/** Names that other tools use for the same thing. Options that already carry TRL's name are not listed. */
const aliases: Record<string, Alias> = {
  model_name_or_path: rename("model"),
  lr: rename("learning_rate"),
  learning_rate_schedule: rename("lr_scheduler_type"),
  max_new_tokens: rename("max_completion_length"),
  group_size: rename("num_generations"),
  lora_rank: rename("lora_r"),
  run: rename("output_dir"),
  use_peft: choice("use_peft", { true: { finetuning_type: "lora" }, false: { finetuning_type: "full" } }),
  importance_sampling_level: choice("importance_sampling_level", {
    sequence: { method: "gspo" },
    token: { method: "grpo" },
  }),
  scale_rewards: choice("scale_rewards", {
    group: { advantage_estimator: "group_std" },
    true: { advantage_estimator: "group_std" },
    batch: { advantage_estimator: "batch_std" },
    none: { advantage_estimator: "group_mean" },
    false: { advantage_estimator: "group_mean" },
  }),
};

/** TRL's names of the aggregation modes. */
const lossTypeAliases: Record<string, string> = { dapo: "token_mean", grpo: "seq_mean", dr_grpo: "const_length" };

/** TRL counts answers per optimizer step; Hone counts prompts per rollout batch. */
const batchSizeNames = ["per_device_train_batch_size", "gradient_accumulation_steps"];

/** Left in a run's `config.json` beside the options: not settings, so not read back. */
export const recordKey = "record";

function badConfig(message: string, fix: string): HoneError {
  return new HoneError("bad-config", message, { fix });
}

/** Every name that may stand in a configuration. */
export function knownNames(): string[] {
  return [...optionNames, ...Object.keys(aliases), ...batchSizeNames];
}

/**
 * Reads user input: aliases become options, an unknown name or a wrong value is refused (`bad-config`) by name.
 * `source` says where it came from, for the message.
 */
export function parseConfigInput(input: unknown, source: string): RunConfigInput {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw badConfig(`${source} must be a JSON object of options`, "see `hone train --help` for the options");
  }
  const raw: Raw = { ...input };
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
  for (const [name, alias] of Object.entries(aliases)) {
    if (raw[name] === undefined) continue;
    for (const [option, value] of Object.entries(alias.sets(raw[name], raw))) {
      if (raw[option] !== undefined && raw[option] !== value) {
        throw badConfig(`${source}: ${name} and ${option} contradict each other`, `give only ${option}`);
      }
      raw[option] = value;
    }
    delete raw[name];
  }
  if (typeof raw["loss_type"] === "string") raw["loss_type"] = lossTypeAliases[raw["loss_type"]] ?? raw["loss_type"];
  const batch = batchSizeNames.map((name) => {
    const value = raw[name];
    delete raw[name];
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= 1) return value;
    throw badConfig(`${source}: ${name} must be a whole number of at least 1`, "or give prompts_per_step instead");
  });
  const parsed = parse(runConfigInputSchema, raw, source);
  if (batch.every((value) => value === undefined)) return parsed;
  return { ...parsed, prompts_per_step: promptsFromBatch(batch, parsed, source) };
}

/** Answers per optimizer step × optimizer steps per pass / answers per prompt = prompts per rollout batch. */
function promptsFromBatch(batch: (number | undefined)[], given: RunConfigInput, source: string): number {
  if (given.prompts_per_step !== undefined) {
    throw badConfig(
      `${source}: ${batchSizeNames.join(" and ")} say the same as prompts_per_step`,
      "give only prompts_per_step",
    );
  }
  if (batch[0] === undefined) {
    throw badConfig(
      `${source}: gradient_accumulation_steps needs per_device_train_batch_size`,
      "or give prompts_per_step",
    );
  }
  const defaults = defaultsFor({ model: "", task: "", ...given });
  const answers = batch[0] * (batch[1] ?? 1) * (given.num_mini_batches ?? defaults.num_mini_batches);
  const group = given.num_generations ?? defaults.num_generations;
  if (answers % group === 0) return answers / group;
  throw badConfig(
    `${source}: ${answers} answers in a rollout batch (${batchSizeNames.join(" × ")} × num_mini_batches) ` +
      `cannot be cut into groups of ${group}`,
    "give prompts_per_step instead",
  );
}

/** Completes what the user gave with defaults, and refuses (`bad-config`) what contradicts itself. */
export function resolveConfig(input: RunConfigInput): RunConfig {
  const { model, task } = input;
  if (model === undefined) throw badConfig("no model was given", "--model FOLDER, a .gguf file, or --model starter");
  if (task === undefined) throw badConfig("no task was given", "--task tic-tac-toe");
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as RunConfigInput;
  const config = parse(runConfigSchema, { ...defaultsFor({ ...given, model, task }), ...given }, "configuration");
  if (given.num_train_epochs != null && given.max_steps == null) config.max_steps = null;
  refuseContradictions(config, given, defaultsFor({ ...given, model, task }));
  return config;
}

/** A run's `config.json` gives every option, so a default that has no effect is no contradiction. */
function refuseContradictions(
  config: RunConfig,
  given: RunConfigInput,
  defaults: Omit<RunConfig, "model" | "task">,
): void {
  const refuse = (message: string, fix: string): never => {
    throw badConfig(message, fix);
  };
  if (given.max_steps != null && given.num_train_epochs != null) {
    refuse("max_steps and num_train_epochs both say how long to train", "give one of them");
  }
  if (config.max_steps === null && config.num_train_epochs === null) {
    refuse("nothing says how long to train", "--max-steps N");
  }
  if (given.warmup_steps != null && config.warmup_ratio !== defaults.warmup_ratio) {
    refuse("warmup_steps and warmup_ratio both set the warm-up", "give one of them");
  }
  if (config.max_completion_length >= config.max_length) {
    if (given.max_length !== undefined || given.max_completion_length === undefined) {
      refuse(
        `max_completion_length ${config.max_completion_length} leaves no room for a prompt in max_length ${config.max_length}`,
        "raise max_length",
      );
    }
    config.max_length = 2 * config.max_completion_length;
  }
  if (config.num_mini_batches > config.prompts_per_step) {
    refuse(
      `${config.prompts_per_step} prompts cannot be cut into ${config.num_mini_batches} mini-batches`,
      "lower num_mini_batches: the answers to one prompt stay together",
    );
  }
  if (config.num_generations < 2) {
    refuse(
      "with num_generations 1 every advantage is 0 and nothing can be learnt",
      "compare at least 2 answers, better 8",
    );
  }
  if (config.min_lr > config.learning_rate) refuse("min_lr is above learning_rate", "lower min_lr");
  if (config.lr_scheduler_type === "constant" && (given.min_lr ?? 0) > 0) {
    refuse("min_lr has no effect with a constant schedule", "use lr_scheduler_type cosine or linear");
  }
  if (config.finetuning_type === "full") {
    for (const name of ["lora_r", "lora_alpha", "lora_dropout", "lora_target_modules"] as const) {
      if (config[name] !== defaults[name])
        refuse(`${name} has no effect with finetuning_type full`, "use finetuning_type lora");
    }
  }
}

function parse<T>(schema: z.ZodType<T>, raw: unknown, source: string): T {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const name = issue.path.join(".");
  throw badConfig(`${source}: ${name}: ${issue.message}`, "see `hone train --help` for the options");
}
