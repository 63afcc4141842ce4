/** Names that other tools (TRL, PEFT, verl, AReno) use for Hone's options, and what they mean here. */

import { isRl, type RunConfigInput } from "./config.ts";
import { defaultsFor } from "./defaults.ts";
import { HoneError } from "./errors.ts";

type Raw = Record<string, unknown>;

/** The options that a name sets. What else was given may decide what it means. */
type Alias = (value: unknown, raw: Raw) => Raw;

const rename =
  (...names: string[]): Alias =>
  (value) =>
    Object.fromEntries(names.map((name) => [name, value]));

function choice(alias: string, table: Record<string, Raw>): Alias {
  return (value) => {
    const found = table[String(value)];
    if (found !== undefined) return found;
    throw badConfig(`${alias} cannot be ${JSON.stringify(value)}`, `use one of ${Object.keys(table).join(", ")}`);
  };
}

/** TRL's switches of what is trained. `false` of one is only said beside the other. */
function maskSwitch(alias: string, mask: string, other: string): Alias {
  return (value, raw) => {
    if (value === true) return { loss_mask: mask };
    if (value !== false) throw badConfig(`${alias} must be true or false`, "or give loss_mask instead");
    return raw[other] === true || raw["loss_mask"] !== undefined ? {} : { loss_mask: "all_tokens" };
  };
}

const task = rename("task");

/** Options that already carry TRL's name are not listed. */
const aliases: Record<string, Alias> = {
  model_name_or_path: rename("model"),
  data: task,
  dataset: task,
  dataset_name: task,
  train_file: task,
  reward_funcs: (value) => ({ reward: Array.isArray(value) && value.length === 1 ? value[0] : value }),
  run: rename("output_dir"),
  lr: rename("learning_rate"),
  learning_rate_schedule: rename("lr_scheduler_type"),
  epochs: rename("num_train_epochs"),
  max_seq_length: rename("max_length"),
  max_new_tokens: rename("max_completion_length"),
  max_tokens: rename("max_completion_length"),
  group_size: rename("num_generations"),
  num_ppo_epochs: rename("num_iterations"),
  lora_rank: rename("lora_r"),
  use_peft: choice("use_peft", { true: { finetuning_type: "lora" }, false: { finetuning_type: "full" } }),
  kl_coef: rename("beta"),
  cliprange: rename("epsilon", "epsilon_high"),
  gae_lambda: rename("lam"),
  value_learning_rate: rename("critic_learning_rate"),
  completion_only_loss: maskSwitch("completion_only_loss", "completion", "assistant_only_loss"),
  assistant_only_loss: maskSwitch("assistant_only_loss", "assistant_all", "completion_only_loss"),
  mask_truncated_completions: choice("mask_truncated_completions", {
    true: { truncated_completions: "mask" },
    false: { truncated_completions: "keep" },
  }),
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

/** Known names without a counterpart: what to do instead. */
const refused: Record<string, { why: string; fix: string }> = {
  max_prompt_length: {
    why: "prompts are never cut; one that leaves no room for an answer within max_length is skipped and counted",
    fix: "give max_length (prompt and answer together) and max_completion_length",
  },
  packing: {
    why: "rows always share passes without seeing each other, and the loss does not depend on how",
    fix: "leave it out; micro_batch_tokens says how many tokens one pass takes",
  },
  max_grad_value: { why: "gradients are clipped by their norm", fix: "give max_grad_norm" },
  dataloader_shuffle: { why: "rows are always shuffled, anew in every epoch", fix: "give seed for another order" },
};

/** TRL's names of the aggregation modes. */
const lossTypes: Record<string, string> = { dapo: "token_mean", grpo: "seq_mean", dr_grpo: "const_length" };

/** TRL counts rows, pairs or answers per optimizer step; Hone counts prompts per rollout batch. */
const batchSizeNames = ["per_device_train_batch_size", "gradient_accumulation_steps"] as const;

export const aliasNames: readonly string[] = [...Object.keys(aliases), ...Object.keys(refused), ...batchSizeNames];

export function badConfig(message: string, fix: string): HoneError {
  return new HoneError("bad-config", message, { fix });
}

/**
 * Other tools' names become options, in place. Giving an option as well is a contradiction unless the values agree.
 * `before`: what was given with less weight, by a file for example; it helps to understand batch sizes.
 */
export function replaceAliases(raw: Raw, before: RunConfigInput, source: string): void {
  for (const [name, { why, fix }] of Object.entries(refused)) {
    if (raw[name] !== undefined) throw badConfig(`${source}: there is no ${name} here: ${why}`, fix);
  }
  for (const [name, alias] of Object.entries(aliases)) {
    if (raw[name] === undefined) continue;
    for (const [option, value] of Object.entries(alias(raw[name], raw))) {
      if (raw[option] !== undefined && raw[option] !== value) {
        throw badConfig(`${source}: ${name} and ${option} contradict each other`, `give only ${option}`);
      }
      raw[option] = value;
    }
  }
  for (const name of Object.keys(aliases)) delete raw[name];
  const type = raw["loss_type"];
  if (typeof type === "string") raw["loss_type"] = lossTypes[type] ?? type;
  // What TRL calls DPO's loss; there is no other.
  if (type === "sigmoid" && (raw["method"] ?? before.method) === "dpo") delete raw["loss_type"];
  replaceBatchSize(raw, before, source);
}

/** Rows or pairs per optimizer step; for methods with rewards, the prompts of a rollout batch with so many answers. */
function replaceBatchSize(raw: Raw, before: RunConfigInput, source: string): void {
  const [perDevice, accumulated] = batchSizeNames.map((name) => {
    const value = raw[name];
    delete raw[name];
    if (value === undefined || (typeof value === "number" && Number.isInteger(value) && value >= 1)) return value;
    throw badConfig(
      `${source}: ${name} must be a whole number of at least 1`,
      "or give batch_size or prompts_per_step",
    );
  });
  if (perDevice === undefined && accumulated === undefined) return;
  const given = { model: "", task: "", ...before, ...raw } as Parameters<typeof defaultsFor>[0];
  const { method, num_mini_batches, num_generations } = { ...defaultsFor(given), ...given };
  const learnsFromRewards = isRl(method);
  const option = learnsFromRewards ? "prompts_per_step" : "batch_size";
  if (raw[option] !== undefined) {
    throw badConfig(`${source}: ${batchSizeNames.join(" and ")} say the same as ${option}`, `give only ${option}`);
  }
  if (perDevice === undefined) {
    throw badConfig(`${source}: gradient_accumulation_steps needs per_device_train_batch_size`, `or give ${option}`);
  }
  const size = perDevice * (accumulated ?? 1);
  if (!learnsFromRewards) {
    raw[option] = size;
    return;
  }
  const answers = size * num_mini_batches;
  if (answers % num_generations !== 0) {
    throw badConfig(
      `${source}: ${answers} answers in a rollout batch (${batchSizeNames.join(" × ")} × num_mini_batches) ` +
        `cannot be cut into groups of ${num_generations}`,
      "give prompts_per_step instead",
    );
  }
  raw[option] = answers / num_generations;
}
