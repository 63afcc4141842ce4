/**
 * Plays episodes of a task with a policy, of one turn or of several; training and evaluation both use it.
 *
 * Every episode goes on by itself: as soon as an answer ends, its environment steps, and its next turn joins the answers
 * that are being drawn. A slow environment or reward holds up nobody else. What is drawn depends on the job's seed, the
 * sample and the turn only, never on what is done first.
 *
 * Limits. The model's are tokens of a turn, turns, and the context; the episode is then worth what `end` says. The
 * environment's is its seconds: its own time in one episode, added up. An episode that exceeds them, like one whose
 * environment throws `EnvironmentError`, is invalid and counts for nothing. The model's time is not limited, since it is
 * by its tokens, and a busy machine must not change what an answer is worth.
 */

import { setMaxListeners } from "node:events";
import type { ChatMessage } from "../contract/chat.ts";
import { CancelledError, errorKind, HoneError, errorMessage } from "../contract/errors.ts";
import { deriveSeed } from "../contract/random.ts";
import { EnvironmentError, toolsOf, type Score, type StopReason, type Task, type TaskRow } from "../tasks/task.ts";
import { isCut, assistantMessage } from "../text/parse-assistant.ts";
import type { Answer, Policy, PolicyItem, PolicySettings } from "./policy-types.ts";

/** `n` episodes of one row, whose first turns share the prompt's prefill. */
export interface EpisodeJob {
  row: TaskRow;
  /** 0 … 2^31 − 1. Episode i of the job depends on it and i only. */
  seed: number;
  n: number;
  /** The row's prompt as token ids, where it has been rendered before. */
  promptTokens?: Int32Array;
}

export interface EpisodeSettings extends PolicySettings {
  /** Turns of the model. Default: the task's. */
  maxTurns?: number;
  /** Of the environment in one episode. Default: the task's. */
  episodeSeconds?: number;
  /** What a reward that throws or is not a finite number does: end everything (default), or make its episode invalid. */
  invalidRewards?: "stop" | "drop";
  /** Episodes under way at a time. Default 256. */
  concurrent?: number;
  /** Called with every episode as it ends. */
  onTrajectory?: (trajectory: Trajectory) => void;
}

interface Played {
  row: TaskRow;
  /** The job's. */
  seed: number;
  /** Which of the job's episodes. */
  index: number;
  /** Prompt and answer of each turn, with the very ids that the model got and gave. */
  turns: Answer[];
  /** The whole conversation, the prompt included. */
  messages: ChatMessage[];
  /**
   * Of a task of one turn: the answer's. Otherwise `terminal` when the environment ended it after a whole answer, the
   * answer's when that was cut, or the limit that ended it.
   */
  stopReason: StopReason;
}

/** An invalid one failed through no fault of the policy, or has no usable reward. */
export type Trajectory = Played &
  ({ valid: true; score: Score; error?: undefined } | { valid: false; score?: undefined; error: string });

/**
 * Trajectories by job and sample. Throws `HoneError` with row, sample and turn when the task or its reward fails
 * (`task-failed`, `bad-reward`, or the error's own code), `prompt-too-long` when a row's prompt is, `CancelledError`.
 */
export async function runEpisodes(
  policy: Policy,
  task: Task,
  jobs: readonly EpisodeJob[],
  settings: EpisodeSettings,
): Promise<Trajectory[][]> {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, ...(settings.signal === undefined ? [] : [settings.signal])]);
  // Every answer that is being drawn listens to it.
  setMaxListeners(0, signal);
  const groups = jobs.map((): Trajectory[] => []);
  const active = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;
  const fail = (error: unknown) => {
    failure ??= { error };
    stop.abort();
  };
  for (const [i, job] of jobs.entries()) {
    while (active.size >= (settings.concurrent ?? 256) && !signal.aborted) await Promise.race(active);
    if (signal.aborted) break;
    for (const [index, episode] of startJob(policy, task, job, { ...settings, signal, prompt: i }).entries()) {
      const running = episode
        .then((trajectory) => {
          groups[i][index] = trajectory;
          settings.onTrajectory?.(trajectory);
        }, fail)
        .finally(() => active.delete(running));
      active.add(running);
    }
  }
  await Promise.all(active);
  if (settings.signal?.aborted === true) throw new CancelledError();
  if (failure !== undefined) throw failure.error;
  return groups;
}

