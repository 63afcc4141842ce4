/**
 * Measures the engine on this machine, in the shapes of the published PyTorch peer program, so that two programs can be compared
 * as ratios of one run; and whole steps of every method. Every figure is the median of `runs` after one warm-up.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { methods, type Method } from "../contract/config.ts";
import { HoneError } from "../contract/errors.ts";
import { Random } from "../contract/random.ts";
import { createEngine, createModel, measureGemm } from "../engine/engine.ts";
import type { Batch, Engine, Model } from "../engine/types.ts";
import { measureMethod, type MethodSpeed, type StepShares } from "./bench-methods.ts";

export interface BenchResult {
  name: string;
  value: number;
  unit: string;
  higher_is_better: boolean;
  /** Of the time of a training step. */
  shares?: StepShares;
}

export interface BenchOptions {
  /** A SmolLM2-135M Q4_1 GGUF file; without it the quantised measurements are left out. */
  gguf?: string;
  threads?: number;
  /** Runs counted of each measurement. Default 5. */
  runs?: number;
  /** Only measurements whose name contains this. */
  only?: string;
  onResult?: (result: BenchResult) => void;
  signal?: AbortSignal;
}

/** All measurements, by the model that they need. */
const names = {
  none: ["gemm_gflops"],
  starter: [
    "train_starter_tok_s",
    "gspo_update_shared_tok_s",
    "gspo_update_unshared_tok_s",
    "decode_starter_batch_1_tok_s",
    "decode_starter_batch_256_tok_s",
  ],
  smollm2: ["train_smollm2_tok_s"],
  smollm2Lora: ["train_smollm2_lora_tok_s", "train_smollm2_lora_memory_mb"],
  methods: [...methods.map(stepName), "ppo_over_gspo"],
  gguf: ["decode_smollm2_q4_1_tok_s", "decode_smollm2_q4_1_batch_16_tok_s", "prefill_smollm2_q4_1_512_tok_s"],
};

function stepName(method: Method): string {
  return `${method}_step_tok_s`;
}

/** Whether `only` asks for a measurement of the quantised model. */
export function needsGguf(only: string | undefined): boolean {
  return selects(only, names.gguf);
}

function selects(only: string | undefined, of: readonly string[]): boolean {
  return of.some((name) => name.includes(only ?? ""));
}

interface Shape {
  vocab: number;
  width: number;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  ffn: number;
}

const STARTER: Shape = { vocab: 512, width: 192, layers: 4, heads: 6, kvHeads: 2, headDim: 32, ffn: 512 };
const SMOLLM2: Shape = { vocab: 49152, width: 576, layers: 30, heads: 9, kvHeads: 3, headDim: 64, ffn: 1536 };

/** A GSPO update as the demonstration makes it: 32 prompts × 8 samples. */
const UPDATE = { prompts: 32, samples: 8, prompt: 120, answer: 40, microBatchPrompts: 8 };

