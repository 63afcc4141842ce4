/** Measures a model on a task: answers to rows of one split, greedy answers, and whole games. Same seed, same result. */

import { messageText } from "../contract/chat.ts";
import { HoneError } from "../contract/errors.ts";
import type { EvalItem, Evaluation, EvalTurn, Split } from "../contract/eval.ts";
import { deriveSeed, Random, type Seed } from "../contract/random.ts";
import { oneTurnEpisode, toolsOf, type FailureKind, type Task, type TaskRow } from "../tasks/task.ts";
import { runEpisodes, type EpisodeSettings, type Trajectory } from "./episodes.ts";
import { playGames, tabulateGames } from "./games.ts";
import { measure, symmetryAgreement } from "./measures.ts";
import { answerFields, type Policy, type PromptRoom } from "./policy-types.ts";

export interface EvaluateOptions {
  /** Name for the report. */
  model: string;
  /** Default `held-out`. */
  split?: Split;
  splitSeed: Seed;
  /** Rows to use instead of the whole split; see `pickRows`. */
  rows?: TaskRow[];
  /** Answers per row. Default 1. */
  samples?: number;
  seed: Seed;
  /** Of the answers that make the report's main figures. Default 1. */
  temperature?: number;
  /** New tokens per turn. Default: the task's limit. */
  maxTokens?: number;
  /** Turns and the environment's seconds per episode, and what a broken reward does. Defaults: the task's, and to stop. */
  episodes?: Pick<EpisodeSettings, "maxTurns" | "episodeSeconds" | "invalidRewards" | "maxLength">;
  /** Also answer every row once at temperature 0. Default true. */
  greedy?: boolean;
  /** Default: 100 games per opponent and side, greedy. `false`: none. */
  games?: { count?: number; temperature?: number; opponents?: Record<string, Policy> } | false;
  signal?: AbortSignal;
  onProgress?: (progress: { stage: EvaluationStage; done: number; total: number }) => void;
}

/** The last two are measured by others, beside a task. */
export type EvaluationStage = "sampled" | "greedy" | "games" | "scoring" | "control";

/**
 * Throws `HoneError` `no-rows` for an empty split, `environment-failed` when no episode can be counted, and what
 * `runEpisodes` throws. Right answers, pairs and the control are measured apart (`solution-loss.ts`, …).
 */
export async function evaluateTask(task: Task, policy: Policy, options: EvaluateOptions): Promise<Evaluation> {
  const { seed, splitSeed, split = "held-out", samples = 1, temperature = 1, greedy = true } = options;
  const maxTokens = options.maxTokens ?? task.limits.tokens;
  const all = options.rows ?? task.rows(split, { seed: splitSeed });
  if (all.length === 0) throw noRows(task, split);
  const asked = all.map((row) => ({ row, room: promptRoom(task, policy, row, options.episodes ?? {}) }));
  const prompts = asked.filter(({ room }) => room.tokens < room.limit);
  if (prompts.length === 0) {
    throw noRoom(
      task,
      asked.map(({ room }) => room),
    );
  }
  const rows = prompts.map(({ row }) => row);
  const settings = (t: number): EpisodeSettings => ({
    temperature: t,
    maxTokens,
    ...options.episodes,
    ...(options.signal !== undefined && { signal: options.signal }),
  });
  const answer = (pass: EvalItem["pass"], perRow: number, t: number) =>
    answerRows(task, policy, prompts, { pass, samples: perRow, seed, settings: settings(t) }, (done, total) =>
      options.onProgress?.({ stage: pass, done, total }),
    );

  const sampled = await answer("sampled", samples, temperature);
  const greedyItems = greedy ? await answer("greedy", 1, 0) : [];

  const plays = task.game !== undefined && options.games !== false;
  const gameOptions = options.games || {};
  const gamesTemperature = gameOptions.temperature ?? 0;
  const records = plays
    ? await playGames(task, policy, {
        count: gameOptions.count ?? 100,
        seed,
        ...(gameOptions.opponents !== undefined && { opponents: gameOptions.opponents }),
        settings: settings(gamesTemperature),
        onProgress: (done, total) => options.onProgress?.({ stage: "games", done, total }),
      })
    : [];

  const names = { failures: Object.keys(task.failures), outcomes: Object.keys(task.outcomes) };
  const oneEach = greedy ? greedyItems : sampled.filter((item) => item.sample === 0);
  const report: Evaluation["report"] = {
    model: options.model,
    task: task.name,
    split,
    split_seed: splitSeed,
    seed,
    rows: rows.length,
    row_name: task.rowName ?? "row",
    skipped: all.length - rows.length,
    problems: new Set(rows.map((row) => task.problem(row))).size,
    samples,
    temperature,
    max_completion_length: maxTokens,
    ...measure(sampled, names, seed),
    greedy: greedy ? measure(greedyItems, names, seed) : null,
    // Rows of a problem that are no mirror images of each other have no common choice.
    symmetry_agreement: hasProblemChoices(task, oneEach) ? (symmetryAgreement(oneEach, seed) ?? null) : null,
    reference: task.reference(rows),
    labels: { outcomes: { ...task.outcomes }, failures: { ...task.failures } },
    solution: null,
    preference: null,
    control: null,
    games: tabulateGames(records, Object.keys(gameOptions.opponents ?? {})),
    games_temperature: plays ? gamesTemperature : null,
    sides: plays ? (task.game?.sides ?? null) : null,
  };
  return { report, items: [...sampled, ...greedyItems], solutions: [], preferences: [], games: records };
}

