/** One step's rollouts: which prompts, the sampled answers, and what they were worth. */

import { HoneError } from "../contract/errors.ts";
import { deriveSeed } from "../contract/random.ts";
import type { RunConfig } from "../contract/config.ts";
import type { RolloutLine } from "../contract/run.ts";
import { runEpisodes, type EpisodeJob } from "../evaluate/episodes.ts";
import type { EnginePolicy } from "../evaluate/policy.ts";
import type { Answer, PolicySettings } from "../evaluate/policy-types.ts";
import { toolsOf, type Score, type Task, type TaskRow } from "../tasks/task.ts";
import type { TokenRow } from "./micro-batches.ts";
import type { PromptOrder } from "./prompt-order.ts";

/** A row with its prompt as token ids. */
export interface TrainPrompt {
  row: TaskRow;
  promptIds: Int32Array;
}

export interface Rollout extends TokenRow {
  answer: Answer;
  score: Score;
  /** Log-probs of the answer's tokens under the policy that gave it, at the temperature of training. */
  old: Float32Array;
  /** Under the frozen reference; only with `beta` above 0. */
  reference?: Float32Array;
  advantage: number;
  /** False leaves the whole answer out of the loss. */
  trained: boolean;
}

/** All answers to one prompt. */
export interface RolloutGroup {
  row: TaskRow;
  promptIds: Int32Array;
  answers: Rollout[];
}

/** Renders rows once each; a prompt of a row never changes. */
export class PromptCache {
  readonly #render: (row: TaskRow) => Int32Array;
  readonly #known = new Map<string, Int32Array>();

  constructor(policy: EnginePolicy, task: Task) {
    this.#render = (row) => policy.chat.renderPrompt(task.prompt(row), toolsOf(task, row), task.toolChoice);
  }

  get(row: TaskRow): TrainPrompt {
    let promptIds = this.#known.get(row.id);
    if (promptIds === undefined) {
      promptIds = this.#render(row);
      this.#known.set(row.id, promptIds);
    }
    return { row, promptIds };
  }
}

/**
 * The next prompts of the seeded order. A prompt that leaves no room for an answer within `maxLength` is passed over
 * and counted; when every row is too long the run cannot go on (`prompts-too-long`).
 */
export function choosePrompts(
  order: PromptOrder,
  rows: readonly TaskRow[],
  cache: PromptCache,
  count: number,
  maxLength: number,
): { prompts: TrainPrompt[]; tooLong: number } {
  const prompts: TrainPrompt[] = [];
  let tooLong = 0;
  while (prompts.length < count) {
    const prompt = cache.get(rows[order.next()]);
    if (prompt.promptIds.length < maxLength) prompts.push(prompt);
    else tooLong += 1;
    if (tooLong > 2 * rows.length) {
      throw new HoneError("prompts-too-long", `every training prompt has ${maxLength} tokens or more`, {
        fix: "raise max_length, or use a model with a longer context",
      });
    }
  }
  return { prompts, tooLong };
}

/** What is asked for each prompt of a step. The draws depend on the run's seed, the step and the place in it, on nothing else. */
export function episodeJobs(config: RunConfig, step: number, prompts: readonly TrainPrompt[]): EpisodeJob[] {
  return prompts.map(({ row, promptIds }, i) => ({
    row,
    promptTokens: promptIds,
    seed: deriveSeed(config.seed, "rollout", step, i),
    n: config.num_generations,
  }));
}

export function samplingOf(config: RunConfig): PolicySettings {
  return {
    temperature: config.temperature,
    topP: config.top_p,
    topK: config.top_k,
    minP: config.min_p,
    maxTokens: config.max_completion_length,
    maxLength: config.max_length,
  };
}

/** Plays and scores every prompt's group. */
export async function sampleGroups(
  policy: EnginePolicy,
  task: Task,
  config: RunConfig,
  step: number,
  prompts: readonly TrainPrompt[],
  signal: AbortSignal,
): Promise<RolloutGroup[]> {
  const jobs = episodeJobs(config, step, prompts);
  const groups = await runEpisodes(policy, task, jobs, { ...samplingOf(config), signal });
  return groups.map((trajectories, i) => ({
    ...prompts[i],
    answers: trajectories.flatMap(({ turns: [answer], score }) =>
      score === undefined ? [] : [toRollout(prompts[i], answer, score)],
    ),
  }));
}

function toRollout({ promptIds }: TrainPrompt, answer: Answer, score: Score): Rollout {
  const { tokens: ids, logprobs: old } = answer;
  return { answer, promptIds, ids, mask: new Uint8Array(ids.length).fill(1), score, old, advantage: 0, trained: true };
}

/** Rollouts as they are kept in `rollouts/step_<N>.jsonl`. `readText` makes the prompts readable. */
export function toRolloutLines(
  step: number,
  groups: readonly RolloutGroup[],
  readText: (ids: Int32Array) => string,
): RolloutLine[] {
  return groups.flatMap(({ row, promptIds, answers }, promptIndex) => {
    const prompt = readText(promptIds);
    return answers.map(({ answer, score, advantage }, sampleIndex) => ({
      step,
      prompt_index: promptIndex,
      sample_index: sampleIndex,
      trajectory_id: `${step}-${promptIndex}-${sampleIndex}`,
      row_id: row.id,
      prompt,
      prompt_ids: [...promptIds],
      completion: answer.text,
      completion_ids: [...answer.tokens],
      logprobs: Array.from(answer.logprobs, (logprob) => Number(logprob.toPrecision(7))),
      reward: score.reward,
      reward_parts: score.parts,
      advantage,
      stop_reason: answer.stopReason,
      failure: score.info.failure ?? null,
    }));
  });
}
