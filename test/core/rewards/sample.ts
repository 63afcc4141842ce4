/** Samples and reward files for tests. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { HoneError } from "../../../core/contract/errors.ts";
import type { RewardFile, RewardSample } from "../../../core/contract/reward.ts";
import { openReward } from "../../../core/rewards/open-reward.ts";
import type { PartContext } from "../../../core/rewards/part.ts";
import type { Reward } from "../../../core/rewards/reward.ts";

export const scratch = mkdtempSync(join(tmpdir(), "hone-rewards-"));

export function file(name: string, text: string): string {
  const path = join(scratch, name);
  writeFileSync(path, text);
  return path;
}

/** An answer with its row; what it leaves out is that of a finished answer without calls. */
export function sample(
  answer: string,
  row: Record<string, unknown> = {},
  more: Partial<RewardSample> = {},
): RewardSample {
  return {
    prompt: [{ role: "user", content: "What is it?" }],
    completion: answer,
    answer,
    reasoning: "",
    messages: [
      { role: "user", content: "What is it?" },
      { role: "assistant", content: answer },
    ],
    tool_calls: [],
    problems: [],
    stop_reason: "eos",
    completion_ids: [5, 6, 7],
    logprobs: [-1, -1, -1],
    loss_mask: [1, 1, 1],
    row_id: "row-1",
    row,
    prompt_index: 0,
    sample_index: 0,
    ...more,
  };
}

/** Opens a reward that is closed with the test. */
export async function open(spec: string | RewardFile, context: Partial<PartContext> = {}): Promise<Reward> {
  const reward = await openReward(spec, { folder: scratch, cacheFolder: join(scratch, "cache"), ...context });
  onTestFinished(() => reward.close());
  return reward;
}

/** The value of a single part. */
export async function value(part: RewardFile["parts"][number], one: RewardSample): Promise<number> {
  return (await (await open({ parts: [part] })).score(one)).reward;
}

/** Code, message and fix of the error that something fails with, in one text. */
export async function failure(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    const { code, message, fix } = error as HoneError;
    return `${code}: ${message} → ${fix ?? ""}`;
  }
  throw new Error("it did not fail");
}
