/** A training run from its configuration to its last checkpoint: new, or taken up again. */

import { existsSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isRl, settingNotes, type RunConfig, type RunConfigInput } from "../contract/config.ts";
import { HoneError } from "../contract/errors.ts";
import { resolveConfig, type Origin } from "../contract/resolve-config.ts";
import type { RewardUsage } from "../contract/reward.ts";
import type { RunRecord, TrainerState } from "../contract/run.ts";
import { plural } from "../contract/units.ts";
import type { Forward } from "../evaluate/score-rows.ts";
import { requireFreeBytes } from "../files/disk.ts";
import { lockFolder } from "../files/lock.ts";
import { pinnedReference } from "../hub/storage/find-stored.ts";
import { newRunName, runsFolder, runWord } from "../store/library.ts";
import { answerTokens, findTaskFolder } from "../tasks/open-task.ts";
import { toolsOf } from "../tasks/task.ts";
import { tasks } from "../tasks/tasks.ts";
import {
  checkpointFolder,
  listIfMissing,
  newestIntactCheckpoint,
  optimizerStateName,
  readTrainerState,
} from "./run-folder/checkpoints.ts";
import { runBytes } from "./run-folder/disk-plan.ts";
import { bestMetric, evaluateStep } from "./evaluate-step.ts";
import { stoppedEarly, trainLoop, type Method } from "./loop.ts";
import { dpoMethod } from "./examples/dpo.ts";
import { originOf, shortName } from "./model-ref.ts";
import { openReference } from "./open-trainable.ts";
import { openPairReference, type PairReference } from "./examples/pair-reference.ts";
import { prepareRun, type PreparedRun, type TrainContext } from "./prepare-run.ts";
import { ppoMethod } from "./rl/ppo.ts";
import { Recorder } from "./run-folder/recorder.ts";
import { rlMethod } from "./rl/rl.ts";
import { RunFolder } from "./run-folder/run-folder.ts";
import { makeRecord, refuseOtherBase } from "./run-folder/run-record.ts";
import { sftMethod } from "./examples/sft.ts";

export interface TrainResult {
  run: string;
  state: TrainerState;
  finished: boolean;
  /** What judges cost since the run was begun or taken up again; absent where there are none. */
  judge?: RewardUsage;
}

/** What the model and the task bring into a run's defaults. */
export function originOfRun({ model, task }: { model?: string | undefined; task?: string | undefined }): Origin {
  const origin = model === undefined ? {} : originOf(model);
  const tokens = task === undefined ? undefined : answerTokens(task);
  return {
    ...origin,
    defaults: { ...(tokens !== undefined && { max_completion_length: tokens }), ...origin.defaults },
  };
}

/** The resolved configuration of a new run. Files are named by their whole paths, so that it can be resumed from anywhere. */
export function resolveNewRun(input: RunConfigInput): RunConfig {
  const config = resolveConfig(input, originOfRun(input));
  const whole = <T extends string | null>(path: T) => (path !== null && existsSync(path) ? resolve(path) : path);
  const isBuiltIn = tasks.some(({ name }) => name === config.task);
  return {
    ...config,
    model: modelWord(config.model),
    task: isBuiltIn ? config.task : (findTaskFolder(config.task) ?? whole(config.task)),
    reward: whole(config.reward),
    chat_template_path: whole(config.chat_template_path),
  };
}

/** A model by a name that means the same whenever and wherever the run is taken up again. */
function modelWord(model: string): string {
  if (model === "starter") return model;
  return existsSync(model) ? resolve(model) : pinnedReference(model);
}

/** Begins a new run, in `output_dir` or in a new folder of the library. */
export async function startTraining(context: TrainContext, input: RunConfigInput): Promise<TrainResult> {
  const config = resolveNewRun(input);
  const nameParts = [shortName(config.task).replace(/\.\w+$/, ""), config.method, shortName(config.model)];
  const newPath = () => config.output_dir ?? join(runsFolder(), newRunName(nameParts));
  RunFolder.requireNew(newPath());
  const prepared = await prepareRun(context, config);
  try {
    for (const message of settingNotes(config)) context.listen({ type: "note", message });
    const { model, totalSteps } = prepared;
    requireFreeBytes(newPath(), runBytes(config, model.info(), totalSteps, promptLength(prepared)), "this run");
    const record = await makeRecord(context, prepared);
    const folder = await createFolder(newPath, prepared.config, record);
    return await runToEnd(context, prepared, folder, record, undefined);
  } finally {
    await prepared.close();
  }
}

/** Two runs begun at the same moment want the same new name: the later one takes the next. */
async function createFolder(newPath: () => string, config: RunConfig, record: RunRecord): Promise<RunFolder> {
  for (;;) {
    const path = newPath();
    try {
      return await RunFolder.create(path, config, record);
    } catch (error) {
      const isTaken = error instanceof HoneError && error.code === "run-exists";
      if (!isTaken || newPath() === path) throw error;
    }
  }
}

/** Of a prompt that answers will be drawn for; 0 where none are. */
function promptLength({ config, task, rows, chat }: PreparedRun): number {
  if (!isRl(config.method)) return 0;
  const [row] = rows.train;
  return chat.renderPrompt(task.prompt(row), toolsOf(task, row), task.toolChoice).length;
}