function startJob(
  policy: Policy,
  task: Task,
  job: EpisodeJob,
  settings: EpisodeSettings & { prompt: number },
): Promise<Trajectory>[] {
  let prompt: ChatMessage[];
  let answers: Promise<Answer>[];
  try {
    prompt = task.prompt(job.row);
    const { promptTokens } = job;
    const item = { ...itemOf(task, job.row, prompt, job.seed), ...(promptTokens !== undefined && { promptTokens }) };
    answers =
      policy.answerGroup?.(item, job.n, settings) ??
      Array.from({ length: job.n }, (_, index) =>
        answerOne(policy, index === 0 ? item : { ...item, seed: deriveSeed(job.seed, index) }, settings),
      );
  } catch (error) {
    return [Promise.reject(atPlace(error, task, `the prompt of row ${job.row.id}`))];
  }
  return answers.map((first, index) => {
    // An episode that cannot start never asks for it.
    first.catch(() => undefined);
    return new RunningEpisode(policy, task, { ...settings, row: job.row, seed: job.seed, index }).play(prompt, first);
  });
}

function itemOf(task: Task, row: TaskRow, messages: readonly ChatMessage[], seed: number): PolicyItem {
  return {
    messages,
    tools: toolsOf(task, row),
    ...(task.toolChoice !== undefined && { toolChoice: task.toolChoice }),
    parallelCalls: task.parallelCalls === true,
    seed,
  };
}

async function answerOne(policy: Policy, item: PolicyItem, settings: PolicySettings): Promise<Answer> {
  const [answer] = await policy.answer([item], settings);
  return answer;
}

/** The environment was away for too long. */
class EnvironmentTimeout extends EnvironmentError {}

interface RunningSettings extends EpisodeSettings {
  row: TaskRow;
  seed: number;
  index: number;
  /** Which of the jobs it is. */
  prompt: number;
}

class RunningEpisode {
  readonly #policy: Policy;
  readonly #task: Task;
  readonly #settings: RunningSettings;
  readonly #turns: Answer[] = [];
  #messages: ChatMessage[] = [];
  #secondsLeft: number;

  constructor(policy: Policy, task: Task, settings: RunningSettings) {
    this.#policy = policy;
    this.#task = task;
    this.#settings = settings;
    this.#secondsLeft = settings.episodeSeconds ?? task.limits.seconds;
  }

