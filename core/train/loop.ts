/**
 * What every method shares: steps in order, evaluated and saved when it is time to, stopped and taken up again without
 * losing more than the step that was being done. What a step is, is the method's (`rl.ts`, …).
 */

import type { RunConfig } from "../contract/config.ts";
import { errorKind, HoneError } from "../contract/errors.ts";
import { metricLabel } from "../contract/metric-labels.ts";
import type { MetricsRow, TrainerState } from "../contract/run.ts";
import { plural } from "../contract/units.ts";
import { StepClock, TimeLeft } from "./clock.ts";
import type { BestMetric, TrainListener } from "./events.ts";
import type { Recorder } from "./run-folder/recorder.ts";

/** A configuration with everything answered on this machine. */
export type ReadyConfig = RunConfig & { micro_batch_tokens: number };

/** What a method has to work with in one step. */
export interface StepContext {
  /** Number of the step, from 1. */
  step: number;
  /** After the step before. */
  state: TrainerState;
  clock: StepClock;
  /** Optimizer steps of the whole schedule. */
  scheduleSteps: number;
  listen: TrainListener;
  recorder: Recorder;
  /** Asks to stop: a step that has not touched the weights is dropped, any other is finished. */
  signal: AbortSignal;
  /** To be called before the weights are touched. */
  touching: () => void;
}

export interface StepResult {
  metrics: Record<string, number>;
  /** Worked on in this step, shared prefixes once. */
  tokens: number;
  rollouts: number;
  nonFiniteInARow: number;
  data_cursor: TrainerState["data_cursor"];
  epoch: number;
  /** The batch as JSON lines, to be looked at when its gradients were not finite. */
  batch: () => readonly unknown[];
}

export interface Method {
  /** Optimizer steps in one step. */
  readonly optimizerSteps: number;
  /** Where in the data a new run begins. */
  readonly firstCursor: TrainerState["data_cursor"];
  step(context: StepContext): Promise<StepResult>;
}

export interface LoopRun {
  config: ReadyConfig;
  method: Method;
  /** Steps to have done at the end. */
  totalSteps: number;
  /** Steps over which the learning rate runs its course. */
  scheduleSteps: number;
  best: BestMetric;
  hasReference: boolean;
  recorder: Recorder;
  /** Measures the model on fixed rows: metrics named `eval_…`. */
  evaluate: (step: number) => Promise<Record<string, number>>;
  /** Where a saved run goes on; absent for a new one. */
  resumeFrom?: TrainerState;
  listen: TrainListener;
  signal: AbortSignal;
}

export interface LoopOutcome {
  state: TrainerState;
  /** False when the run was asked to stop before its last step. */
  finished: boolean;
}

/** Optimizer steps in a row without a finite gradient that end a run. */
const nonFiniteLimit = 3;

