/** What a model would need, before its weights are here. */

import { wholePlan } from "./engine.ts";
import { loadNative, toHoneError } from "./native.ts";
import type { MemoryEstimate, MemoryPlan, ModelInfo } from "./types.ts";

export interface PlannedModel {
  /** The model's `config.json`, as text. */
  config: string;
  /** What messages call it. */
  origin: string;
  /** Bytes of the weights as stored. */
  weightBytes: number;
  /** What is trained. `full`: all weights are held in fp32. */
  trainable: "full" | "lora" | "none";
  /** Rank of the adapter on all linear layers. Default 16. */
  loraRank?: number;
  /** Layers are made again in backward, as the engine does where memory asks for it. */
  recompute?: boolean;
}

export type MemoryForecast = Pick<
  ModelInfo,
  "architecture" | "parameters" | "layers" | "contextLength" | "kvBytesPerToken"
> & { memory: MemoryEstimate };

/**
 * The engine's own estimate (`Model.estimateMemory`) for a model that is not opened. Throws what opening it would:
 * `unknown-architecture`, `unsupported-config`, `unsupported-rope`, `bad-config`.
 */
export function planMemory(model: PlannedModel, plan: MemoryPlan): MemoryForecast {
  try {
    return loadNative().planMemory(model.config, model.origin, {
      weightBytes: model.weightBytes,
      trainable: model.trainable,
      loraR: model.loraRank ?? 16,
      recompute: model.recompute ?? false,
      plan: wholePlan(plan),
    });
  } catch (error) {
    throw toHoneError(error);
  }
}
