/** Opens a model for training: with its weights or a LoRA adapter trainable, fresh or as a checkpoint left it. */

import { join } from "node:path";
import type { RunConfig } from "../contract/config.ts";
import { HoneError } from "../contract/errors.ts";
import { formatBytes } from "../contract/units.ts";
import type { Engine, Model, OpenProgress } from "../engine/types.ts";
import { optimizerStateName } from "./checkpoints.ts";
import { adapterOptions, openModel, type ModelFiles } from "./model-ref.ts";
import type { ReferenceForward } from "./update.ts";

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
  const isFull = config.finetuning_type === "full";
  const weights = isFull && checkpoint !== undefined ? checkpoint : files.weights;
  const model = await engine.open(weights, { ...options, trainable: isFull ? "full" : "none" }, onProgress);
  try {
    if (!isFull) {
      await model.attachLora(loraOptions(config, files));
      const adapter = checkpoint ?? files.adapter;
      if (adapter !== undefined) await model.loadAdapter(adapter);
    }
    if (checkpoint !== undefined) await model.loadState(join(checkpoint, optimizerStateName));
    return model;
  } catch (error) {
    await model.close();
    throw error;
  }
}

function loraOptions(config: RunConfig, files: ModelFiles) {
  if (files.adapter !== undefined) {
    const given = adapterOptions(files.adapter, config.seed);
    if (given.r !== config.lora_r || given.lora_alpha !== config.lora_alpha) {
      throw new HoneError(
        "bad-config",
        `${files.name} has an adapter of rank ${given.r} and alpha ${given.lora_alpha}, ` +
          `and the configuration asks for ${config.lora_r} and ${config.lora_alpha}`,
        { fix: `set lora_r ${given.r} and lora_alpha ${given.lora_alpha}` },
      );
    }
    return { ...given, lora_dropout: config.lora_dropout };
  }
  return {
    r: config.lora_r,
    lora_alpha: config.lora_alpha,
    lora_dropout: config.lora_dropout,
    ...(config.lora_target_modules !== null && { target_modules: config.lora_target_modules }),
    seed: config.seed,
  };
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
): Promise<{ forward: ReferenceForward; close: () => Promise<void> } | undefined> {
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

/** Candidates for the tokens of one forward and backward pass, most first. */
const microBatchTokens = [16384, 8192, 4096, 2048, 1024, 512, 256];
/** Part of the free memory that training may plan with: the rest is the operating system's and our own. */
const usableShare = 0.85;

/**
 * Tokens of one pass: what the user said, or the most that fits. Throws `out-of-memory` with numbers when it cannot fit.
 * `freeBefore`: bytes that were free before the model was opened.
 */
export async function chooseMicroBatchTokens(config: RunConfig, model: Model, freeBefore: number): Promise<number> {
  const limit = config.memory_limit ?? usableShare * freeBefore;
  const needed = async (tokens: number) => (await model.estimateMemory({ tokens, targets: tokens })).total;
  const candidates = config.micro_batch_tokens === null ? microBatchTokens : [config.micro_batch_tokens];
  let least = 0;
  for (const tokens of candidates) {
    least = await needed(tokens);
    if (least <= limit) return tokens;
  }
  throw new HoneError(
    "out-of-memory",
    `training with ${candidates[candidates.length - 1]} tokens at a time needs about ${formatBytes(least)}, ` +
      `and ${formatBytes(limit)} may be used`,
    {
      fix:
        config.micro_batch_tokens === null
          ? "train a LoRA adapter, use a smaller or quantised model, or free memory"
          : "lower micro_batch_tokens, or leave it out",
    },
  );
}
