/** Opens a model for training: with its weights or a LoRA adapter trainable, fresh or as a checkpoint left it. */

import { join } from "node:path";
import type { RunConfig } from "../contract/config.ts";
import { HoneError } from "../contract/errors.ts";
import { formatBytes } from "../contract/units.ts";
import type { Engine, LoraOptions, MemoryEstimate, MemoryPlan, Model, OpenProgress } from "../engine/types.ts";
import type { Forward } from "../evaluate/score-rows.ts";
import { optimizerStateName } from "./run-folder/checkpoints.ts";
import { adapterSettings, openModel, type ModelFiles } from "./model-ref.ts";

export async function openTrainable(
  engine: Engine,
  config: RunConfig,
  files: ModelFiles,
  checkpoint: string | undefined,
  onProgress?: (progress: OpenProgress) => void,
): Promise<Model> {
  const options = {
    ...(config.threads !== null && { threads: config.threads }),
    ...(config.memory_limit !== null && { memoryLimit: config.memory_limit }),
  };
  if (config.finetuning_type === "full" && files.adapter !== undefined) {
    throw new HoneError("bad-config", `${files.name} is a LoRA adapter, which full fine-tuning cannot go on from`, {
      fix: "use finetuning_type lora, or train the base model",
    });
  }
  if (files.adapter !== undefined) refuseOtherAdapter(config, files.name, files.adapter);
  const isFull = config.finetuning_type === "full";
  const weights = isFull && checkpoint !== undefined ? checkpoint : files.weights;
  const model = await engine.open(weights, { ...options, trainable: isFull ? "full" : "none" }, onProgress);
  try {
    if (!isFull) {
      const adapter = checkpoint ?? files.adapter;
      if (adapter === undefined) await model.attachLora(newAdapter(config));
      else await model.loadAdapter(adapter);
    }
    if (checkpoint !== undefined) await model.loadState(join(checkpoint, optimizerStateName));
    return model;
  } catch (error) {
    await model.close();
    throw error;
  }
}

function newAdapter(config: RunConfig): LoraOptions {
  return {
    r: config.lora_r,
    lora_alpha: config.lora_alpha,
    lora_dropout: config.lora_dropout,
    ...(config.lora_target_modules !== null && { target_modules: config.lora_target_modules }),
    seed: config.seed,
  };
}

/** A run that begins from an adapter trains that adapter on: it cannot have another shape. */
function refuseOtherAdapter(config: RunConfig, name: string, folder: string): void {
  const settings = adapterSettings(folder);
  if (config.method === "dpo" && settings.lora_dropout > 0) {
    throw new HoneError(
      "bad-config",
      `the adapter ${name} has lora_dropout ${settings.lora_dropout}, and DPO trains without`,
      {
        fix: "go on from a copy of its folder with lora_dropout 0 in adapter_config.json",
      },
    );
  }
  for (const option of ["lora_r", "lora_alpha", "lora_dropout"] as const) {
    if (settings[option] === config[option]) continue;
    throw new HoneError(
      "bad-config",
      `the adapter ${name} has ${option} ${settings[option]}, and the configuration asks for ${config[option]}`,
      { fix: `set ${option} ${settings[option]}` },
    );
  }
}

/**
 * The frozen model that the KL term holds on to. A new adapter's base is that model, for free; otherwise a second copy is
 * opened, which `close` frees.
 */
export async function openReference(
  engine: Engine,
  config: RunConfig,
  files: ModelFiles,
  model: Model,
): Promise<{ forward: Forward; close: () => Promise<void> } | undefined> {
  if (config.beta === 0) return undefined;
  if (config.finetuning_type === "lora" && files.adapter === undefined) {
    return {
      forward: (batch, options) => model.withoutLora(() => model.forward(batch, options)),
      close: async () => undefined,
    };
  }
  const copy = await openModel(engine, files, config.threads === null ? {} : { threads: config.threads });
  return { forward: (batch, options) => copy.forward(batch, options), close: () => copy.close() };
}

/** Candidates for the tokens of one forward and backward pass, most first; beyond this many a processor gains nothing. */
const microBatchTokens = [4096, 2048, 1024, 512, 256];
/** Part of the free memory that training may plan with: the rest is the operating system's and our own. */
const usableShare = 0.85;
/** Activations that a pass may take when a smaller one would do. Bytes. */
const comfortableActivations = 2e9;

/**
 * Tokens of one pass, and what it takes: the most that is of use and fits comfortably into `limit` bytes, or else the
 * least of the candidates, whether that fits or not.
 */
export async function comfortablePass(
  estimateMemory: (plan: MemoryPlan) => MemoryEstimate | Promise<MemoryEstimate>,
  limit: number,
  candidates: readonly number[] = microBatchTokens,
): Promise<{ tokens: number; estimate: MemoryEstimate }> {
  let tokens = candidates[0];
  let estimate = await estimateMemory({ tokens, targets: tokens });
  for (const fewer of candidates.slice(1)) {
    if (estimate.total <= limit && estimate.activations <= comfortableActivations) break;
    tokens = fewer;
    estimate = await estimateMemory({ tokens, targets: tokens });
  }
  return { tokens, estimate };
}

/** Bytes that training may plan with, of those that are free. */
export function trainingLimit(free: number): number {
  return usableShare * free;
}

/**
 * Tokens of one pass: what the user said, or as `comfortablePass` chooses. Throws `out-of-memory` with numbers when that
 * cannot fit. `freeBefore`: bytes that were free before the model was opened.
 */
export async function chooseMicroBatchTokens(config: RunConfig, model: Model, freeBefore: number): Promise<number> {
  const limit = config.memory_limit ?? trainingLimit(freeBefore);
  const wanted = config.micro_batch_tokens;
  const { tokens, estimate } = await comfortablePass(
    (plan) => model.estimateMemory(plan),
    limit,
    wanted === null ? microBatchTokens : [wanted],
  );
  if (estimate.total <= limit) return tokens;
  throw new HoneError(
    "out-of-memory",
    `training with ${tokens} tokens at a time needs about ${formatBytes(estimate.total)}, ` +
      `and ${formatBytes(limit)} may be used`,
    {
      fix:
        wanted === null
          ? "train a LoRA adapter, use a smaller or quantised model, or free memory"
          : "lower micro_batch_tokens, or leave it out",
    },
  );
}
