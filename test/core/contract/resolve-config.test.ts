import { describe, expect, test } from "vitest";
import {
  finetuningTypes,
  methods,
  optionMeta,
  optionNames,
  runConfigSchema,
  usedOptions,
  type Method,
  type RunConfigInput,
} from "../../../core/contract/config.ts";
import { nearest } from "../../../core/contract/nearest.ts";
import { parseConfigInput, resolveConfig } from "../../../core/contract/resolve-config.ts";

const base = { model: "/models/small", task: "tic-tac-toe" };
const resolve = (input: object) => resolveConfig(parseConfigInput({ ...base, ...input }, "test"));

/** Starting values where no preset was measured for the task or the model, as the project's table has them. */
const startingValues: Record<Method, { both: RunConfigInput; lora: RunConfigInput; full: RunConfigInput }> = (() => {
  const optimizer = {
    warmup_ratio: 0.03,
    warmup_steps: null,
    adam_beta1: 0.9,
    adam_beta2: 0.999,
    adam_epsilon: 1e-8,
    decay_all: false,
    max_grad_norm: 1,
    max_length: 2048,
  };
  const constant = { lr_scheduler_type: "constant", min_lr: 0 } as const;
  const rl = {
    ...optimizer,
    ...constant,
    prompts_per_step: 8,
    num_generations: 8,
    num_mini_batches: 2,
    num_iterations: 1,
    max_completion_length: 512,
    temperature: 1,
    top_p: 1,
    top_k: 0,
    min_p: 0,
    entropy_coef: 0,
    truncated_completions: "keep",
  } as const;
  const group = { ...rl, beta: 0, advantage_estimator: "group_std", dynamic_sampling: false } as const;
  const lora = { weight_decay: 0, lora_r: 16, lora_alpha: 32, lora_dropout: 0, lora_target_modules: null };
  const full = { weight_decay: 0.01 };
  const rates = (ofLora: number, ofFull: number) => ({
    lora: { ...lora, learning_rate: ofLora },
    full: { ...full, learning_rate: ofFull },
  });
  const ppo = rates(2e-5, 1e-6);
  return {
    gspo: { both: { ...group, epsilon: 3e-4, epsilon_high: 4e-4, loss_type: "seq_mean" }, ...rates(2e-5, 1e-6) },
    grpo: { both: { ...group, epsilon: 0.2, epsilon_high: 0.28, loss_type: "token_mean" }, ...rates(2e-5, 1e-6) },
    ppo: {
      both: {
        ...rl,
        ...{ beta: 0.001, epsilon: 0.2, epsilon_high: 0.2, dual_clip: 3, cliprange_value: 0.5, vf_coef: 0.5 },
        ...{ gamma: 1, lam: 0.95, critic_warmup_steps: 20 },
      },
      lora: { ...ppo.lora, critic_learning_rate: 1e-4 },
      full: { ...ppo.full, critic_learning_rate: 1e-5 },
    },
    sft: {
      both: { ...optimizer, lr_scheduler_type: "cosine", batch_size: 8, num_train_epochs: 3 },
      // To a tenth of where it began.
      lora: { ...lora, learning_rate: 2e-4, min_lr: 2e-5 },
      full: { ...full, learning_rate: 2e-5, min_lr: 2e-6 },
    },
    dpo: {
      both: { ...optimizer, ...constant, batch_size: 8, num_train_epochs: 1, beta: 0.1, label_smoothing: 0 },
      ...rates(5e-6, 5e-7),
    },
  };
})();

