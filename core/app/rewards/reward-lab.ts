/** The reward lab: a reward on stored rollouts, without training. */

import { HoneError } from "../../contract/errors.ts";
import { allEqual } from "../../contract/numbers.ts";
import type { RewardPart, RewardResult, RewardTrial, ScoredRollout } from "../../contract/reward.ts";
import { openReward } from "../../rewards/open-reward.ts";
import type { Reward } from "../../rewards/reward.ts";
import { rolloutsOfFile, rolloutsOfRun, type StoredRollout } from "../data/stored-rollouts.ts";
import { controlFigures, suspectHacking, type Judged } from "./reward-hacking.ts";
import { distribution, rankCorrelation } from "./reward-statistics.ts";

export interface TrialRequest {
  /** Reward file. */
  reward: string;
  /** Run by name or folder, or a JSON Lines file. */
  from: { run: string; step: number | "all" } | { file: string };
}

export interface TrialOptions {
  signal?: AbortSignal;
  /** Rollouts scored so far, of all. */
  onProgress?: (done: number, of: number) => void;
}

/** Rollouts that are scored together. */
const batchSize = 64;
const firstBatch = 2;
const shownFailures = 5;
const shownRollouts = 3;

/** Throws what opening the reward and reading the rollouts throw, and the first failure when no rollout could be scored. */
export async function tryReward(request: TrialRequest, options: TrialOptions = {}): Promise<RewardTrial> {
  const begun = performance.now();
  const reward = await openReward(request.reward, { signal: options.signal });
  try {
    const { from } = request;
    const { source, rollouts, notes } =
      "run" in from ? await rolloutsOfRun(from.run, from.step) : rolloutsOfFile(from.file);
    const scores = await scoreRollouts(reward, rollouts, options);
    const first = scores.find((one) => "failed" in one);
    const judged = judgedOf(rollouts, scores);
    if (judged.length === 0 && first !== undefined) throw first.failed;
    return {
      reward: request.reward,
      source,
      ...trialFigures(judged, reward.parts),
      ...trialFailures(rollouts, scores),
      notes: [...notes, ...tokenNotes(rollouts)],
      usage: reward.usage() ?? null,
      seconds: (performance.now() - begun) / 1000,
    };
  } finally {
    await reward.close();
  }
}

/** What a reward made of one rollout. */
export type RolloutScore = RewardResult | { failed: HoneError };

/** One score for each rollout, in their order. `giveUp`: asked after each batch whether the rest is still worth its time. */
export async function scoreRollouts(
  reward: Reward,
  rollouts: readonly StoredRollout[],
  { signal, onProgress, giveUp }: TrialOptions & { giveUp?: (scores: readonly RolloutScore[]) => boolean } = {},
): Promise<RolloutScore[]> {
  const scores: RolloutScore[] = [];
  // The first few by themselves: whether a reward works at all is told at once.
  for (let begin = 0, end = firstBatch; begin < rollouts.length; begin = end, end += batchSize) {
    signal?.throwIfAborted();
    const batch = rollouts.slice(begin, end).map(async ({ sample }): Promise<RolloutScore> => {
      try {
        return await reward.score(sample);
      } catch (error) {
        // A sample that cannot be scored says something about the reward; anything else ends the trial.
        if (!(error instanceof HoneError) || error.code !== "bad-reward") throw error;
        return { failed: error };
      }
    });
    scores.push(...(await Promise.all(batch)));
    onProgress?.(scores.length, rollouts.length);
    if (giveUp?.(scores) === true) break;
  }
  return scores;
}

/** The rollouts that have a score. A script's part that appeared late was worth 0 before. */
export function judgedOf(rollouts: readonly StoredRollout[], scores: readonly RolloutScore[]): Judged[] {
  const judged = scores.flatMap((score, i) =>
    "failed" in score ? [] : [{ ...rollouts[i], reward: score.reward, parts: score.parts }],
  );
  const names = [...new Set(judged.flatMap(({ parts }) => Object.keys(parts)))];
  return judged.map((one) => ({
    ...one,
    parts: Object.fromEntries(names.map((name) => [name, one.parts[name] ?? 0])),
  }));
}

export function trialFailures(
  rollouts: readonly StoredRollout[],
  scores: readonly RolloutScore[],
): Pick<RewardTrial, "failed" | "failures"> {
  const failures = scores.flatMap((score, i) => {
    const { step, sample } = rollouts[i];
    return "failed" in score ? [{ step, row_id: sample.row_id, message: score.failed.message }] : [];
  });
  return { failed: failures.length, failures: failures.slice(0, shownFailures) };
}

type Figures = Omit<RewardTrial, "reward" | "source" | "failed" | "failures" | "notes" | "usage" | "seconds">;

/** Of at least one rollout. */
export function trialFigures(judged: readonly Judged[], parts: readonly RewardPart[]): Figures {
  const rewards = judged.map((one) => one.reward);
  const weights = new Map(parts.map(({ name, weight }) => [name, weight]));
  const names = Object.keys(judged[0].parts);
  const columns = new Map(names.map((name) => [name, judged.map(({ parts }) => parts[name])]));
  const stored = judged.every((one) => one.stored !== undefined)
    ? judged.map((one) => one.stored?.reward ?? 0)
    : undefined;
  const groups = [...Map.groupBy(judged, ({ step, sample }) => `${step} ${sample.prompt_index}`).values()];
  const equal = (of: (one: Judged) => number) => groups.filter((group) => allEqual(group.map(of))).length;
  const ordered = judged.toSorted((a, b) => b.reward - a.reward);
  return {
    steps: [...new Set(judged.map(({ step }) => step))].sort((a, b) => a - b),
    samples: judged.length,
    total: distribution(rewards),
    parts: Object.fromEntries(
      Array.from(columns, ([name, values]) => [name, { weight: weights.get(name) ?? 0, ...distribution(values) }]),
    ),
    groups: {
      count: groups.length,
      zero_variance: equal((one) => one.reward),
      stored_zero_variance: stored === undefined ? null : equal((one) => one.stored?.reward ?? 0),
    },
    agreement: [
      ...names.flatMap((a, i) => names.slice(i + 1).map((b) => correlation(a, b, columns.get(a), columns.get(b)))),
      ...(stored === undefined ? [] : [correlation("reward", "stored_reward", rewards, stored)]),
    ],
    controls: controlFigures(judged),
    best: ordered.slice(0, shownRollouts).map(shown),
    worst: ordered.slice(-shownRollouts).reverse().map(shown),
    suspicions: suspectHacking(judged),
  };
}

function correlation(a: string, b: string, x: readonly number[] = [], y: readonly number[] = []) {
  return { a, b, rank_correlation: rankCorrelation(x, y) };
}

function shown({ step, sample, promptText, reward, parts, stored }: Judged): ScoredRollout {
  return {
    step,
    prompt_index: sample.prompt_index,
    sample_index: sample.sample_index,
    row_id: sample.row_id,
    prompt: promptText,
    completion: sample.completion,
    reward,
    parts,
    stored_reward: stored?.reward ?? null,
  };
}

/** What a user should know of rollouts that lack something. */
export function tokenNotes(rollouts: readonly StoredRollout[]): string[] {
  if (rollouts.some(({ sample }) => sample.completion_ids.length > 0)) return [];
  return ["the rollouts have no completion_ids: a part that counts tokens sees none"];
}
