/**
 * Every option is used or refused (B16, B17): where its description says that a method uses it, a short run with
 * another value asks other things of the engine or leaves another folder; for any other method it is an error.
 */

import { existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { messageText, type ChatMessage } from "../../../core/contract/chat.ts";
import {
  finetuningTypes,
  isUsed,
  methods,
  optionNames,
  type Method,
  type OptionName,
  optionMeta,
  runConfigSchema,
  type RunConfigInput,
} from "../../../core/contract/config.ts";
import { resolveConfig } from "../../../core/contract/resolve-config.ts";
import type { Task, TaskRow } from "../../../core/tasks/task.ts";
import { RunFolder } from "../../../core/train/run-folder/run-folder.ts";
import { startTraining } from "../../../core/train/run.ts";
import type { TrainChat } from "../../../core/train/prepare-run.ts";
import { registerTask } from "./guess-run.ts";
import { comparableMetrics, endId, toyRun, vocabSize } from "./toy-run.ts";

interface Row extends TaskRow {
  square: number;
}

const again = 10;
const rows: Row[] = Array.from({ length: 16 }, (_, i) => ({ id: String(i), square: 1 + (i % 9) }));

const say = (tokens: string): ChatMessage[] => [{ role: "assistant", content: tokens }];

/** Up to three turns, until a turn is one square and the end; the smaller the square, the better. `broken`: rewards are no numbers now and then. */
function task(name: string, { broken = false } = {}): Task<Row> {
  const score = (reward: number) => ({ reward, parts: { small: reward }, info: { outcomes: {} } });
  return {
    name,
    title: "Small",
    description: "Say a small square.",
    tools: [],
    rewardParts: [{ name: "small", weight: 1, description: "more for smaller squares" }],
    failures: {},
    outcomes: {},
    limits: { turns: 3, tokens: 4, seconds: 10 },
    rows(split, { seed = 0 } = {}) {
      const first = (Number(seed) % 4) + (split === "train" ? 0 : 8);
      return rows.slice(first, first + (split === "train" ? 8 : 4));
    },
    parseRow: (value) => value as Row,
    problem: ({ id }) => id,
    prompt: ({ square }) => [{ role: "user", content: square % 2 === 0 ? `${square} ${square}` : `${square}` }],
    start: () => ({
      async step({ text, stopReason }) {
        // Long enough for a clock of microseconds.
        await new Promise((resolve) => setTimeout(resolve, 0));
        const [square, end, ...rest] = text.split(" ").map(Number);
        if (broken && square === 3) return { messages: [], done: true, score: score(NaN) };
        if (stopReason === "length") return { messages: [], done: true, score: score(-15) };
        if (end !== endId || rest.length > 0) return { messages: [{ role: "user", content: `${again}` }], done: false };
        return { messages: [], done: true, score: score(-square) };
      },
      end: () => score(-20),
    }),
    solution: () => say(`1 ${endId}`),
    preference: () => ({ chosen: say(`1 ${endId}`), rejected: say(`9 ${endId}`) }),
    reference: () => ({}),
    draw: ({ id }) => id,
  };
}

registerTask(task("small"));
registerTask(task("small-broken", { broken: true }));

/** Everything that an option could change, as it was asked for. */
async function observe(input: RunConfigInput): Promise<string> {
  const seen: unknown[] = [];
  const toy = toyRun();
  toy.engine.options = { vocabSize, memory: 2 };
  const open = toy.engine.open.bind(toy.engine);
  toy.engine.open = (path, options) => {
    seen.push(["open", options]);
    return open(path, options);
  };
  toy.engine.onOpen = (model) => {
    const [attachLora, sample] = [model.attachLora.bind(model), model.sample.bind(model)];
    model.attachLora = (options) => {
      seen.push(["attachLora", options]);
      return attachLora(options);
    };
    model.sample = (requests, options) => {
      seen.push(["sample", requests]);
      return sample(requests, options);
    };
  };
  toy.context.openChat = async (_, { template, thinking }) => {
    seen.push(["openChat", template, thinking]);
    return chat(seen);
  };
  try {
    await startTraining(toy.context, { ...input, output_dir: toy.output });
  } catch (error) {
    seen.push(["error", String(error)]);
  }
  for (const { forwards, optimSteps } of toy.engine.opened) seen.push(forwards, optimSteps);
  if (existsSync(toy.output)) {
    seen.push(comparableMetrics(toy.output), new RunFolder(toy.output).readConfig().record.total_steps);
    for (const folder of ["checkpoints", "eval", "rollouts"]) seen.push(readdirSync(join(toy.output, folder)).sort());
    const lines = join(toy.output, "rollouts", "step_1.jsonl");
    if (existsSync(lines)) seen.push(readFileSync(lines, "utf8"));
  }
  return JSON.stringify(seen, (_, value: unknown) =>
    ArrayBuffer.isView(value) ? Array.from(value as Int32Array) : value,
  );
}

/** A message is the numbers in it. */
function chat(seen: unknown[]): TrainChat {
  const idsOf = (messages: readonly ChatMessage[]) =>
    messages.flatMap((message) => messageText(message).split(" ").filter(Boolean).map(Number));
  return {
    stopIds: [endId],
    renderPrompt: (messages) => Int32Array.from(idsOf(messages)),
    readAnswer(_prompt, tokens) {
      const text = [...tokens].join(" ");
      return { text, parsed: { content: text, reasoning: "", tool_calls: [], problems: [] } };
    },
    renderTrained(messages, _tools, loss, completionFrom = messages.length - 1) {
      seen.push(["loss", loss]);
      const ids = Int32Array.from(idsOf(messages.slice(completionFrom)));
      return {
        promptIds: this.renderPrompt(messages.slice(0, completionFrom), []),
        ids,
        mask: new Uint8Array(ids.length).fill(1),
      };
    },
    vocabSize: 1000,
    textIds: () => new Int32Array(),
    decode: (tokens) => [...tokens].join(" "),
    files: () => ({}),
  };
}

function modelFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-options-"));
  const endAfter = Array.from({ length: vocabSize }, (_, token) => (token === endId ? 2 : 0));
  const words = Array.from({ length: vocabSize }, (_, i) => i);
  const table = words.flatMap((a) => words.slice(1).map((b) => [`${a} ${b}`, endAfter]));
  writeFileSync(join(folder, "model.safetensors"), JSON.stringify(table));
  writeFileSync(join(folder, "config.json"), "{}");
  return folder;
}

