/** The closed loop: measure, train, measure again in the same environment, and show what changed. */

import { join, resolve } from "node:path";
import type { DemoOutput } from "../../contract/cli-json.ts";
import type { OptionName, RunConfig, RunConfigInput } from "../../contract/config.ts";
import { CancelledError, HoneError } from "../../contract/errors.ts";
import type { EvalReport, Evaluation } from "../../contract/eval.ts";
import { resolveConfig } from "../../contract/resolve-config.ts";
import { compareControl } from "../../evaluate/control.ts";
import { compare } from "../../evaluate/measures.ts";
import { findRun, newRunName, runsFolder } from "../../store/library.ts";
import type { Task } from "../../tasks/task.ts";
import { dataOptions, openTask } from "../../tasks/open-task.ts";
import { checkpointFolder, newestIntactCheckpoint, readTrainerState } from "../../train/run-folder/checkpoints.ts";
import { shortName } from "../../train/model-ref.ts";
import { peakMemory } from "../../train/loop.ts";
import { RunFolder } from "../../train/run-folder/run-folder.ts";
import type { TrainResult } from "../../train/run.ts";
import { evalOutput } from "../evaluation/eval-output.ts";
import { evaluatePolicy, type EvaluateHooks } from "../evaluation/evaluate-model.ts";
import type { OpenChoices, OpenPolicy, Session } from "../session.ts";
import { resumeRun, trainModel, type TrainHooks } from "../train-model.ts";
import { writeDemoReport } from "./demo-report.ts";
import { demoVerdict } from "./demo-verdict.ts";

export interface DemoRequest {
  /**
   * Options of the training. Defaults: those of the run that is taken up again; otherwise the starter, tic-tac-toe, seed
   * 42, and what a training has. `output_dir`: a folder that holds such a run is taken up again.
   */
  config?: RunConfigInput;
  /** Answers per held-out row, before and after. Default 1. */
  samples?: number;
  games?: number;
  /** Measure only about this many held-out rows. Default 500. */
  limit?: number;
  /** Measure the unrelated small set too. Default true. */
  control?: boolean;
}

/** What a demo is about to do. */
export interface DemoPlan {
  run: string;
  model: string;
  task: Task;
  method: RunConfig["method"];
  /** Null: by epochs. */
  steps: number | null;
}

/** Held-out rows of a demo: enough for intervals that a small gain can leave. */
const defaultLimit = 500;

export interface DemoHooks extends TrainHooks {
  onPlan: (plan: DemoPlan) => void;
  onEvaluate: (stage: "before" | "after", progress: Parameters<NonNullable<EvaluateHooks["onProgress"]>>[0]) => void;
  onEvaluated: (stage: "before" | "after", report: EvalReport) => void;
}

export async function runDemo(session: Session, request: DemoRequest, hooks: DemoHooks): Promise<DemoOutput> {
  const { config: given = {}, samples = 1, limit = defaultLimit, control = true } = request;
  const existing = given.output_dir == null ? undefined : findRun(given.output_dir);
  const stored = existing === undefined ? undefined : RunFolder.open(existing).readConfig().config;
  if (stored !== undefined) refuseOtherRun(given, stored);
  const all = { ...stored, ...given };
  const { model = "starter", task: taskName = "tic-tac-toe", seed = 42 } = all;
  const task = await openTask(taskName, dataOptions(all));
  try {
    const place = () => given.output_dir ?? join(runsFolder(), newRunName(["demo", task.name, shortName(model)]));
    const out = existing ?? resolve(place());
    const input: RunConfigInput = { ...given, model, task: taskName, seed, output_dir: out };
    if (stored === undefined) RunFolder.requireNew(out);
    const planned = stored ?? resolveConfig(input);
    hooks.onPlan({ run: out, model, task, method: planned.method, steps: given.max_steps ?? planned.max_steps });
    const measured = {
      ...{ task: taskName, seed, samples, limit, control },
      ...(request.games !== undefined && { games: request.games }),
      maxTokens: planned.max_completion_length,
      splitSeed: planned.split_seed,
    };
    const measure = async (stage: "before" | "after", reference: string, base?: OpenPolicy) => {
      const opened = await session.openPolicy(reference, openChoices(planned));
      const others = base === undefined ? {} : { opponents: { base: base.policy }, reference: base };
      try {
        const evaluation = await evaluatePolicy(task, opened, { ...measured, model: reference }, others, {
          signal: hooks.signal,
          onProgress: (progress) => hooks.onEvaluate(stage, progress),
        });
        hooks.onEvaluated(stage, evaluation.report);
        return evaluation;
      } finally {
        await opened.close();
      }
    };

    const before = await measure("before", model);
    const { run, state, finished } = await trainOrResume(session, input, existing, hooks);
    const folder = RunFolder.open(run);
    folder.writeEvaluation(0, "held-out", before);
    if (!finished) throw new CancelledError();

    const step = state.best?.step ?? state.step;
    const base = await session.openPolicy(model, openChoices(planned));
    let after: Evaluation;
    try {
      after = await measure("after", `${run}:${step}`, base);
    } finally {
      await base.close();
    }
    folder.writeEvaluation(step, "held-out", after);

    const change = compareWithControl(before, after, seed);
    const verdict = demoVerdict(before, after, change);
    const train = {
      steps: state.step,
      rollouts: state.num_rollouts,
      tokens: state.num_tokens,
      seconds: state.seconds,
      peak_rss_bytes: peakMemory(),
    };
    const report = writeDemoReport({ folder, task, before, after, change, verdict, step, train });
    return { before: evalOutput(before.report), after: evalOutput(after.report), change, verdict, train, run, report };
  } finally {
    await task.close?.();
  }
}

function compareWithControl(before: Evaluation, after: Evaluation, seed: number): DemoOutput["change"] {
  const [a, b] = [before.report.control, after.report.control];
  return {
    ...compare(before, after, seed),
    control: a === null || b === null ? null : compareControl(a, b, seed),
  };
}

/** Models are measured as they are trained. */
function openChoices({ chat_template_path, thinking, threads, memory_limit }: RunConfig): OpenChoices {
  return {
    ...(chat_template_path !== null && { template: chat_template_path }),
    ...(thinking !== null && { thinking }),
    ...(threads !== null && { threads }),
    ...(memory_limit !== null && { memoryLimit: memory_limit }),
  };
}

/** A run keeps its options; only its length may be raised. */
function refuseOtherRun(given: RunConfigInput, stored: RunConfig): void {
  const free: OptionName[] = ["output_dir", "max_steps"];
  const different = (Object.keys(given) as OptionName[]).find(
    (name) => !free.includes(name) && JSON.stringify(given[name]) !== JSON.stringify(stored[name]),
  );
  if (different === undefined) return;
  throw new HoneError(
    "run-exists",
    `${String(given.output_dir)} holds a run with ${different} ${String(stored[different])}, not ${String(given[different])}`,
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