describe("defaults", () => {
  test.each(methods.flatMap((method) => finetuningTypes.map((finetuning_type) => ({ method, finetuning_type }))))(
    "of the table: $method, $finetuning_type",
    ({ method, finetuning_type }) => {
      const { both, [finetuning_type]: own } = startingValues[method];
      expect(resolve({ task: "rows.jsonl", method, finetuning_type })).toMatchObject({ ...both, ...own });
    },
  );

  test("of tic-tac-toe: room for 1024 tokens", () => {
    for (const method of methods) expect(resolve({ method }).max_completion_length).toBe(1024);
  });

  test("follow the table by method and kind of fine-tuning", () => {
    expect(resolve({})).toMatchObject({
      method: "gspo",
      finetuning_type: "lora",
      learning_rate: 2e-5,
      weight_decay: 0,
      epsilon: 3e-4,
      epsilon_high: 4e-4,
      loss_type: "seq_mean",
      num_generations: 8,
      num_mini_batches: 2,
      max_completion_length: 1024,
      seed: 42,
      save_steps: 50,
      eval_steps: 25,
    });
    expect(resolve({ method: "grpo", finetuning_type: "full" })).toMatchObject({
      learning_rate: 1e-6,
      weight_decay: 0.01,
      epsilon: 0.2,
      epsilon_high: 0.28,
      loss_type: "token_mean",
    });
  });

  test.each([
    [{ method: "sft" }, { learning_rate: 2e-4, lr_scheduler_type: "cosine", num_train_epochs: 3, weight_decay: 0 }],
    [
      { method: "sft", finetuning_type: "full" },
      { learning_rate: 2e-5, weight_decay: 0.01, batch_size: 8 },
    ],
    [{ method: "sft", learning_rate: 1e-3 }, { min_lr: 1e-4 }],
    [{ method: "sft", lr_scheduler_type: "constant" }, { min_lr: 0 }],
    [{ method: "dpo" }, { learning_rate: 5e-6, beta: 0.1, num_train_epochs: 1, lr_scheduler_type: "constant" }],
    [
      { method: "dpo", finetuning_type: "full" },
      { learning_rate: 5e-7, label_smoothing: 0 },
    ],
    [{ method: "ppo" }, { learning_rate: 2e-5, critic_learning_rate: 1e-4, beta: 0.001, epsilon: 0.2 }],
    [{ method: "ppo" }, { epsilon_high: 0.2, dual_clip: 3, cliprange_value: 0.5, vf_coef: 0.5, gamma: 1, lam: 0.95 }],
    [
      { method: "ppo", finetuning_type: "full" },
      { learning_rate: 1e-6, critic_learning_rate: 1e-5 },
    ],
    [
      { method: "ppo", num_generations: 1 },
      { num_generations: 1, critic_warmup_steps: 20 },
    ],
    [
      { method: "sft", max_steps: 30 },
      { max_steps: 30, num_train_epochs: null },
    ],
    [
      { method: "sft", max_length: 256 },
      { max_length: 256, max_completion_length: 1024 },
    ],
  ])("%j gives %j", (input, expected) => expect(resolve(input)).toMatchObject(expected));

  test("what a preset measured for one method is not taken for another", () => {
    expect(resolve({ model: "starter", method: "sft" })).toMatchObject({
      finetuning_type: "full",
      max_steps: null,
      prompts_per_step: 8,
    });
  });

  test("a run that goes on from another one has the presets of its model", () => {
    const origin = { model: "starter", defaults: {} };
    expect(resolveConfig({ ...base, model: "my-run" }, origin)).toMatchObject({
      model: "my-run",
      prompts_per_step: 32,
    });
    const adapter = { model: "starter", defaults: { finetuning_type: "lora", lora_r: 4 } } as const;
    expect(resolveConfig({ ...base, model: "my-run" }, adapter)).toMatchObject({ finetuning_type: "lora", lora_r: 4 });
  });

  test("config.json holds the options that are used, and nothing else", () => {
    const used = usedOptions(resolve({ method: "sft", finetuning_type: "full" }));
    expect(Object.keys(used)).toEqual(expect.arrayContaining(["model", "task", "batch_size", "loss_mask"]));
    for (const name of ["num_generations", "beta", "gamma", "lora_r"]) expect(used).not.toHaveProperty(name);
    for (const method of methods) {
      for (const finetuning_type of ["full", "lora"]) {
        const resolved = resolve({ method, finetuning_type, max_steps: 3 });
        expect(resolveConfig(parseConfigInput(usedOptions(resolved), "config.json"))).toEqual(resolved);
      }
    }
  });

  test("the starter on tic-tac-toe has its own preset, and what the user gives wins", () => {
    expect(resolve({ model: "starter" })).toMatchObject({
      finetuning_type: "full",
      prompts_per_step: 32,
      max_steps: 400,
    });
    expect(resolve({ model: "starter", prompts_per_step: 4 }).prompts_per_step).toBe(4);
  });

  test("every option has a value, a group and a help text, and survives JSON", () => {
    for (const input of [{}, { finetuning_type: "full" }, { warmup_steps: 5 }, { num_train_epochs: 2 }]) {
      const resolved = resolve(input);
      expect(resolve(JSON.parse(JSON.stringify({ ...resolved, record: { made: "by Hone" } })))).toEqual(resolved);
    }
    const config = resolve({});
    for (const name of optionNames) {
      expect(config[name], name).not.toBeUndefined();
      expect(optionMeta.get(runConfigSchema.shape[name])?.help, name).toBeTruthy();
    }
  });
});

