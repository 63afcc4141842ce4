/** How much disk a run will take, before it begins. */

import { isUsed, type RunConfig } from "../../contract/config.ts";
import type { ModelInfo } from "../../engine/types.ts";

/** fp32 weights as saved, and two fp32 moments for each trained element. */
const bytesPerTrainedElement = 12;
/** One token of a rollout as JSON: its id and its log-prob. */
const bytesPerRolloutToken = 20;
const bytesPerRolloutLine = 600;
const checkpointOverhead = 2_000_000;

function checkpointBytes(info: Pick<ModelInfo, "trainableParameters">): number {
  return bytesPerTrainedElement * info.trainableParameters + checkpointOverhead;
}

/**
 * Bytes that a run may come to: the checkpoints it keeps, the best one, one in the making, and its rollouts at half of
 * the answers' limit.
 */
export function runBytes(
  config: RunConfig,
  info: Pick<ModelInfo, "trainableParameters">,
  steps: number,
  promptTokens: number,
): number {
  const checkpoints = (config.save_total_limit + 2) * checkpointBytes(info);
  if (!isUsed("log_completions", config) || !config.log_completions) return checkpoints;
  const rollouts = steps * config.prompts_per_step * config.num_generations;
  const tokens = promptTokens / 2 + config.max_completion_length / 2;
  return checkpoints + rollouts * (bytesPerRolloutLine + bytesPerRolloutToken * tokens);
}
