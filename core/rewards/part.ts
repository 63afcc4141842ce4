/** What stands behind one entry of a reward file. */

import type { RewardAnswer, RewardPartOptions, RewardPartType, RewardSample, RewardUsage } from "../contract/reward.ts";

/** A part's options with the name that it goes by. */
export type PartOptions<Type extends RewardPartType> = RewardPartOptions[Type] & { name: string };

export interface PartContext {
  /** The folder that paths in the reward file are relative to. */
  folder: string;
  /** Where a judge's answers are kept. */
  cacheFolder: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Ends what is being scored at once. */
  signal?: AbortSignal | undefined;
}

export interface OpenPart {
  /** What is paid for, with the range of the value. */
  description: string;
  /** Names and weights of what it answers, where one part gives several values. */
  parts?: Record<string, number>;
  score(sample: RewardSample): RewardAnswer | Promise<RewardAnswer>;
  usage?(): RewardUsage;
  close?(): Promise<void>;
}

export type OpenPartOf<Type extends RewardPartType> = (
  options: PartOptions<Type>,
  context: PartContext,
) => OpenPart | Promise<OpenPart>;