describe("names of other tools", () => {
  test.each([
    [{ importance_sampling_level: "token" }, { method: "grpo" }],
    [{ importance_sampling_level: "sequence" }, { method: "gspo" }],
    [{ scale_rewards: "none" }, { advantage_estimator: "group_mean" }],
    [{ scale_rewards: true }, { advantage_estimator: "group_std" }],
    [{ loss_type: "dapo" }, { loss_type: "token_mean" }],
    [{ loss_type: "dr_grpo" }, { loss_type: "const_length" }],
    [{ use_peft: false }, { finetuning_type: "full" }],
    [{ num_train_epochs: 2 }, { num_train_epochs: 2, max_steps: null }],
    [{ per_device_train_batch_size: 8, gradient_accumulation_steps: 4 }, { prompts_per_step: 8 }],
    [{ method: "sft", per_device_train_batch_size: 8, gradient_accumulation_steps: 4 }, { batch_size: 32 }],
    [{ method: "dpo", per_device_train_batch_size: 2, loss_type: "sigmoid" }, { batch_size: 2 }],
    [{ method: "grpo", kl_coef: 0.02 }, { beta: 0.02 }],
    [
      { method: "ppo", cliprange: 0.1, gae_lambda: 0.9 },
      { epsilon: 0.1, epsilon_high: 0.1, lam: 0.9 },
    ],
    [{ mask_truncated_completions: true }, { truncated_completions: "mask" }],
    [{ method: "sft", completion_only_loss: true, assistant_only_loss: false }, { loss_mask: "completion" }],
    [{ method: "sft", assistant_only_loss: false, completion_only_loss: false }, { loss_mask: "all_tokens" }],
    [{ method: "sft", assistant_only_loss: true }, { loss_mask: "assistant_all" }],
    [{ reward_funcs: ["my.ts"] }, { reward: "my.ts" }],
    [{ per_device_train_batch_size: 64, num_mini_batches: 1, num_generations: 4 }, { prompts_per_step: 16 }],
  ])("%j", (input, expected) => {
    expect(resolve(input)).toMatchObject(expected);
  });

  test("every alias that the project promises is accepted", () => {
    const values: Record<string, unknown> = {
      learning_rate: 1e-5,
      max_steps: 3,
      per_device_train_batch_size: 8,
      gradient_accumulation_steps: 4,
      warmup_ratio: 0.1,
      lr_scheduler_type: "cosine",
      max_length: 4096,
      lora_r: 4,
      lora_alpha: 8,
      lora_dropout: 0.1,
      beta: 0.001,
      num_generations: 4,
      max_completion_length: 100,
      temperature: 0.9,
      epsilon: 0.1,
      epsilon_high: 0.2,
      loss_type: "grpo",
      scale_rewards: "batch",
      importance_sampling_level: "token",
      seed: 1,
    };
    expect(() => resolve(values)).not.toThrow();
    expect(() => resolve({ warmup_steps: 3, num_train_epochs: 1 })).not.toThrow();
  });
});

test("a flag wins over a file, and the two together say what a batch is", () => {
  const file = parseConfigInput({ method: "sft", task: "rows.jsonl", batch_size: 4 }, "file.json");
  expect(
    parseConfigInput({ dataset_name: "other.jsonl", per_device_train_batch_size: 2 }, "command line", file),
  ).toEqual({
    method: "sft",
    task: "other.jsonl",
    batch_size: 2,
  });
});

