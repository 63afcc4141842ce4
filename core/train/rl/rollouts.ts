/** One step's rollouts: which prompts, the episodes played on them, and what they were worth. */

import { HoneError } from "../../contract/errors.ts";
import { allEqual } from "../../contract/numbers.ts";
import { deriveSeed } from "../../contract/random.ts";
import type { RewardUsage } from "../../contract/reward.ts";
import type { RunConfig } from "../../contract/config.ts";
import { plural } from "../../contract/units.ts";
import { runEpisodes, type EpisodeJob, type EpisodeSettings, type Trajectory } from "../../evaluate/episodes.ts";
import type { EnginePolicy } from "../../evaluate/policy.ts";
import type { PolicySettings } from "../../evaluate/policy-types.ts";
import { toolsOf, type Score, type Task, type TaskRow } from "../../tasks/task.ts";
import { isCut } from "../../text/parse-assistant.ts";
import { PromptOrder, type DataCursor } from "../prompt-order.ts";
import { trajectoryRows, type TrajectoryRow } from "./trajectory-rows.ts";

/** A row with its prompt as token ids. */
export interface TrainPrompt {
  row: TaskRow;
  promptIds: Int32Array;
}

/** A part of a rollout that is one sequence for the model, and what is known of its tokens. */
export interface RolloutRow extends TrajectoryRow {
  rollout: Rollout;
  /** Log-probs under the policy that wrote it, at the temperature of training. */
  old: Float32Array;
  /** Under the frozen reference; only with `beta` above 0. */
  reference?: Float32Array;
  /** What a critic made of it; PPO only. */
  critic?: CriticValues;
}

/** Arrays over a row's ids; advantages and returns are 0 where nothing is trained. */
export interface CriticValues {
  /** V at the position that predicts the token, before the update. */
  values: Float32Array;
  /** V after the last token. */
  endValue: number;
  advantages: Float64Array;
  returns: Float64Array;
}

export interface Rollout {
  /** Step, prompt and sample: the name of the trajectory. */
  id: string;
  trajectory: Trajectory;
  /** With the penalty of a cut answer taken off, if there is one. */
  score: Score;
  rows: RolloutRow[];
  /** Of the whole trajectory; with PPO the mean over its trained tokens. */
  advantage: number;
  /** False leaves it out of the loss. */
  trained: boolean;
}

/** All rollouts of one prompt. */
export interface RolloutGroup extends TrainPrompt {
  rollouts: Rollout[];
  /** What went wrong in those that count for nothing. */
  invalid: string[];
}

export interface RolloutBatch {
  /** Everything that was drawn. */
  drawn: RolloutGroup[];
  /** What is trained on: the same, unless groups that teach nothing were dropped. */
  groups: RolloutGroup[];
  /** What was passed over, by reason, and what dynamic sampling did. */
  metrics: Record<string, number>;
  cursor: DataCursor;
  epoch: number;
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
  let shortest = Infinity;
  while (prompts.length < count) {
    const prompt = cache.get(rows[order.next()]);
    const { length } = prompt.promptIds;
    if (length < maxLength) prompts.push(prompt);
    else tooLong += 1;
    shortest = Math.min(shortest, length);
    if (tooLong > 2 * rows.length) {
      const message = `the shortest training prompt has ${shortest} tokens, and prompt and answer together may have ${maxLength}`;
      throw new HoneError("prompts-too-long", message, {
        fix: "raise max_length, or use a model with a longer context",
      });
    }
  }
  return { prompts, tooLong };
}

/**
 * What is asked for each prompt of a step. The draws depend on the run's seed, the step and the place in it, on nothing
 * else. `first`: the place of the first prompt.
 */
