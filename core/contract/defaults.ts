/**
 * Starting values of every option. Where nothing else is said they follow the table in the project's algorithm notes:
 * TRL's values, with a learning rate for RL, and ten times and more of it for LoRA. Presets that were measured for a
 * task and a model stand below, in one place.
 */

import type { RunConfig, RunConfigInput } from "./config.ts";

type Finetuning = RunConfig["finetuning_type"];

const common = {
  chat_template_path: null,
  output_dir: null,
  seed: 42,
  split_seed: 2026,
  max_steps: null,
  num_train_epochs: null,
  prompts_per_step: 8,
  num_generations: 8,
  num_mini_batches: 2,
  num_iterations: 1,
  max_length: 2048,
  max_completion_length: 512,
  temperature: 1,
  top_p: 1,
  top_k: 0,
  min_p: 0,
  beta: 0,
  entropy_coef: 0,
  advantage_estimator: "group_std",
  rescore_logprobs: false,
  mask_truncated_completions: false,
  lr_scheduler_type: "constant",
  min_lr: 0,
  warmup_ratio: 0.03,
  warmup_steps: null,
  adam_beta1: 0.9,
  adam_beta2: 0.999,
  adam_epsilon: 1e-8,
  decay_all: false,
  max_grad_norm: 1,
  lora_r: 16,
  lora_alpha: 32,
  lora_dropout: 0,
  lora_target_modules: null,
  eval_steps: 25,
  eval_on_start: true,
  eval_size: 64,
  num_generations_eval: 1,
  save_steps: 50,
  save_total_limit: 3,
  log_completions: true,
  micro_batch_tokens: null,
  threads: null,
  memory_limit: null,
} as const satisfies Partial<RunConfig>;

const byMethod = {
  // GSPO's ratio is a geometric mean per token, so its bounds are a thousand times narrower.
  gspo: { epsilon: 3e-4, epsilon_high: 4e-4, loss_type: "seq_mean" },
  grpo: { epsilon: 0.2, epsilon_high: 0.28, loss_type: "token_mean" },
} as const satisfies Record<RunConfig["method"], Partial<RunConfig>>;

const byFinetuning = {
  lora: { learning_rate: 2e-5, weight_decay: 0 },
  full: { learning_rate: 1e-6, weight_decay: 0.01 },
} as const satisfies Record<Finetuning, Partial<RunConfig>>;

interface Preset {
  task?: string;
  model?: string;
  values: RunConfigInput;
}

/** Later presets win over earlier ones; what the user gives wins over all. */
const presets: Preset[] = [
  { task: "tic-tac-toe", values: { max_completion_length: 1024, max_steps: 400 } },
  { model: "starter", values: { finetuning_type: "full" } },
  {
    task: "tic-tac-toe",
    model: "starter",
    values: {
      prompts_per_step: 32,
      max_completion_length: 64,
      num_mini_batches: 1,
      learning_rate: 3e-4,
      lr_scheduler_type: "linear",
      min_lr: 3e-5,
      weight_decay: 0,
      entropy_coef: 0.002,
      eval_size: 256,
    },
  },
];

/**
 * Every option's starting value for this method, kind of fine-tuning, model and task. `max_steps` may be left `null`:
 * then the user has to say how long to train.
 */
export function defaultsFor(
  given: Pick<RunConfig, "model" | "task"> & RunConfigInput,
): Omit<RunConfig, "model" | "task"> {
  const preset: RunConfigInput = {};
  for (const { task, model, values } of presets) {
    if (task !== undefined && task !== given.task) continue;
    if (model !== undefined && model !== given.model.split(":")[0]) continue;
    Object.assign(preset, values);
  }
  const method = given.method ?? preset.method ?? "gspo";
  const finetuning_type = given.finetuning_type ?? preset.finetuning_type ?? "lora";
  return { ...common, ...byMethod[method], ...byFinetuning[finetuning_type], ...preset, method, finetuning_type };
}
