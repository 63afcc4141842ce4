/**
 * Whole training steps on the starter model and tic-tac-toe, one measurement for each method, with its own defaults: what a
 * step does in a second, and where its time goes. The learning rate is next to nothing, so that every method samples from
 * the same policy, and methods that sample draw equally many answers to the same prompts.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Session } from "../app/session.ts";
import { trainModel } from "../app/train-model.ts";
import type { Method, RunConfigInput } from "../contract/config.ts";
import type { MetricsRow } from "../contract/run.ts";
import type { Engine } from "../engine/types.ts";

/** Shares of the time of a step; the rest is bookkeeping. */
export interface StepShares {
  /** Sampling, with whatever went on beside it. */
  rollout: number;
  /** Environments and rewards, where sampling waited for them. */
  reward: number;
  /** Scoring again, gradients and optimizer steps. */
  training: number;
}

export interface MethodSpeed {
  /** Median, in seconds. */
  step: number;
  /** Tokens (prompts once, and answers) worked on in a second. */
  tokensPerSecond: number;
  shares: StepShares;
}

const rates: RunConfigInput = { learning_rate: 1e-9, lr_scheduler_type: "constant", warmup_steps: 0 };
const nothingElse: RunConfigInput = { eval_on_start: false, eval_steps: 0, save_steps: 0 };
const episodes: RunConfigInput = {
  log_completions: false,
  prompts_per_step: 32,
  num_generations: 8,
  num_mini_batches: 1,
  num_iterations: 1,
};
const settings: Record<Method, RunConfigInput> = {
  sft: { batch_size: 256 },
  dpo: { batch_size: 128 },
  grpo: episodes,
  gspo: episodes,
  // The policy's gradients are made from the first step on.
  ppo: { ...episodes, critic_warmup_steps: 0, critic_learning_rate: 1e-9 },
};

/** `runs` steps after a first one that is not counted. */
export async function measureMethod(
  engine: Engine,
  method: Method,
  { threads, runs, signal }: { threads: number; runs: number; signal: AbortSignal },
): Promise<MethodSpeed> {
  const folder = mkdtempSync(join(tmpdir(), "hone-bench-"));
  const sampling = new BusyClock();
  const steps: (MetricsRow & { sampling: number })[] = [];
  const config: RunConfigInput = {
    ...rates,
    ...nothingElse,
    ...settings[method],
    model: "starter",
    task: "tic-tac-toe",
    method,
    max_steps: runs + 1,
    output_dir: join(folder, "run"),
    threads,
  };
  try {
    await trainModel(new Session(timed(engine, sampling)), config, {
      command: ["bench"],
      signal,
      listen: (event) => {
        if (event.type === "step") steps.push({ ...event.row, sampling: sampling.take() });
      },
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  signal.throwIfAborted();
  steps.sort((a, b) => a["step_time"] - b["step_time"]);
  const counted = steps.filter(({ step }) => step > 1);
  const { sampling: sampled, ...row } = counted[Math.floor(counted.length / 2)];
  const { step_time: step, tokens_per_second: tokensPerSecond } = row;
  const drawing = row["time/rollout"] ?? 0;
  const shares = { rollout: sampled / step, reward: (drawing - sampled) / step, training: row["time/train"] / step };
  return { step, tokensPerSecond, shares };
}

/** Seconds in which at least one of several overlapping pieces of work was under way. */
class BusyClock {
  #running = 0;
  #since = 0;
  #seconds = 0;

  async during<T>(work: Promise<T>): Promise<T> {
    if (this.#running++ === 0) this.#since = performance.now();
    try {
      return await work;
    } finally {
      if (--this.#running === 0) this.#seconds += (performance.now() - this.#since) / 1000;
    }
  }

  /** Since the last call; nothing is under way. */
  take(): number {
    const seconds = this.#seconds;
    this.#seconds = 0;
    return seconds;
  }
}

/** An engine whose models tell the clock when they sample. */
function timed(engine: Engine, clock: BusyClock): Engine {
  return {
    ...engine,
    open: async (...args) => {
      const model = await engine.open(...args);
      const sample = model.sample.bind(model);
      model.sample = (...asked) => clock.during(sample(...asked));
      return model;
    },
  };
}