/**
 * Takes a run up where its newest intact checkpoint left it, or from its beginning when it has none. `maxSteps` above
 * the run's own length extends it; the learning rate then stays where its schedule ended.
 */
export async function resumeTraining(
  context: TrainContext,
  path: string,
  { maxSteps }: { maxSteps?: number } = {},
): Promise<TrainResult> {
  const folder = RunFolder.open(path);
  const unlock = lockFolder(folder.path);
  try {
    const stored = folder.readConfig();
    const { step, damaged } = await newestIntactCheckpoint(folder.path);
    for (const { step: bad, problems } of damaged) {
      context.listen({ type: "note", message: `checkpoint ${bad} is damaged and passed over: ${problems.join(", ")}` });
    }
    const checkpoint = step === undefined ? undefined : checkpointFolder(folder.path, step);
    const state = checkpoint === undefined ? undefined : readTrainerState(checkpoint);
    const totalSteps = maxSteps ?? stored.config.max_steps ?? stored.record.total_steps;
    const isEarly = state !== undefined && maxSteps === undefined && stoppedEarly(stored.config, state);
    if (state !== undefined && state.pending === null && (isEarly || state.step >= totalSteps)) {
      const done = plural(state.step, "step");
      const message = isEarly
        ? `the run ${folder.name} ended early after ${done}: its evaluations no longer became better`
        : maxSteps === undefined || maxSteps === state.step
          ? `the run ${folder.name} is finished: it has done all its ${done}`
          : `the run ${folder.name} has done ${done} already, so it cannot end at ${maxSteps}`;
      throw new HoneError("run-finished", message, {
        fix: `to train it further: \`hone resume ${runWord(folder.path)} --max-steps ${2 * state.step}\``,
      });
    }
    const config = { ...stored.config, max_steps: totalSteps, num_train_epochs: null };
    const prepared = await prepareRun(context, config, { checkpoint, begun: new Date(stored.record.created) });
    try {
      await refuseOtherBase(stored.record, prepared);
      if (totalSteps !== stored.config.max_steps) folder.writeConfig(prepared.config, stored.record);
      const seam = folder.rewindTo(step ?? 0, { pending: step === undefined || state?.pending != null });
      if (step !== undefined) listIfMissing(folder.path, step);
      const dropped = seam.dropped_steps.length;
      context.listen({
        type: "note",
        message:
          `going on after step ${seam.step}` +
          (dropped > 0
            ? `; ${plural(dropped, "step")} after the last checkpoint ${dropped === 1 ? "is" : "are"} done again`
            : ""),
      });
      // Who asks for more steps wants them done, whatever the evaluations said.
      const begin = state === undefined || maxSteps === undefined ? state : { ...state, evaluations_without_better: 0 };
      return await runToEnd(context, prepared, folder, stored.record, begin);
    } finally {
      await prepared.close();
    }
  } finally {
    unlock();
  }
}

async function runToEnd(
  context: TrainContext,
  prepared: PreparedRun,
  folder: RunFolder,
  record: RunRecord,
  resumeFrom: TrainerState | undefined,
): Promise<TrainResult> {
  const { engine, listen, signal } = context;
  const { config, model, files, chat } = prepared;
  const unlock = lockFolder(folder.path);
  let reference: Awaited<ReturnType<typeof openReference>>;
  try {
    const pairs =
      config.method === "dpo"
        ? await openPairReference(context, prepared, folder, { atStart: resumeFrom === undefined })
        : undefined;
    reference = config.method === "dpo" ? undefined : await openReference(engine, config, files, model);
    const saveTensors = async (target: string) => {
      if (config.finetuning_type === "lora") await model.saveAdapter(target);
      else {
        await model.saveWeights(target);
        for (const [name, text] of Object.entries(chat.files())) writeFileSync(join(target, name), text);
      }
      await model.saveState(join(target, optimizerStateName));
    };
    const savedStep = resumeFrom?.pending === null ? resumeFrom.step : undefined;
    const outcome = await trainLoop({
      config,
      method: makeMethod(prepared, { reference: reference?.forward, pairs }),
      totalSteps: prepared.totalSteps,
      scheduleSteps: record.total_steps,
      best: bestMetric(prepared),
      hasReference: prepared.hasReference,
      recorder: new Recorder(folder, { config, listen, saveTensors }, savedStep),
      evaluate: (step) =>
        evaluateStep(prepared, { folder, step, signal, ...(pairs !== undefined && { reference: pairs }) }),
      ...(resumeFrom !== undefined && { resumeFrom }),
      listen,
      signal,
    });
    const judge = prepared.task.usage?.();
    return { run: folder.path, ...outcome, ...(judge !== undefined && { judge }) };
  } finally {
    await reference?.close();
    unlock();
  }
}

function makeMethod(
  { config, model, policy, task, rows, examples }: PreparedRun,
  { reference, pairs }: { reference: Forward | undefined; pairs: PairReference | undefined },
): Method {
  const rl = { config, policy, ...(reference !== undefined && { reference }), task, rows: rows.train };
  switch (config.method) {
    case "sft":
      return sftMethod({ config, model, examples: required(examples.sft) });
    case "dpo":
      return dpoMethod({ config, model, examples: required(examples.dpo), reference: required(pairs) });
    case "gspo":
    case "grpo":
      return rlMethod(rl);
    case "ppo":
      return ppoMethod(rl);
  }
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a method was not prepared for");
  return value;
}