function config(shape: Shape): Record<string, unknown> {
  return {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    vocab_size: shape.vocab,
    hidden_size: shape.width,
    intermediate_size: shape.ffn,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.kvHeads,
    head_dim: shape.headDim,
    hidden_act: "silu",
    rms_norm_eps: 1e-5,
    rope_theta: 10000,
    tie_word_embeddings: true,
    max_position_embeddings: 2048,
    torch_dtype: "float32",
  };
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Amount per second of `work`: the median of `runs` after one warm-up. */
async function rate(amount: number, runs: number, work: () => Promise<unknown>, signal?: AbortSignal): Promise<number> {
  const rates: number[] = [];
  for (let i = 0; i <= runs; i++) {
    signal?.throwIfAborted();
    const start = performance.now();
    await work();
    if (i > 0) rates.push((amount / (performance.now() - start)) * 1000);
  }
  return median(rates);
}

function randomTokens(count: number, vocab: number, seed: number): Int32Array {
  const random = new Random(seed);
  return Int32Array.from({ length: count }, () => random.integer(vocab));
}

/** Forward and backward over `rows` sequences of `length` random tokens. */
async function pass(model: Model, vocab: number, rows: number, length: number): Promise<void> {
  const tokens = randomTokens(rows * length, vocab, 1);
  await model.forward({ tokens, segments: Array.from({ length: rows }, () => ({ length })) }, { grad: true });
  await model.backward(new Float32Array(tokens.length).fill(-1 / tokens.length));
}

/** One update's micro-batches: every prompt once with its answers behind it, or every answer with its own copy of the prompt. */
function updateBatches(shared: boolean, vocab: number): Batch[] {
  const { prompts, samples, prompt, answer, microBatchPrompts } = UPDATE;
  return Array.from({ length: prompts / microBatchPrompts }, (_, i) => {
    const parts: Batch["segments"] = [];
    const mask: number[] = [];
    for (let p = 0; p < microBatchPrompts; p++) {
      const parent = parts.length;
      if (shared) {
        parts.push({ length: prompt });
        mask.push(...Array<number>(prompt).fill(0));
      }
      for (let s = 0; s < samples; s++) {
        parts.push(shared ? { length: answer, parent } : { length: prompt + answer });
        mask.push(...Array<number>(shared ? 0 : prompt).fill(0), ...Array<number>(answer).fill(1));
      }
    }
    return { tokens: randomTokens(mask.length, vocab, i), segments: parts, mask: Uint8Array.from(mask) };
  });
}

async function update(model: Model, batches: Batch[]): Promise<void> {
  for (const batch of batches) {
    await model.forward(batch, { grad: true });
    await model.backward(Float32Array.from(batch.mask ?? [], (m) => m * 1e-4));
  }
  await model.optimStep({ lr: 1e-5, maxGradNorm: 1 });
}

function decode(model: Model, vocab: number, n: number, maxTokens: number): Promise<unknown> {
  return model.sample([{ prompt: randomTokens(1, vocab, 3), n, maxTokens, temperature: 0, seed: 1 }]);
}

/**
 * Measures and reports each result as it comes. Needs about 2 GB of memory and 550 MB of temporary disk space. Throws
 * `no-such-measurement` when `only` names none.
 */
export async function bench(
  options: BenchOptions = {},
): Promise<{ machine: Record<string, unknown>; results: BenchResult[] }> {
  const { only } = options;
  if (!selects(only, Object.values(names).flat())) {
    throw new HoneError("no-such-measurement", `no measurement has ${JSON.stringify(only)} in its name`, {
      fix: `there are ${Object.values(names).flat().join(", ")}`,
    });
  }
  const engine = await createEngine();
  const threads = options.threads ?? availableParallelism();
  const runs = options.runs ?? 5;
  const results: BenchResult[] = [];
  const timed = (amount: number, times: number, work: () => Promise<unknown>) =>
    rate(amount, times, work, options.signal);
  const report = (name: string, unit: string, value: number, more: Partial<BenchResult> = {}) => {
    const result = { name, value: Number(value.toPrecision(5)), unit, higher_is_better: true, ...more };
    results.push(result);
    options.onResult?.(result);
  };
  const measure = async (name: string, unit: string, value: () => number | Promise<number>, higherIsBetter = true) => {
    if (!selects(only, [name])) return;
    options.signal?.throwIfAborted();
    report(name, unit, await value(), { higher_is_better: higherIsBetter });
  };

  await measure("gemm_gflops", "GFLOP/s", () => measureGemm({ m: 1024, n: 1536, k: 576 }, threads, 20));

  await withModel(
    engine,
    STARTER,
    threads,
    async (model) => {
      const { prompts, samples, prompt, answer } = UPDATE;
      // Both updates count the tokens of the rows they stand for, so that their ratio is the ratio of times.
      const rows = prompts * samples * (prompt + answer);
      const { vocab } = STARTER;
      await measure("train_starter_tok_s", "tok/s", () => timed(64 * 160, runs, () => pass(model, vocab, 64, 160)));
      for (const [name, shared] of [
        ["shared", true],
        ["unshared", false],
      ] as const) {
        const batches = updateBatches(shared, vocab);
        await measure(`gspo_update_${name}_tok_s`, "tok/s", () => timed(rows, runs, () => update(model, batches)));
      }
      await measure("decode_starter_batch_1_tok_s", "tok/s", () =>
        timed(160, runs, () => decode(model, vocab, 1, 160)),
      );
      const many = 256 * 160;
      await measure("decode_starter_batch_256_tok_s", "tok/s", () =>
        timed(many, runs, () => decode(model, vocab, 256, 160)),
      );
    },
    selects(only, names.starter),
  );

  const { vocab } = SMOLLM2;
  const few = Math.min(runs, 3);
  await withModel(
    engine,
    SMOLLM2,
    threads,
    async (model) => {
      await measure("train_smollm2_tok_s", "tok/s", () => timed(1024, few, () => pass(model, vocab, 4, 256)));
    },
    selects(only, names.smollm2),
  );
  await withModel(
    engine,
    SMOLLM2,
    threads,
    async (model) => {
      await model.attachLora({ r: 16, lora_alpha: 32, seed: 1 });
      await measure("train_smollm2_lora_tok_s", "tok/s", () => timed(1024, few, () => pass(model, vocab, 4, 256)));
      await measure(
        "train_smollm2_lora_memory_mb",
        "MB",
        async () => {
          if (!selects(only, ["train_smollm2_lora_tok_s"])) await pass(model, vocab, 4, 256);
          return (await model.memory()).peak / 1e6;
        },
        false,
      );
    },
    selects(only, names.smollm2Lora),
    "none",
  );

  const signal = options.signal ?? new AbortController().signal;
  const speeds: Partial<Record<Method, MethodSpeed>> = {};
  for (const method of methods) {
    const compared = selects(only, ["ppo_over_gspo"]) && (method === "ppo" || method === "gspo");
    if (!compared && !selects(only, [stepName(method)])) continue;
    const speed = await measureMethod(engine, method, { threads, runs, signal });
    speeds[method] = speed;
    if (selects(only, [stepName(method)]))
      report(stepName(method), "tok/s", speed.tokensPerSecond, { shares: speed.shares });
  }
  const { ppo, gspo } = speeds;
  if (ppo !== undefined && gspo !== undefined)
    await measure("ppo_over_gspo", "times the time of a step", () => ppo.step / gspo.step, false);

  const { gguf } = options;
  if (gguf !== undefined && needsGguf(only)) {
    const model = await engine.open(gguf, { threads });
    try {
      const batch = (n: number) => timed(64 * n, few, () => decode(model, vocab, n, 64));
      await measure("decode_smollm2_q4_1_tok_s", "tok/s", () => batch(1));
      await measure("decode_smollm2_q4_1_batch_16_tok_s", "tok/s", () => batch(16));
      const prompt = randomTokens(512, vocab, 5);
      await measure("prefill_smollm2_q4_1_512_tok_s", "tok/s", () =>
        timed(512, few, () => model.sample([{ prompt, maxTokens: 1, temperature: 0, seed: 1 }])),
      );
    } finally {
      await model.close();
    }
  }
  const { simd } = engine.devices()[0] ?? { simd: "unknown" };
  const cpu = cpus()[0]?.model.trim() ?? "unknown";
  return { machine: { cpu, simd, threads, memory: totalmem(), engine: engine.version, runs }, results };
}

/** A model of `shape` with random weights in a temporary folder that is gone afterwards. */
async function withModel(
  engine: Engine,
  shape: Shape,
  threads: number,
  use: (model: Model) => Promise<void>,
  needed: boolean,
  trainable: "full" | "none" = "full",
): Promise<void> {
  if (!needed) return;
  const folder = mkdtempSync(join(tmpdir(), "hone-bench-"));
  try {
    createModel(folder, config(shape), 1);
    const model = await engine.open(folder, { trainable, threads });
    try {
      await use(model);
    } finally {
      await model.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
