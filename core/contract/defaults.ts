/**
 * Starting values of every option. Where nothing else is said they follow the table in the project's algorithm notes:
 * TRL's values, with a learning rate for RL, and ten times and more of it for LoRA. Presets that were measured for a
 * task and a model stand below, in one place.
 */

import { rlMethods, type Method, type RunConfig, type RunConfigInput } from "./config.ts";
import { defaultSplitSeed } from "./eval.ts";

type Finetuning = RunConfig["finetuning_type"];

const common = {
  reward: null,
  map: null,
  group: null,
  chat_template_path: null,
  thinking: null,
  output_dir: null,
  seed: 42,
  split_seed: defaultSplitSeed,
  max_steps: null,
  num_train_epochs: 1,
  batch_size: 8,
  prompts_per_step: 8,
  num_generations: 8,
  num_mini_batches: 2,
  num_iterations: 1,
  dynamic_sampling: false,
  dynamic_sampling_max: 3,
  loss_mask: null,
  overlong_rows: "skip",
  max_length: 2048,
  max_completion_length: 512,
  temperature: 1,
  top_p: 1,
  top_k: 0,
  min_p: 0,
  max_turns: null,
  episode_seconds: null,
  train_tool_results: false,
  truncated_completions: "keep",
  truncation_penalty: 1,
  invalid_rewards: "stop",
  epsilon: 0.2,
  epsilon_high: 0.2,
  dual_clip: 3,
  beta: 0,
  label_smoothing: 0,
  entropy_coef: 0,
  loss_type: "token_mean",
  advantage_estimator: "group_std",
  rescore_logprobs: false,
  gamma: 1,
  lam: 0.95,
  vf_coef: 0.5,
  cliprange_value: 0.5,
  critic_warmup_steps: 20,
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
  early_stopping_patience: null,
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
  ppo: { beta: 0.001 },
  sft: { num_train_epochs: 3, lr_scheduler_type: "cosine" },
  dpo: { beta: 0.1 },
} as const satisfies Record<Method, Partial<RunConfig>>;

const byFinetuning = {
  lora: { critic_learning_rate: 1e-4, weight_decay: 0 },
  full: { critic_learning_rate: 1e-5, weight_decay: 0.01 },
} as const satisfies Record<Finetuning, Partial<RunConfig>>;

const rl = { lora: 2e-5, full: 1e-6 };
const learningRates: Record<Method, Record<Finetuning, number>> = {
  gspo: rl,
  grpo: rl,
  ppo: rl,
  sft: { lora: 2e-4, full: 2e-5 },
  dpo: { lora: 5e-6, full: 5e-7 },
};

/** Where SFT's learning rate ends, as a share of where it began. */
const lastShare = 0.1;

interface Preset {
  task?: string;
  model?: string;
  methods?: readonly Method[];
  values: RunConfigInput;
}

/** Tasks whose rows are made by program, with short answers: hundreds of rows, so one pass teaches. */
const shortAnswers = ["tool-call-repair", "extraction", "instructions", "business-process"].flatMap(
  (task): Preset[] => [
    { task, values: { max_completion_length: 128 } },
    { task, methods: rlMethods, values: { max_steps: 100 } },
    { task, methods: ["sft"], values: { num_train_epochs: 1 } },
  ],
);

/** Later presets win over earlier ones; what the user gives wins over all. */
const presets: Preset[] = [
  ...shortAnswers,
  // A few dozen examples take several passes.
  { task: "writing-format", values: { max_completion_length: 128 } },
  { task: "writing-format", methods: rlMethods, values: { max_steps: 100 } },
  { task: "writing-format", methods: ["sft"], values: { num_train_epochs: 5 } },
  { task: "tic-tac-toe", values: { max_completion_length: 1024 } },
  { task: "tic-tac-toe", methods: rlMethods, values: { max_steps: 400 } },
  { model: "starter", values: { finetuning_type: "full" } },
  {
    task: "tic-tac-toe",
    model: "starter",
    values: { max_completion_length: 64, eval_size: 256 },
  },
  { model: "starter", methods: ["sft"], values: { learning_rate: 3e-4 } },
  { model: "starter", methods: ["dpo"], values: { learning_rate: 2e-5 } },
  {
    task: "tic-tac-toe",
    model: "starter",
    methods: ["sft", "dpo"],
    values: { batch_size: 32, num_train_epochs: 3 },
  },
  {
    task: "tic-tac-toe",
    model: "starter",
    methods: rlMethods,
    values: {
      prompts_per_step: 32,
      num_mini_batches: 1,
      learning_rate: 3e-4,
      lr_scheduler_type: "linear",
      min_lr: 3e-5,
      weight_decay: 0,
      entropy_coef: 0.002,
    },
  },
  { task: "tic-tac-toe", model: "starter", methods: ["ppo"], values: { critic_learning_rate: 1e-3 } },
];

/**
 * Every option's starting value for this method, kind of fine-tuning, model and task.
 */
export function defaultsFor(
  given: Pick<RunConfig, "model" | "task"> & RunConfigInput,
): Omit<RunConfig, "model" | "task"> {
  const { model, task, method = "gspo" } = given;
  const preset: RunConfigInput = {};
  for (const { values, ...when } of presets) {
    if (when.task !== undefined && when.task !== task) continue;
    if (when.model !== undefined && when.model !== model.split(":")[0]) continue;
    if (when.methods?.includes(method) === false) continue;
    Object.assign(preset, values);
  }
  const finetuning_type = given.finetuning_type ?? preset.finetuning_type ?? "lora";
  const values = {
    ...common,
    ...byMethod[method],
    ...byFinetuning[finetuning_type],
    learning_rate: learningRates[method][finetuning_type],
    // A preset's number of steps takes the place of epochs.
    ...(preset.max_steps != null && { num_train_epochs: null }),
    ...preset,
    method,
    finetuning_type,
  };
  return { ...values, min_lr: lastRate(values, preset, given) };
}

/** A rate that the schedule comes down to: none where it stays constant, never above the one it begins with. */
function lastRate(
  values: Pick<RunConfig, "method" | "learning_rate" | "lr_scheduler_type" | "min_lr">,
  preset: RunConfigInput,
  given: RunConfigInput,
): number {
  const schedule = given.lr_scheduler_type ?? values.lr_scheduler_type;
  const first = given.learning_rate ?? values.learning_rate;
  if (schedule === "constant") return 0;
  if (preset.min_lr === undefined && values.method === "sft") return Number((lastShare * first).toPrecision(6));
  return Math.min(values.min_lr, first);
}
