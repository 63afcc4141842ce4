/** A reward: named, weighted parts that turn a sample into one number. */

import type { RewardPart, RewardResult, RewardSample, RewardUsage } from "../contract/reward.ts";

export interface Reward {
  /** A script that names its parts only as it answers adds them here. */
  readonly parts: RewardPart[];
  /**
   * Throws `HoneError` `bad-reward` when this sample cannot be scored (it names the sample; other samples may well be
   * scored), `reward-unavailable` when no sample can (a program does not start, a judge is away).
   */
  score(sample: RewardSample): Promise<RewardResult>;
  /** What its judges cost so far; undefined when it has none. */
  usage(): RewardUsage | undefined;
  /** Ends programs and sandboxes that the reward has started. */
  close(): Promise<void>;
}
