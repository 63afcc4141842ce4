/** One step's rollouts: which prompts, the sampled answers, and what they were worth. */

import { HoneError } from "../contract/errors.ts";
import { deriveSeed } from "../contract/random.ts";
import type { RunConfig } from "../contract/config.ts";
import type { RolloutLine } from "../contract/run.ts";
import type { EnginePolicy, GroupPrompt, GroupSettings } from "../evaluate/policy.ts";
import type { Answer } from "../evaluate/policy-types.ts";
import type { Score, Task, TaskRow } from "../tasks/task.ts";
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
    this.#render = (row) => policy.chat.renderPrompt(task.prompt(row), task.tools, task.toolChoice);
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

/** What is asked for each prompt of a step. */
export function groupPrompts(
  task: Task,
  config: RunConfig,
  step: number,
  prompts: readonly TrainPrompt[],
  maxLength: number,
): GroupPrompt[] {
  return prompts.map(({ promptIds }, i) => ({
    promptTokens: promptIds,
    tools: task.tools,
    seed: deriveSeed(config.seed, "rollout", step, i),
    maxTokens: Math.min(config.max_completion_length, maxLength - promptIds.length),
  }));
}

export function samplingOf({ temperature, top_p, top_k, min_p }: RunConfig): GroupSettings {
  return { temperature, topP: top_p, topK: top_k, minP: min_p };
}

/** Samples and scores every prompt's group. The draws depend on the run's seed, the step and the place in it, on nothing else. */
export async function sampleGroups(
  policy: EnginePolicy,
  task: Task,
  config: RunConfig,
  step: number,
  prompts: readonly TrainPrompt[],
  maxLength: number,
  signal: AbortSignal,
): Promise<RolloutGroup[]> {
  const asked = groupPrompts(task, config, step, prompts, maxLength);
  const groups = await policy.answerGroups(asked, config.num_generations, { ...samplingOf(config), signal });
  return Promise.all(
    prompts.map(async ({ row, promptIds }, i) => ({
      row,
      promptIds,
      answers: await Promise.all(
        groups[i].map((answer, j) => toRollout(task, { row, promptIds }, answer, j, asked[i].seed)),
      ),
    })),
  );
}

async function toRollout(
  task: Task,
  { row, promptIds }: TrainPrompt,
  answer: Answer,
  index: number,
  seed: number,
): Promise<Rollout> {
  const { score } = await task.start(row, deriveSeed(seed, index)).step(answer);
  if (score === undefined) throw new Error(`task ${task.name} takes several turns`);
  if (!Number.isFinite(score.reward)) {
    throw new HoneError("bad-reward", `the reward of answer ${index} to row ${row.id} is ${score.reward}`, {
      fix: "a reward must be a finite number: mend the task's score function",
    });
  }
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