const model = modelFolder();

const base: RunConfigInput = {
  model,
  task: "small",
  finetuning_type: "full",
  learning_rate: 0.5,
  max_steps: 2,
  max_length: 64,
  max_completion_length: 4,
  eval_size: 3,
};
const ofMethod: Record<Method, RunConfigInput> = {
  gspo: { prompts_per_step: 4, num_generations: 4, num_iterations: 2 },
  grpo: { prompts_per_step: 4, num_generations: 4, num_iterations: 2 },
  ppo: { prompts_per_step: 4, num_generations: 4, num_iterations: 2, critic_warmup_steps: 0 },
  sft: { batch_size: 4 },
  dpo: { batch_size: 4 },
};

interface Change {
  to: unknown;
  /** What both runs have beside it, so that it has something to act on. */
  beside?: RunConfigInput;
}

/** Guarded by tests of their own: what a run is of, how its data file is read, and where it is kept. */
const ownTests = ["model", "task", "map", "group", "reward", "method", "finetuning_type", "output_dir"] as const;

const changes: Record<Exclude<OptionName, (typeof ownTests)[number]>, Change> = {
  chat_template_path: { to: "chatml" },
  thinking: { to: true },
  seed: { to: 7 },
  split_seed: { to: 7 },
  max_steps: { to: 3 },
  num_train_epochs: { to: 2, beside: { max_steps: undefined, num_train_epochs: 1 } },
  batch_size: { to: 3 },
  prompts_per_step: { to: 3 },
  num_generations: { to: 3 },
  num_mini_batches: { to: 1 },
  num_iterations: { to: 3 },
  dynamic_sampling: { to: true, beside: { num_generations: 2 } },
  dynamic_sampling_max: { to: 1, beside: { num_generations: 2, dynamic_sampling: true, max_completion_length: 1 } },
  loss_mask: { to: "all_tokens" },
  overlong_rows: { to: "truncate", beside: { max_length: 3, max_completion_length: 1 } },
  max_length: { to: 3, beside: { max_completion_length: 2 } },
  max_completion_length: { to: 2 },
  temperature: { to: 0.5 },
  top_p: { to: 0.5 },
  top_k: { to: 2 },
  min_p: { to: 0.5 },
  max_turns: { to: 1 },
  episode_seconds: { to: 1e-6 },
  train_tool_results: { to: true },
  truncated_completions: { to: "mask" },
  truncation_penalty: { to: 2, beside: { truncated_completions: "penalise" } },
  invalid_rewards: { to: "drop", beside: { task: "small-broken" } },
  epsilon: { to: 0.01 },
  epsilon_high: { to: 0.01 },
  dual_clip: { to: 1.01 },
  beta: { to: 0.5 },
  label_smoothing: { to: 0.2 },
  entropy_coef: { to: 0.1 },
  loss_type: { to: "const_length" },
  advantage_estimator: { to: "rloo" },
  rescore_logprobs: { to: true },
  gamma: { to: 0.5 },
  lam: { to: 0.2 },
  vf_coef: { to: 2 },
  cliprange_value: { to: 0.01, beside: { critic_learning_rate: 0.5 } },
  critic_learning_rate: { to: 0.3 },
  critic_warmup_steps: { to: 1 },
  learning_rate: { to: 0.1 },
  lr_scheduler_type: { to: "linear", beside: { max_steps: 4 } },
  min_lr: { to: 0.2, beside: { max_steps: 4, lr_scheduler_type: "linear" } },
  warmup_ratio: { to: 1 },
  warmup_steps: { to: 3 },
  adam_beta1: { to: 0.5 },
  adam_beta2: { to: 0.5 },
  adam_epsilon: { to: 0.1 },
  weight_decay: { to: 0.3 },
  decay_all: { to: true },
  max_grad_norm: { to: 0.01 },
  lora_r: { to: 3 },
  lora_alpha: { to: 5 },
  lora_dropout: { to: 0.1 },
  lora_target_modules: { to: ["q_proj"] },
  eval_steps: { to: 1 },
  eval_on_start: { to: false },
  eval_size: { to: 2 },
  num_generations_eval: { to: 2 },
  early_stopping_patience: { to: 1, beside: { eval_steps: 1, max_steps: 5, learning_rate: 1e-12 } },
  save_steps: { to: 1 },
  save_total_limit: { to: 1, beside: { save_steps: 1 } },
  log_completions: { to: false },
  micro_batch_tokens: { to: 5 },
  threads: { to: 2 },
  memory_limit: { to: 1e8 },
};

