import { describe, expect, test } from "vitest";
import { optionMeta, optionNames, runConfigSchema } from "../../../core/contract/config.ts";
import { nearest } from "../../../core/contract/nearest.ts";
import { parseConfigInput, resolveConfig } from "../../../core/contract/resolve-config.ts";

const base = { model: "/models/small", task: "tic-tac-toe" };
const resolve = (input: object) => resolveConfig(parseConfigInput({ ...base, ...input }, "test"));

describe("defaults", () => {
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

describe("refused, by name and with a way out", () => {
  test.each([
    [{ learning_rat: 1 }, /no option "learning_rat"/, /"learning_rate"/],
    [{ kl_coef: 0.1 }, /no option "kl_coef"/, /.*/],
    [{ num_generation: 4 }, /no option "num_generation"/, /"num_generations"/],
    [{ lr_scheduler_type: "cosinus" }, /lr_scheduler_type/, /.*/],
    [{ learning_rate: "fast" }, /learning_rate/, /.*/],
    [{ num_generations: 1 }, /nothing can be learnt/, /at least 2/],
    [{ num_generations: 1.5 }, /num_generations/, /.*/],
    [{ max_steps: 5, num_train_epochs: 1 }, /both say how long/, /.*/],
    [{ warmup_steps: 5, warmup_ratio: 0.1 }, /warmup_steps and warmup_ratio/, /.*/],
    [{ method: "gspo", importance_sampling_level: "token" }, /contradict/, /.*/],
    [{ finetuning_type: "full", lora_r: 8 }, /lora_r has no effect/, /.*/],
    [{ max_completion_length: 100, max_length: 100 }, /no room for a prompt/, /.*/],
    [{ num_mini_batches: 9, prompts_per_step: 8 }, /mini-batches/, /.*/],
    [{ per_device_train_batch_size: 3 }, /groups of 8/, /.*/],
    [{ per_device_train_batch_size: 8, prompts_per_step: 8 }, /same as prompts_per_step/, /.*/],
    [{ gradient_accumulation_steps: 8 }, /needs per_device_train_batch_size/, /.*/],
    [{ min_lr: 1e-6 }, /min_lr has no effect/, /.*/],
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
    expect(() => resolveConfig({ model: "x", task: "another" })).toThrow(/how long to train/);
    expect(() => parseConfigInput([], "file.json")).toThrow(/file\.json must be a JSON object/);
  });
});

test("the nearest word is offered only when it is near", () => {
  expect(nearest("epsilonhigh", ["epsilon", "epsilon_high"])).toBe("epsilon_high");
  expect(nearest("lerning_rate", ["learning_rate"])).toBe("learning_rate");
  expect(nearest("xyzzy", ["learning_rate", "beta"])).toBeUndefined();
});