describe("refused, by name and with a way out", () => {
  test.each([
    [{ learning_rat: 1 }, /no option "learning_rat"/, /"learning_rate"/],
    [{ role_device: "cuda" }, /no option "role_device"/, /.*/],
    [{ num_generation: 4 }, /no option "num_generation"/, /"num_generations"/],
    [{ lr_scheduler_type: "cosinus" }, /lr_scheduler_type/, /.*/],
    [{ learning_rate: "fast" }, /learning_rate/, /.*/],
    [{ num_generations: 1 }, /nothing can be learnt/, /at least 2/],
    [{ num_generations: 1.5 }, /num_generations/, /.*/],
    [{ max_steps: 5, num_train_epochs: 1 }, /both say how long/, /.*/],
    [{ warmup_steps: 5, warmup_ratio: 0.1 }, /warmup_steps and warmup_ratio/, /.*/],
    [{ method: "gspo", importance_sampling_level: "token" }, /contradict/, /.*/],
    [{ finetuning_type: "full", lora_r: 8 }, /lora_r has no effect/, /.*/],
    [
      { max_length: 256 },
      /max_completion_length 1024 \(as usual\) .* max_length 256/,
      /max_completion_length too, below 256/,
    ],
    [{ max_completion_length: 100, max_length: 100 }, /no room for a prompt/, /.*/],
    [{ num_mini_batches: 9, prompts_per_step: 8 }, /mini-batches/, /.*/],
    [{ per_device_train_batch_size: 3 }, /groups of 8/, /.*/],
    [{ per_device_train_batch_size: 8, prompts_per_step: 8 }, /same as prompts_per_step/, /.*/],
    [{ gradient_accumulation_steps: 8 }, /needs per_device_train_batch_size/, /.*/],
    [{ min_lr: 1e-6 }, /min_lr has no effect/, /.*/],
    [{ max_prompt_length: 512 }, /prompts are never cut/, /max_length/],
    [{ method: "sft", num_generations: 4 }, /num_generations has no effect with method sft/, /gspo, grpo, ppo/],
    [{ method: "sft", beta: 0.1 }, /beta has no effect with method sft/, /dpo/],
    [{ method: "dpo", loss_mask: "all_tokens" }, /loss_mask has no effect with method dpo/, /sft/],
    [{ method: "dpo", lora_dropout: 0.1 }, /lora_dropout has no effect with method dpo/, /.*/],
    [{ method: "dpo", beta: 0 }, /no gradient/, /0\.1/],
    [{ method: "dpo", loss_type: "ipo" }, /loss_type/, /.*/],
    [{ method: "dpo", label_smoothing: 0.5 }, /label_smoothing/, /.*/],
    [{ gamma: 0.9 }, /gamma has no effect with method gspo/, /ppo/],
    [{ method: "ppo", advantage_estimator: "rloo" }, /advantage_estimator has no effect with method ppo/, /.*/],
    [{ method: "grpo", batch_size: 4 }, /batch_size has no effect with method grpo/, /sft, dpo/],
    [{ truncation_penalty: 2 }, /truncation_penalty has no effect/, /penalise/],
    [{ dynamic_sampling_max: 5 }, /dynamic_sampling_max has no effect/, /dynamic_sampling/],
    [{ early_stopping_patience: 2, eval_steps: 0 }, /early_stopping_patience/, /eval_steps/],
    [{ method: "sft", per_device_train_batch_size: 4, batch_size: 8 }, /same as batch_size/, /.*/],
    [{ method: "sft", completion_only_loss: true, loss_mask: "all_tokens" }, /contradict/, /loss_mask/],
    [{ method: "sft", assistant_only_loss: "yes" }, /true or false/, /loss_mask/],
    [{ cliprange: 0.1, epsilon: 0.2 }, /contradict/, /epsilon/],
    [{ scale_rewards: "max" }, /scale_rewards cannot be/, /group/],
    [{ epsilon: NaN }, /epsilon/, /.*/],
  ])("%j", (input, message, fix) => {
    expect(() => resolve(input)).toThrow(
      expect.objectContaining({
        code: "bad-config",
        message: expect.stringMatching(message),
        fix: expect.stringMatching(fix),
      }),
    );
  });

  test("no model, no task, no length", () => {
    expect(() => resolveConfig({ task: "tic-tac-toe" })).toThrow(/no model/);
    expect(() => resolveConfig({ model: "x" })).toThrow(/no task/);
    const never = { model: "x", task: "another", max_steps: null, num_train_epochs: null };
    expect(() => resolveConfig(never)).toThrow(/how long to train/);
    expect(resolveConfig({ model: "x", task: "another" })).toMatchObject({ max_steps: null, num_train_epochs: 1 });
    expect(() => parseConfigInput([], "file.json")).toThrow(/file\.json must be a JSON object/);
  });
});

test("the nearest word is offered only when it is near", () => {
  expect(nearest("epsilonhigh", ["epsilon", "epsilon_high"])).toBe("epsilon_high");
  expect(nearest("lerning_rate", ["learning_rate"])).toBe("learning_rate");
  expect(nearest("xyzzy", ["learning_rate", "beta"])).toBeUndefined();
});