  async play(prompt: readonly ChatMessage[], first: Promise<Answer>): Promise<Trajectory> {
    this.#messages = [...prompt];
    const { row, seed, index } = this.#settings;
    try {
      const { score, stopReason } = await this.#turnsUntilTheEnd(first);
      this.#checkReward(score);
      return { row, seed, index, turns: this.#turns, messages: this.#messages, score, stopReason, valid: true };
    } catch (error) {
      const message = errorMessage(error);
      const drops = this.#settings.invalidRewards === "drop" && error instanceof TaskFailure;
      if (!drops && !(error instanceof EnvironmentError)) throw error instanceof TaskFailure ? error.toUser() : error;
      const stopReason = error instanceof EnvironmentTimeout ? "timeout" : "error";
      return {
        row,
        seed,
        index,
        turns: this.#turns,
        messages: this.#messages,
        stopReason,
        valid: false,
        error: message,
      };
    }
  }

  async #turnsUntilTheEnd(first: Promise<Answer>): Promise<{ score: Score; stopReason: StopReason }> {
    const { row, seed, index, prompt } = this.#settings;
    const maxTurns = this.#settings.maxTurns ?? this.#task.limits.turns;
    // A random choice of the environment and a draw of the model must not be the same one.
    const episode = await this.#environment(() =>
      this.#task.start(row, deriveSeed(seed, index), { prompt, sample: index }),
    );
    const end = async (stopReason: StopReason) => ({
      stopReason,
      score: await this.#environment(() => episode.end(stopReason)),
    });
    let answer = await first;
    for (;;) {
      if (answer.stopReason === "cancelled") throw new CancelledError();
      this.#turns.push(answer);
      this.#messages.push(assistantMessage(answer.parsed));
      const { messages, done, score } = await this.#environment(() => episode.step(answer));
      this.#messages.push(...messages);
      if (done) {
        if (score === undefined) throw this.#failure("the episode is done and has no score");
        const terminal = this.#task.limits.turns > 1 && !isCut(answer.stopReason);
        return { score, stopReason: terminal ? "terminal" : answer.stopReason };
      }
      if (answer.stopReason === "eos" && answer.parsed.tool_calls.length > 0) {
        this.#turns[this.#turns.length - 1] = { ...answer, stopReason: "tool_call" };
      }
      if (answer.stopReason === "context_full") return end("context_full");
      if (this.#turns.length >= maxTurns) return end("max_turns");
      try {
        const item = itemOf(this.#task, row, this.#messages, deriveSeed(seed, "turn", index, this.#turns.length));
        answer = await answerOne(this.#policy, item, this.#settings);
      } catch (error) {
        if (error instanceof HoneError && error.code === "prompt-too-long") return end("context_full");
        throw error;
      }
    }
  }

  /** Runs a part of the task within what is left of the environment's seconds. */
  async #environment<T>(work: () => T | Promise<T>): Promise<T> {
    const { signal } = this.#settings;
    const started = performance.now();
    try {
      const result = await withinSeconds(work, this.#secondsLeft, signal);
      this.#secondsLeft -= (performance.now() - started) / 1000;
      return result;
    } catch (error) {
      if (error instanceof EnvironmentError || errorKind(error) === "cancelled") throw error;
      // Nothing can be scored any more: that is no fault of this answer, so it is not dropped.
      if (error instanceof HoneError && error.code === "reward-unavailable") throw error;
      throw this.#failure(errorMessage(error), error);
    }
  }

  #checkReward({ reward }: Score): void {
    if (Number.isFinite(reward)) return;
    const message = `the reward is ${reward}, which is not a finite number`;
    throw this.#failure(message, new HoneError("bad-reward", message));
  }

  #failure(message: string, cause?: unknown): TaskFailure {
    const { row, index } = this.#settings;
    const place = `task ${this.#task.name}, row ${row.id}, sample ${index}, turn ${Math.max(1, this.#turns.length)}`;
    return new TaskFailure(`${place}: ${message}`, { cause });
  }
}

/** The task or its reward is at fault: it ends everything, unless such samples are to be dropped. */
class TaskFailure extends Error {
  toUser(): HoneError {
    const { cause } = this;
    const known = cause instanceof HoneError ? cause : undefined;
    return new HoneError(known?.code ?? "task-failed", this.message, {
      cause,
      fix: known?.fix ?? "mend the task or its reward, or set invalid_rewards drop to leave such samples out",
    });
  }
}

function atPlace(error: unknown, task: Task, place: string): Error {
  if (errorKind(error) === "cancelled") return new CancelledError();
  const known = error instanceof HoneError ? error : undefined;
  const message = errorMessage(error);
  return new HoneError(known?.code ?? "task-failed", `task ${task.name}, ${place}: ${message}`, {
    cause: error,
    ...(known?.fix !== undefined && { fix: known.fix }),
  });
}

/** Milliseconds. */
const longestTimer = 2 ** 31 - 1;

async function withinSeconds<T>(
  work: () => T | Promise<T>,
  seconds: number,
  signal: AbortSignal | undefined,
): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const abort = () => reject(new CancelledError());
  const late = () => reject(new EnvironmentTimeout("the environment took longer than the seconds of an episode"));
  const timer = setTimeout(late, Math.min(Math.max(0, 1000 * seconds), longestTimer));
  signal?.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work(), ended]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}