export async function trainLoop(run: LoopRun): Promise<LoopOutcome> {
  const { config, method, recorder, listen, signal } = run;
  listen({
    type: "begin",
    run: recorder.folder.path,
    method: config.method,
    totalSteps: run.totalSteps,
    best: run.best,
  });
  const timeLeft = new TimeLeft();
  let state = run.resumeFrom ?? firstState(run);
  /** True while the weights are those of `state`, so that they may be saved as its checkpoint. */
  let settled = true;

  try {
    if (state.pending !== null) state = await finishStep(run, state, state.pending, timeLeft);
    else if (state.step === 0 && config.eval_on_start && !recorder.hasStep(0)) {
      state = await finishStep(run, state, { step: 0, time: now() }, timeLeft);
    }

    while (state.step < run.totalSteps && !signal.aborted && !stoppedEarly(config, state)) {
      const step = state.step + 1;
      const clock = new StepClock();
      const result = await method.step({
        step,
        state,
        clock,
        scheduleSteps: run.scheduleSteps * method.optimizerSteps,
        listen,
        recorder,
        signal,
        touching: () => {
          settled = false;
        },
      });
      timeLeft.addStep(clock.seconds());
      state = {
        ...state,
        step,
        global_step: state.global_step + method.optimizerSteps,
        epoch: result.epoch,
        num_tokens: state.num_tokens + result.tokens,
        num_rollouts: state.num_rollouts + result.rollouts,
        seconds: state.seconds + clock.seconds(),
        data_cursor: result.data_cursor,
        nonfinite_in_a_row: result.nonFiniteInARow,
      };
      settled = true;
      const row: MetricsRow = {
        step,
        time: now(),
        global_step: state.global_step,
        epoch: state.epoch,
        num_tokens: state.num_tokens,
        ...result.metrics,
        ...clock.metrics(result.tokens),
        peak_memory: peakMemory(),
      };
      state = await finishStep(run, state, row, timeLeft);
      if (state.nonfinite_in_a_row >= nonFiniteLimit) throw notFinite(run, state, result.batch());
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
  const isDone = state.step >= run.totalSteps || stoppedEarly(config, state);
  return { state, finished: isDone && state.pending === null };
}

/** Whether the evaluations have failed to become better for as long as the user has patience. */
export function stoppedEarly({ early_stopping_patience: patience }: RunConfig, state: TrainerState): boolean {
  return patience !== null && state.evaluations_without_better >= patience;
}

function firstState({ config, method, totalSteps, hasReference }: LoopRun): TrainerState {
  return {
    version: 1,
    step: 0,
    global_step: 0,
    total_steps: totalSteps,
    epoch: 0,
    num_tokens: 0,
    num_rollouts: 0,
    seconds: 0,
    data_cursor: method.firstCursor,
    nonfinite_in_a_row: 0,
    best: null,
    rng: { seed: config.seed },
    evaluations_without_better: 0,
    pending: null,
    has_critic: config.method === "ppo",
    has_reference: hasReference,
  };
}

/**
 * Evaluates when it is time to, records the step, saves when it is time to. When the user stops the run during the
 * evaluation, the step's metrics wait in the state, to be completed when the run is taken up again.
 */
async function finishStep(
  run: LoopRun,
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
      row = { ...row, ...(await run.evaluate(step)) };
    } catch (error) {
      if (signal.aborted && errorKind(error) === "cancelled") return { ...state, pending: metrics };
      throw error;
    }
    timeLeft.addEvaluation(clock.seconds());
    state = { ...state, seconds: state.seconds + clock.seconds() };
    if (step > 0) ({ state, isBest } = compareWithBest(run, state, row));
    listen({ type: "evaluation", step, metrics: row, best: isBest });
  }
  const isEnd = isLast || stoppedEarly(config, state);
  row = recorder.metrics(row);
  if (step > 0 && (isBest || isEnd || (config.save_steps > 0 && step % config.save_steps === 0))) {
    await recorder.checkpoint(state);
  }
  const stepsLeft = run.totalSteps - step;
  const evaluationsLeft = config.eval_steps > 0 ? Math.ceil(stepsLeft / config.eval_steps) : 0;
  const secondsLeft = timeLeft.estimate(stepsLeft, evaluationsLeft);
  if (step > 0) listen({ type: "step", row, totalSteps: run.totalSteps, secondsLeft });
  if (isEnd && !isLast) listen({ type: "note", message: earlyStopText(run, state) });
  return state;
}

/**
 * A validation part is small: of checkpoints within a standard error of the best score the latest is the best (Breiman's
 * one-standard-error rule), not the one that was lucky. Early stopping counts any gain over the highest score so far: the
 * rows and draws of evaluations are the same, so a small gain that lasts is one, and many small ones would never exceed a
 * standard error each.
 */
function compareWithBest(
  { best: { metric, better } }: LoopRun,
  state: TrainerState,
  row: MetricsRow,
): { state: TrainerState; isBest: boolean } {
  const value = row[metric];
  if (value === undefined) return { state, isBest: false };
  const sign = better === "higher" ? 1 : -1;
  const highest = sign * Math.max(sign * (state.best?.highest ?? value), sign * value);
  const isBest = sign * value >= sign * highest - standardError(row, metric);
  const best = isBest || state.best === null ? { step: state.step, metric, value } : state.best;
  const isBetter = state.best === null || sign * value > sign * state.best.highest;
  const evaluations_without_better = isBetter ? 0 : state.evaluations_without_better + 1;
  return { state: { ...state, best: { ...best, highest }, evaluations_without_better }, isBest };
}

function earlyStopText({ best: { metric } }: LoopRun, { step, best, evaluations_without_better: count }: TrainerState) {
  const where = best === null ? "" : `; the best checkpoint is that of step ${best.step}`;
  return `stopped early after step ${step}: the ${metricLabel(metric).label} was not better in the last ${plural(count, "evaluation")}${where}`;
}

/** Half of a 95 % interval is 1.96 standard errors. 0 where no interval was measured. */
function standardError(row: MetricsRow, metric: string): number {
  const [low, high] = [row[`${metric}/lo`], row[`${metric}/hi`]];
  return low === undefined || high === undefined ? 0 : (high - low) / (2 * 1.96);
}

function notFinite({ recorder }: LoopRun, state: TrainerState, lines: readonly unknown[]): HoneError {
  const batch = recorder.keepBatch(state.step, lines);
  return new HoneError(
    "non-finite",
    `the gradient was not finite in ${state.nonfinite_in_a_row} optimizer steps in a row, the last in step ${state.step}`,
    { fix: `those steps were skipped and the weights are sound; the batch is in ${batch}. Lower learning_rate` },
  );
}

/** Bytes of resident memory at the highest point of this process so far. */
export function peakMemory(): number {
  return process.resourceUsage().maxRSS * 1024;
}

function now(): number {
  return Date.now() / 1000;
}
