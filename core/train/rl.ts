/**
 * GSPO and GRPO: sample groups of answers, score them, compare each with its group, and move the policy towards the
 * better ones. One step is one batch of rollouts and all optimizer steps on it. Reads top to bottom.
 */

import type { RunConfig } from "../contract/config.ts";
import { errorKind, HoneError } from "../contract/errors.ts";
import type { MetricsRow, TrainerState } from "../contract/run.ts";
import { isCut } from "../evaluate/measures.ts";
import type { EnginePolicy } from "../evaluate/policy.ts";
import type { Task, TaskRow } from "../tasks/task.ts";
import { groupAdvantages } from "./advantages.ts";
import { StepClock, TimeLeft } from "./clock.ts";
import type { TrainListener } from "./events.ts";
import { PromptOrder } from "./prompt-order.ts";
import type { Recorder } from "./recorder.ts";
import { rolloutMetrics } from "./rollout-metrics.ts";
import { choosePrompts, PromptCache, sampleGroups, toRolloutLines, type RolloutGroup } from "./rollouts.ts";
import { scoreAgain, updatePolicy, type ReferenceForward } from "./update.ts";

export interface RlRun {
  config: RunConfig & { micro_batch_tokens: number };
  /** Steps to have done at the end. */
  totalSteps: number;
  /** Steps over which the learning rate runs its course. */
  scheduleSteps: number;
  policy: EnginePolicy;
  /** Scores a batch under the frozen starting model; needed when `beta` is above 0. */
  reference?: ReferenceForward;
  task: Task;
  /** Training rows. */
  rows: readonly TaskRow[];
  recorder: Recorder;
  /** Measures the policy on the fixed validation rows: metrics named `eval_…`, `eval_reward` among them. */
  evaluate: (step: number) => Promise<Record<string, number>>;
  /** Where a saved run goes on; absent for a new one. */
  resumeFrom?: TrainerState;
  listen: TrainListener;
  /** Asks to stop: the step that is being sampled is dropped, one that is being learnt from is finished. */
  signal: AbortSignal;
}

export interface RlOutcome {
  state: TrainerState;
  /** False when the run was asked to stop before its last step. */
  finished: boolean;
}

const bestMetric = "eval_reward";
/** Optimizer steps in a row without a finite gradient that end a run. */
const nonFiniteLimit = 3;

export async function trainRl(run: RlRun): Promise<RlOutcome> {
  const { config, policy, task, recorder, listen, signal } = run;
  const cache = new PromptCache(policy, task);
  const timeLeft = new TimeLeft();
  const maxLength = Math.min(config.max_length, policy.model.info().contextLength);
  const optimizerSteps = config.num_mini_batches * config.num_iterations;
  let state = run.resumeFrom ?? firstState(run);
  /** True while the weights are those of `state`, so that they may be saved as its checkpoint. */
  let settled = true;

  try {
    if (state.pending !== null) state = await finishStep(run, state, state.pending, timeLeft);
    else if (state.step === 0 && config.eval_on_start && !recorder.hasStep(0)) {
      state = await finishStep(run, state, { step: 0, time: now() }, timeLeft);
    }

    while (state.step < run.totalSteps && !signal.aborted) {
      const step = state.step + 1;
      const clock = new StepClock();

      listen({ type: "phase", phase: "sampling", step });
      const order = new PromptOrder(run.rows.length, config.seed, state.data_cursor);
      const { prompts, tooLong } = choosePrompts(order, run.rows, cache, config.prompts_per_step, maxLength);
      const groups = await sampleGroups(policy, task, config, step, prompts, maxLength, signal);
      setAdvantages(groups, config);
      clock.lap("rollout");
      if (config.log_completions) recorder.rollouts(step, linesOf(policy, step, groups));

      listen({ type: "phase", phase: "updating", step });
      const scored = await scoreAgain(policy.model, run.reference, config, groups);
      settled = false;
      const update = await updatePolicy(policy.model, config, groups, {
        firstStep: state.global_step,
        totalSteps: run.scheduleSteps * optimizerSteps,
        nonFiniteInARow: state.nonfinite_in_a_row,
        measureMismatch: !scored.rescored,
      });
      clock.lap("train");

      const tokens = countTokens(groups);
      timeLeft.addStep(clock.seconds());
      state = {
        ...state,
        step,
        global_step: state.global_step + optimizerSteps,
        epoch: order.epochs(),
        num_tokens: state.num_tokens + tokens,
        num_rollouts: state.num_rollouts + groups.length * config.num_generations,
        seconds: state.seconds + clock.seconds(),
        data_cursor: order.cursor(),
        nonfinite_in_a_row: update.nonFiniteInARow,
      };
      settled = true;
      const row: MetricsRow = {
        step,
        time: now(),
        global_step: state.global_step,
        epoch: state.epoch,
        num_tokens: state.num_tokens,
        ...update.metrics,
        ...scored.metrics,
        ...rolloutMetrics(groups, Object.keys(task.failures)),
        "skipped_rows/prompt_too_long": tooLong,
        ...clock.metrics(tokens),
        peak_memory: peakMemory(),
      };
      state = await finishStep(run, state, row, timeLeft);
      if (state.nonfinite_in_a_row >= nonFiniteLimit) throw notFinite(run, state, groups);
    }
  } catch (error) {
    const stopped = signal.aborted && errorKind(error) === "cancelled";
    recorder.ended(state.step, stopped ? "stop" : "failure", error);
    if (!stopped) {
      if (settled) await recorder.checkpointIfPossible(state);
      throw error;
    }
  }
  if (state.step > 0) await recorder.checkpoint(state);
  return { state, finished: state.step >= run.totalSteps && state.pending === null };
}

