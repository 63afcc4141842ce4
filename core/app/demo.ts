/** The closed loop: measure, train, measure again in the same environment, and show what changed. */

import { join } from "node:path";
import type { DemoOutput } from "../contract/cli-json.ts";
import type { RunConfigInput } from "../contract/config.ts";
import { CancelledError, HoneError } from "../contract/errors.ts";
import type { Evaluation } from "../contract/eval.ts";
import { findRun, newRunName, runsFolder } from "../store/library.ts";
import { findTask } from "../tasks/tasks.ts";
import { checkpointFolder, newestIntactCheckpoint, readTrainerState } from "../train/checkpoints.ts";
import { shortName } from "../train/model-ref.ts";
import { peakMemory } from "../train/rl.ts";
import { RunFolder } from "../train/run-folder.ts";
import type { TrainResult } from "../train/run.ts";
import { writeDemoReport } from "./demo-report.ts";
import { evaluatePolicy, type EvaluateHooks } from "./evaluate-model.ts";
import type { Session } from "./session.ts";
import { resumeRun, trainModel, type TrainHooks } from "./train-model.ts";

export interface DemoRequest {
  model: string;
  task: string;
  steps?: number;
  seed?: number;
  out?: string;
  /** Answers per held-out row, before and after. */
  samples?: number;
  games?: number;
  /** Further options of the training. */
  config?: RunConfigInput;
}

export interface DemoHooks extends TrainHooks {
  onEvaluate: (stage: "before" | "after", progress: Parameters<NonNullable<EvaluateHooks["onProgress"]>>[0]) => void;
}

export async function runDemo(session: Session, request: DemoRequest, hooks: DemoHooks): Promise<DemoOutput> {
  const { model, task: taskName, seed = 42, samples = 1 } = request;
  const task = findTask(taskName);
  const out = request.out ?? join(runsFolder(), newRunName(["demo", taskName, shortName(model)]));
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

  const input: RunConfigInput = {
    ...request.config,
    model,
    task: taskName,
    seed,
    output_dir: out,
    ...(request.steps !== undefined && { max_steps: request.steps }),
  };
  const { run, state, finished } = await trainOrResume(session, input, out, hooks);
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

/** A demo that was stopped is taken up again when it is given its folder. */
async function trainOrResume(
  session: Session,
  input: RunConfigInput,
  out: string,
  hooks: TrainHooks,
): Promise<TrainResult> {
  const existing = findRun(out);
  if (existing === undefined) return trainModel(session, input, hooks);
  const { config } = RunFolder.open(existing).readConfig();
  const different = (["model", "task", "seed"] as const).find((name) => config[name] !== input[name]);
  if (different !== undefined) {
    throw new HoneError(
      "run-exists",
      `${out} holds a run with ${different} ${config[different]}, not ${String(input[different])}`,
      { fix: "choose another --out" },
    );
  }
  try {
    return await resumeRun(session, existing, input.max_steps == null ? {} : { maxSteps: input.max_steps }, hooks);
  } catch (error) {
    if (!(error instanceof HoneError) || error.code !== "run-finished") throw error;
    const { step } = await newestIntactCheckpoint(existing);
    if (step === undefined) throw error;
    return { run: existing, state: readTrainerState(checkpointFolder(existing, step)), finished: true };
  }
}