export function episodeJobs(config: RunConfig, step: number, prompts: readonly TrainPrompt[], first = 0): EpisodeJob[] {
  return prompts.map(({ row, promptIds }, i) => ({
    row,
    promptTokens: promptIds,
    seed: deriveSeed(config.seed, "rollout", step, first + i),
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

export interface RolloutSource {
  config: RunConfig;
  policy: EnginePolicy;
  task: Task;
  /** Training rows. */
  rows: readonly TaskRow[];
}

export class RolloutSampler {
  readonly #source: RolloutSource;
  readonly #cache: PromptCache;
  readonly #maxLength: number;

  constructor(source: RolloutSource) {
    this.#source = source;
    this.#cache = new PromptCache(source.policy, source.task);
    this.#maxLength = Math.min(source.config.max_length, source.policy.model.info().contextLength);
  }

  get firstCursor(): DataCursor {
    return new PromptOrder(this.#source.rows.length, this.#source.config.seed).cursor();
  }

  /**
   * Draws a step's rollouts, from where the cursor stands. With `dynamic_sampling` groups of equal rewards are dropped
   * and further prompts drawn in their place, in at most `dynamic_sampling_max` more batches; when none is left, the first
   * batch stays as it is, so that the run shows what is the matter. Throws `no-valid-episode` when every one failed.
   */
  async draw(
    step: number,
    { cursor, note, signal }: { cursor: DataCursor; note: (message: string) => void; signal: AbortSignal },
  ): Promise<RolloutBatch> {
    const { config, rows } = this.#source;
    const order = new PromptOrder(rows.length, config.seed, cursor);
    const spentBefore = this.#source.task.usage?.();
    const drawn: RolloutGroup[] = [];
    const batches = 1 + (config.dynamic_sampling ? config.dynamic_sampling_max : 0);
    let groups: RolloutGroup[] = [];
    let skipped = 0;
    for (let batch = 0; batch < batches && groups.length < config.prompts_per_step; batch++) {
      const count = config.prompts_per_step - groups.length;
      const { prompts, tooLong } = choosePrompts(order, rows, this.#cache, count, this.#maxLength);
      skipped += tooLong;
      drawn.push(...(await this.#play(step, prompts, drawn.length, signal)));
      groups = config.dynamic_sampling ? drawn.filter(teaches) : drawn;
    }
    const usable = (list: RolloutGroup[]) => list.filter(({ rollouts }) => rollouts.length > 0);
    const invalid = drawn.flatMap((group) => group.invalid);
    if (usable(drawn).length === 0) {
      throw new HoneError(
        "no-valid-episode",
        `all ${invalid.length} episodes of step ${step} failed for reasons that are not the model's, the first with: ${invalid[0]}`,
        { fix: "mend the environment or its reward" },
      );
    }
    if (invalid.length > 0) {
      const played = drawn.length * config.num_generations;
      note(
        `step ${step}: ${invalid.length} of ${plural(played, "episode")} failed and count for nothing, the first with: ${invalid[0]}`,
      );
    }
    const dropped = drawn.length - groups.length;
    return {
      drawn: usable(drawn),
      groups: usable(groups.length > 0 ? groups : drawn.slice(0, config.prompts_per_step)),
      metrics: {
        "skipped_rows/prompt_too_long": skipped,
        "skipped_rows/invalid": invalid.length,
        ...(config.dynamic_sampling && {
          "dynamic_sampling/drawn_groups": drawn.length,
          "dynamic_sampling/dropped_groups": dropped,
        }),
        ...judgeMetrics(spentBefore, this.#source.task.usage?.()),
      },
      cursor: order.cursor(),
      epoch: order.epochs(),
    };
  }

  async #play(
    step: number,
    prompts: readonly TrainPrompt[],
    first: number,
    signal: AbortSignal,
  ): Promise<RolloutGroup[]> {
    const { config, policy, task } = this.#source;
    const settings: EpisodeSettings = {
      ...samplingOf(config),
      invalidRewards: config.invalid_rewards,
      ...(config.max_turns !== null && { maxTurns: config.max_turns }),
      ...(config.episode_seconds !== null && { episodeSeconds: config.episode_seconds }),
      signal,
    };
    const played = await runEpisodes(policy, task, episodeJobs(config, step, prompts, first), settings);
    return played.map((trajectories, i) => ({
      ...prompts[i],
      rollouts: trajectories.flatMap((trajectory) =>
        trajectory.valid ? [toRollout(config, `${step}-${first + i}-${trajectory.index}`, trajectory)] : [],
      ),
      invalid: trajectories.flatMap(({ error }) => error ?? []),
    }));
  }
}

/** What judges cost in between; nothing where there are none. */
function judgeMetrics(before: RewardUsage | undefined, after: RewardUsage | undefined): Record<string, number> {
  if (after === undefined) return {};
  const names = ["calls", "cached", "prompt_tokens", "completion_tokens"] as const;
  return Object.fromEntries(names.map((name) => [`judge/${name}`, after[name] - (before?.[name] ?? 0)]));
}

/** Whether the group has anything to compare. */
function teaches({ rollouts }: RolloutGroup): boolean {
  return !allEqual(rollouts.map(({ score }) => score.reward));
}

function toRollout(config: RunConfig, id: string, trajectory: Trajectory & { valid: true }): Rollout {
  const cut = isCut(trajectory.stopReason);
  const { truncated_completions: onCut, truncation_penalty: penalty } = config;
  const { score } = trajectory;
  const rollout: Rollout = {
    id,
    trajectory,
    score:
      onCut !== "penalise"
        ? score
        : {
            ...score,
            reward: score.reward - (cut ? penalty : 0),
            parts: { ...score.parts, truncation_penalty: cut ? -penalty : 0 },
          },
    rows: [],
    advantage: 0,
    trained: !(cut && onCut === "mask"),
  };
  rollout.rows = trajectoryRows(trajectory.turns, { trainEnvironment: config.train_tool_results }).map((row) => ({
    ...row,
    rollout,
    old: row.sampled,
  }));
  return rollout;
}