function firstState({ config, rows, totalSteps }: RlRun): TrainerState {
  return {
    version: 1,
    step: 0,
    global_step: 0,
    total_steps: totalSteps,
    epoch: 0,
    num_tokens: 0,
    num_rollouts: 0,
    seconds: 0,
    data_cursor: new PromptOrder(rows.length, config.seed).cursor(),
    nonfinite_in_a_row: 0,
    best: null,
    rng: { seed: config.seed },
    pending: null,
    has_critic: false,
    has_reference: config.beta > 0,
  };
}

/**
 * Evaluates when it is time to, records the step, saves when it is time to. When the user stops the run during the
 * evaluation, the step's metrics wait in the state, to be completed when the run is taken up again.
 */
async function finishStep(
  run: RlRun,
  done: TrainerState,
  metrics: MetricsRow,
  timeLeft: TimeLeft,
): Promise<TrainerState> {
  const { config, recorder, listen, signal } = run;
  const { step } = done;
  let state: TrainerState = { ...done, pending: null };
  let row = metrics;
  let isBest = false;
  const isLast = step >= run.totalSteps;
  if (step === 0 || (config.eval_steps > 0 && (isLast || step % config.eval_steps === 0))) {
    const clock = new StepClock();
    listen({ type: "phase", phase: "evaluating", step });
    try {
      signal.throwIfAborted();
      const evaluated = await run.evaluate(step);
      row = { ...row, ...evaluated };
    } catch (error) {
      if (signal.aborted && errorKind(error) === "cancelled") return { ...state, pending: metrics };
      throw error;
    }
    timeLeft.addEvaluation(clock.seconds());
    state = { ...state, seconds: state.seconds + clock.seconds() };
    const value = row[bestMetric];
    if (step > 0 && value !== undefined) {
      const highest = Math.max(state.best?.highest ?? value, value);
      // A validation part is small: of checkpoints within a standard error of the highest score the latest is the best
      // (Breiman's one-standard-error rule), not the one that was lucky.
      isBest = value >= highest - standardError(row);
      const best = isBest || state.best === null ? { step, metric: bestMetric, value } : state.best;
      state = { ...state, best: { ...best, highest } };
    }
    listen({ type: "evaluation", step, metrics: row, best: isBest });
  }
  row = recorder.metrics(row);
  if (step > 0 && (isBest || isLast || (config.save_steps > 0 && step % config.save_steps === 0))) {
    await recorder.checkpoint(state);
  }
  const stepsLeft = run.totalSteps - step;
  const evaluationsLeft = config.eval_steps > 0 ? Math.ceil(stepsLeft / config.eval_steps) : 0;
  const secondsLeft = timeLeft.estimate(stepsLeft, evaluationsLeft);
  if (step > 0) listen({ type: "step", row, totalSteps: run.totalSteps, secondsLeft });
  return state;
}

/** Half of a 95 % interval is 1.96 standard errors. 0 where no interval was measured. */
function standardError(row: MetricsRow): number {
  const [low, high] = [row[`${bestMetric}/lo`], row[`${bestMetric}/hi`]];
  return low === undefined || high === undefined ? 0 : (high - low) / (2 * 1.96);
}

function setAdvantages(groups: readonly RolloutGroup[], config: RunConfig): void {
  const rollouts = groups.flatMap(({ answers }, group) => answers.map((rollout) => ({ rollout, group })));
  const { advantages } = groupAdvantages(
    rollouts.map(({ rollout }) => rollout.score.reward),
    rollouts.map(({ group }) => group),
    { estimator: config.advantage_estimator },
  );
  rollouts.forEach(({ rollout }, i) => {
    rollout.advantage = advantages[i];
    rollout.trained = !(config.mask_truncated_completions && isCut(rollout.answer.stopReason));
  });
}

function linesOf(policy: EnginePolicy, step: number, groups: readonly RolloutGroup[]) {
  return toRolloutLines(step, groups, (ids) => policy.chat.decode(ids));
}

function notFinite({ policy, recorder }: RlRun, state: TrainerState, groups: readonly RolloutGroup[]): HoneError {
  const batch = recorder.keepBatch(state.step, linesOf(policy, state.step, groups));
  return new HoneError(
    "non-finite",
    `the gradient was not finite in ${state.nonfinite_in_a_row} optimizer steps in a row, the last in step ${state.step}`,
    { fix: `those steps were skipped and the weights are sound; the batch is in ${batch}. Lower learning_rate` },
  );
}

/** A prompt is worked on once for all its answers. */
function countTokens(groups: readonly RolloutGroup[]): number {
  let tokens = 0;
  for (const { promptIds, answers } of groups) {
    tokens += promptIds.length;
    for (const { completionIds } of answers) tokens += completionIds.length;
  }
  return tokens;
}

/** Bytes of resident memory at the highest point of this process so far. */
export function peakMemory(): number {
  return process.resourceUsage().maxRSS * 1024;
}

function now(): number {
  return Date.now() / 1000;
}