type Changed = keyof typeof changes;

/** What draws answers draws none in training from given ones, but in evaluations. */
const ofDraws: readonly OptionName[] = ["max_completion_length", "temperature", "max_turns", "episode_seconds"];

/** A run without evaluations, so that what they use does not stand in for what training should: unless only they use it. */
function inputOf(name: Changed, method: Method, beside?: RunConfigInput): RunConfigInput {
  const inEvaluations =
    optionMeta.get(runConfigSchema.shape[name])?.group === "evaluation" ||
    (ofDraws.includes(name) && (method === "sft" || method === "dpo"));
  return {
    ...base,
    ...ofMethod[method],
    method,
    finetuning_type: finetuningFor(name),
    eval_steps: inEvaluations ? 2 : 0,
    eval_on_start: inEvaluations,
    ...beside,
  };
}

const finetuningFor = (name: Changed) => (name.startsWith("lora_") ? "lora" : "full");

test("no option is left out", () => {
  expect([...Object.keys(changes), ...ownTests].sort()).toEqual([...optionNames].sort());
});

test.each(methods)("%s: every option that it uses changes something", async (method) => {
  const without: string[] = [];
  const known = new Map<string, string>();
  // What is seen of a run is the same every time, so a difference is the option's doing.
  const untouched = inputOf("eval_size", method);
  expect(await observe(untouched)).toBe(await observe(untouched));
  for (const [name, { to, beside }] of Object.entries(changes) as [Changed, Change][]) {
    if (!isUsed(name, { method, finetuning_type: finetuningFor(name) })) continue;
    const input = inputOf(name, method, beside);
    const key = JSON.stringify(input);
    const plain = known.get(key) ?? (await observe(input));
    known.set(key, plain);
    if ((await observe({ ...input, [name]: to })) === plain) without.push(name);
  }
  expect(without).toEqual([]);
});

test("any other option is refused, by name", () => {
  let refused = 0;
  for (const method of methods) {
    for (const finetuning_type of finetuningTypes) {
      for (const [name, { to }] of Object.entries(changes) as [Changed, Change][]) {
        if (isUsed(name, { method, finetuning_type })) continue;
        const input = { ...base, method, finetuning_type, [name]: to };
        expect(() => resolveConfig(input), `${method} ${finetuning_type}`).toThrow(`${name} has no effect with`);
        refused += 1;
      }
    }
  }
  expect(refused).toBeGreaterThan(100);
});