/**
 * About `count` rows of a split, always the same ones for a seed. Of a game whole problems in random order until there
 * are enough, so that mirror images stay together; of other tasks `count` rows, of as many problems as possible, since
 * intervals come from problems.
 */
export function pickRows<Row extends TaskRow>(
  task: Pick<Task<Row>, "problem" | "game">,
  rows: readonly Row[],
  count: number,
  seed: Seed,
): Row[] {
  const random = new Random(seed).split("pick rows");
  const problems = random.shuffle([...Map.groupBy(rows, (row) => task.problem(row)).values()]);
  const picked: Row[] = [];
  if (task.game !== undefined) {
    for (const group of problems) {
      if (picked.length >= count) break;
      picked.push(...group);
    }
    return picked;
  }
  const shuffled = problems.map((group) => random.shuffle(group));
  for (let turn = 0; picked.length < Math.min(count, rows.length); turn++) {
    for (const group of shuffled) {
      if (turn < group.length && picked.length < count) picked.push(group[turn]);
    }
  }
  return picked;
}

function promptRoom(task: Task, policy: Policy, row: TaskRow, limits: Pick<EpisodeSettings, "maxLength">): PromptRoom {
  if (policy.promptRoom === undefined) return { tokens: 0, limit: Infinity };
  const { toolChoice } = task;
  const choice = toolChoice === undefined ? {} : { toolChoice };
  return policy.promptRoom({ messages: task.prompt(row), tools: toolsOf(task, row), ...choice }, limits);
}

function noRows(task: Task, split: Split): HoneError {
  return new HoneError(
    "no-rows",
    `the ${split} part of task ${task.name} has no rows, so nothing can be measured on it`,
    {
      fix: "give the task more rows, or measure on another part (--split)",
    },
  );
}

function noRoom(task: Task, rooms: readonly PromptRoom[]): HoneError {
  const shortest = rooms.reduce((least, { tokens }) => Math.min(least, tokens), Infinity);
  return new HoneError(
    "prompt-too-long",
    `none of the ${rooms.length} prompts of task ${task.name} leaves the model room for an answer: the shortest has ${shortest} tokens, and prompt and answer together may have ${rooms[0].limit}`,
    { fix: "shorten them, raise max_length, or use a model with a longer context" },
  );
}

function hasProblemChoices(task: Task, items: readonly EvalItem[]): boolean {
  return task.game !== undefined || items.some((item) => item.problem_choice !== null);
}

/** In the order of rows and samples. */
async function answerRows(
  task: Task,
  policy: Policy,
  prompts: readonly { row: TaskRow; room: PromptRoom }[],
  pass: { pass: EvalItem["pass"]; samples: number; seed: Seed; settings: EpisodeSettings },
  onProgress: (done: number, total: number) => void,
): Promise<EvalItem[]> {
  const jobs = prompts.flatMap(({ row, room: { promptTokens } }) =>
    Array.from({ length: pass.samples }, (_, sample) => ({
      row,
      ...(promptTokens !== undefined && { promptTokens }),
      sample,
      seed: deriveSeed(pass.seed, "eval", pass.pass, row.id, sample),
      n: 1,
    })),
  );
  let done = 0;
  const groups = await runEpisodes(policy, isRewarded(task) ? task : withoutReward(task), jobs, {
    ...pass.settings,
    onTrajectory: () => onProgress(++done, jobs.length),
  });
  return jobs.map(({ row, sample, seed }, i) =>
    toItem(task, { pass: pass.pass, row_id: row.id, problem: task.problem(row), sample, seed }, groups[i][0]),
  );
}

/** A task without a reward serves SFT and DPO only; its answers can be read, not scored. */
export function isRewarded(task: Task): boolean {
  return task.rewardParts.length > 0;
}

function withoutReward(task: Task): Task {
  const score = () => ({ reward: 0, parts: {}, info: { outcomes: {} } });
  return { ...task, start: (row) => oneTurnEpisode(row, score) };
}

function toItem(
  task: Task,
  source: Pick<EvalItem, "pass" | "row_id" | "problem" | "sample" | "seed">,
  trajectory: Trajectory,
): EvalItem {
  const { score, stopReason, error } = trajectory;
  const info = score?.info ?? { outcomes: {} };
  const group =
    info.failure === undefined ? undefined : (task.failures[info.failure] as FailureKind | undefined)?.group;
  return {
    ...source,
    turns: turnsOf(trajectory, task.prompt(trajectory.row).length),
    stop_reason: stopReason,
    reward: score === undefined || !isRewarded(task) ? null : score.reward,
    reward_parts: score?.parts ?? {},
    outcomes: info.outcomes,
    failure: info.failure ?? null,
    fault: info.fault ?? group ?? null,
    choice: info.choice ?? null,
    problem_choice: info.problemChoice ?? null,
    invalid: error ?? null,
  };
}

/** Every answer with what the environment said to it. */
function turnsOf({ turns, messages }: Trajectory, promptLength: number): EvalTurn[] {
  const stored = turns.map((answer): EvalTurn => ({
    prompt_length: answer.promptTokens.length,
    ...answerFields(answer),
    thinking_tokens: answer.thinkingTokens ?? null,
    replies: [],
  }));
  let turn = -1;
  for (const message of messages.slice(promptLength)) {
    if (message.role === "assistant") turn += 1;
    else stored[turn]?.replies.push({ role: message.role, text: messageText(message) });
  }
  return stored;
}
