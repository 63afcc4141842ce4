/** The closed loop: measure, train, measure again in the same environment, and show what changed. */

import { join, resolve } from "node:path";
import type { DemoOutput } from "../contract/cli-json.ts";
import type { RunConfig, RunConfigInput } from "../contract/config.ts";
import { defaultsFor } from "../contract/defaults.ts";
import { CancelledError, HoneError } from "../contract/errors.ts";
import type { EvalReport, Evaluation } from "../contract/eval.ts";
import { findRun, newRunName, runsFolder } from "../store/library.ts";
import { findTask } from "../tasks/tasks.ts";
import { checkpointFolder, newestIntactCheckpoint, readTrainerState } from "../train/checkpoints.ts";
import { shortName } from "../train/model-ref.ts";
import { peakMemory } from "../train/loop.ts";
import { RunFolder } from "../train/run-folder.ts";
import type { TrainResult } from "../train/run.ts";
import { writeDemoReport } from "./demo-report.ts";
import { evaluatePolicy, type EvaluateHooks } from "./evaluate-model.ts";
import type { Session } from "./session.ts";
import { resumeRun, trainModel, type TrainHooks } from "./train-model.ts";

export interface DemoRequest {
  /** Default: that of the run that is taken up again, or the starter. */
  model?: string;
  task: string;
  steps?: number;
  /** Default: that of the run that is taken up again, or 42. */
  seed?: number;
  /** Run folder; one that holds a run of the same model is taken up again. Default: a new one in the library. */
  out?: string;
  /** Answers per held-out row, before and after. */
  samples?: number;
  games?: number;
  /** Further options of the training. */
  config?: RunConfigInput;
}

/** What a demo is about to do. */
export interface DemoPlan {
  run: string;
  model: string;
  steps: number;
}

export interface DemoHooks extends TrainHooks {
  onPlan: (plan: DemoPlan) => void;
  onEvaluate: (stage: "before" | "after", progress: Parameters<NonNullable<EvaluateHooks["onProgress"]>>[0]) => void;
  onEvaluated: (stage: "before" | "after", report: EvalReport) => void;
}

export async function runDemo(session: Session, request: DemoRequest, hooks: DemoHooks): Promise<DemoOutput> {
  const { task: taskName, samples = 1 } = request;
  const task = findTask(taskName);
  const existing = request.out === undefined ? undefined : findRun(request.out);
  const stored = existing === undefined ? undefined : RunFolder.open(existing).readConfig().config;
  const { model = stored?.model ?? "starter", seed = stored?.seed ?? 42 } = request;
  const out = existing ?? resolve(request.out ?? join(runsFolder(), newRunName(["demo", taskName, shortName(model)])));
  const input: RunConfigInput = {
    ...request.config,
    model,
    task: taskName,
    seed,
    output_dir: out,
    ...(request.steps !== undefined && { max_steps: request.steps }),
  };
  if (stored === undefined) RunFolder.requireNew(out);
  else refuseOtherRun(out, stored, input);
  const steps = request.steps ?? stored?.max_steps ?? defaultsFor({ ...input, model, task: taskName }).max_steps;
  hooks.onPlan({ run: out, model, steps: steps ?? 0 });

  const measured = { task: taskName, seed, samples, ...(request.games !== undefined && { games: request.games }) };
  const evaluateHooks = (stage: "before" | "after"): EvaluateHooks => ({
    signal: hooks.signal,
    onProgress: (progress) => hooks.onEvaluate(stage, progress),
  });

  const first = await session.openPolicy(model);
  let before: Evaluation;
  try {
    before = await evaluatePolicy(task, first, { ...measured, model }, {}, evaluateHooks("before"));
  } finally {
    await first.close();
  }
  hooks.onEvaluated("before", before.report);

  const { run, state, finished } = await trainOrResume(session, input, existing, hooks);
  const folder = RunFolder.open(run);
  folder.writeEvaluation(0, "held-out", before);
  if (!finished) throw new CancelledError();

  const step = state.best?.step ?? state.step;
  const reference = `${run}:${step}`;
  const trained = await session.openPolicy(reference);
  let after: Evaluation;
  try {
    const base = await session.openPolicy(model);
    try {
      const opponents = { base: base.policy };
      after = await evaluatePolicy(task, trained, { ...measured, model: reference }, opponents, evaluateHooks("after"));
    } finally {
      await base.close();
    }
  } finally {
    await trained.close();
  }
  folder.writeEvaluation(step, "held-out", after);
  hooks.onEvaluated("after", after.report);

  const train = {
    steps: state.step,
    rollouts: state.num_rollouts,
    tokens: state.num_tokens,
    seconds: state.seconds,
    peak_rss_bytes: peakMemory(),
  };
  const report = writeDemoReport({ folder, task, before, after, step, train, checkpoint: checkpointFolder(run, step) });
  return { before: before.report, after: after.report, train, run, report };
}

function refuseOtherRun(out: string, stored: RunConfig, input: RunConfigInput): void {
  const different = (["model", "task", "seed"] as const).find((name) => stored[name] !== input[name]);
  if (different === undefined) return;
  throw new HoneError(
    "run-exists",
    `${out} holds a run with ${different} ${stored[different]}, not ${String(input[different])}`,
    { fix: "choose another --out" },
  );
}

/** A demo that was stopped is taken up again when it is given its folder. */
async function trainOrResume(
  session: Session,
  input: RunConfigInput,
  existing: string | undefined,
  hooks: TrainHooks,
): Promise<TrainResult> {
  if (existing === undefined) return trainModel(session, input, hooks);
  try {
    return await resumeRun(session, existing, input.max_steps == null ? {} : { maxSteps: input.max_steps }, hooks);
  } catch (error) {
    if (!(error instanceof HoneError) || error.code !== "run-finished") throw error;
    const { step } = await newestIntactCheckpoint(existing);
    if (step === undefined) throw error;
    return { run: existing, state: readTrainerState(checkpointFolder(existing, step)), finished: true };
  }
}
