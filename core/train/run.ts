/** A training run from its configuration to its last checkpoint: new, or taken up again. */

import { createHash } from "node:crypto";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunConfig, RunConfigInput } from "../contract/config.ts";
import { HoneError } from "../contract/errors.ts";
import { resolveConfig } from "../contract/resolve-config.ts";
import type { RunRecord, TrainerState } from "../contract/run.ts";
import { plural } from "../contract/units.ts";
import type { Engine, Model, OpenProgress } from "../engine/types.ts";
import { evaluateTask, pickRows } from "../evaluate/evaluate-task.ts";
import { EnginePolicy, type Chat } from "../evaluate/policy.ts";
import { requireFreeBytes } from "../files/disk.ts";
import { lockFolder } from "../files/lock.ts";
import { listFiles, sha256File } from "../files/manifest.ts";
import { newRunName, runsFolder, runWord } from "../store/library.ts";
import type { Task, TaskRow } from "../tasks/task.ts";
import { findTask } from "../tasks/tasks.ts";
import {
  checkpointFolder,
  listIfMissing,
  newestIntactCheckpoint,
  optimizerStateName,
  readTrainerState,
} from "./checkpoints.ts";
import { runBytes } from "./disk-plan.ts";
import type { TrainListener } from "./events.ts";
import { findModel, shortName, type ModelFiles } from "./model-ref.ts";
import { chooseMicroBatchTokens, openReference, openTrainable } from "./open-trainable.ts";
import { Recorder } from "./recorder.ts";
import { trainLoop } from "./loop.ts";
import { rlMethod } from "./rl.ts";
import { RunFolder } from "./run-folder.ts";
import { makeSchedule } from "./schedule.ts";

/** A chat that can write the files a model folder needs beside its weights. */
export interface SavableChat extends Chat {
  /** File name → text: tokenizer, chat template, stop ids. */
  files(): Record<string, string>;
}

export interface TrainContext {
  engine: Engine;
  /**
   * `template`: `chatml` or a file, instead of the model's own. `now`: the date that a template may write into a prompt;
   * a resumed run keeps that of its beginning, so that its prompts stay the same.
   */
  openChat: (files: ModelFiles, template: string | null, now: Date) => Promise<SavableChat>;
  honeVersion: string;
  /** What asked for the run, for its record. */
  command: readonly string[];
  listen: TrainListener;
  onOpen?: (progress: OpenProgress) => void;
  signal: AbortSignal;
}

export interface TrainResult {
  run: string;
  state: TrainerState;
  finished: boolean;
}

/** A configuration whose open questions (memory, threads, steps) have been answered on this machine. */
export interface PreparedRun {
  begun: Date;
  config: RunConfig & { micro_batch_tokens: number };
  totalSteps: number;
  files: ModelFiles;
  task: Task;
  rows: { train: TaskRow[]; validation: TaskRow[] };
  heldOutRows: number;
  model: Model;
  policy: EnginePolicy;
  chat: SavableChat;
}

/** Opens everything a run needs, and checks what can be checked before it begins. The caller closes `model`. */
export async function prepareRun(
  context: TrainContext,
  input: RunConfig,
  resume?: { checkpoint: string | undefined; begun: Date },
): Promise<PreparedRun> {
  const { engine } = context;
  const task = findTask(input.task);
  if (task.limits.turns !== 1) {
    throw new HoneError("several-turns", `task ${task.name} takes several turns, which training cannot do yet`);
  }
  makeSchedule(input, 1);
  const begun = resume?.begun ?? new Date();
  const files = await findModel(input.model);
  const chat = await context.openChat(files, input.chat_template_path, begun);
  const [device] = engine.devices();
  const config = { ...input, threads: input.threads ?? device.threads };
  const model = await openTrainable(engine, config, files, resume?.checkpoint, context.onOpen);
  try {
    const rows = (split: "train" | "validation" | "held-out") => task.rows(split, { seed: config.split_seed });
    const train = rows("train");
    if (train.length === 0) throw new HoneError("no-rows", `task ${task.name} has no training rows`);
    const validation = pickRows(task, rows("validation"), config.eval_size, config.split_seed);
    const totalSteps =
      config.max_steps ??
      Math.max(1, Math.round(((config.num_train_epochs ?? 1) * train.length) / config.prompts_per_step));
    return {
      begun,
      config: { ...config, micro_batch_tokens: await chooseMicroBatchTokens(config, model, device.memoryFree) },
      totalSteps,
      files,
      task,
      rows: { train, validation },
      heldOutRows: rows("held-out").length,
      model,
      policy: new EnginePolicy(model, chat),
      chat,
    };
  } catch (error) {
    await model.close();
    throw error;
  }
}

/** Begins a new run, in `output_dir` or in a new folder of the library. */
export async function startTraining(context: TrainContext, input: RunConfigInput): Promise<TrainResult> {
  const config = resolveConfig(input);
  const newPath = () =>
    config.output_dir ?? join(runsFolder(), newRunName([config.task, config.method, shortName(config.model)]));
  RunFolder.requireNew(newPath());
  const prepared = await prepareRun(context, config);
  try {
    const { task, rows, chat, totalSteps, model } = prepared;
    const example = chat.renderPrompt(task.prompt(rows.train[0]), task.tools, task.toolChoice);
    requireFreeBytes(newPath(), runBytes(config, model.info(), totalSteps, example.length), "this run");
    const record = await makeRecord(context, prepared);
    const folder = await RunFolder.create(newPath(), prepared.config, record);
    return await runToEnd(context, prepared, folder, record, undefined);
  } finally {
    await prepared.model.close();
  }
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
    if (state !== undefined && state.step >= totalSteps && state.pending === null) {
      const done = plural(state.step, "step");
      const message =
        maxSteps === undefined || maxSteps === state.step
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
      return await runToEnd(context, prepared, folder, stored.record, state);
    } finally {
      await prepared.model.close();
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
  const { config, task, rows, policy, model, files, chat } = prepared;
  const unlock = lockFolder(folder.path);
  let reference: Awaited<ReturnType<typeof openReference>>;
  try {
    reference = await openReference(engine, config, files, model);
    const saveTensors = async (target: string) => {
      if (config.finetuning_type === "lora") await model.saveAdapter(target);
      else {
        await model.saveWeights(target);
        for (const [name, text] of Object.entries(chat.files())) writeFileSync(join(target, name), text);
      }
      await model.saveState(join(target, optimizerStateName));
    };
    const savedStep = resumeFrom?.pending === null ? resumeFrom.step : undefined;
    const recorder = new Recorder(folder, { config, listen, saveTensors }, savedStep);
    const method = rlMethod({
      config,
      policy,
      ...(reference !== undefined && { reference: reference.forward }),
      task,
      rows: rows.train,
    });
    const outcome = await trainLoop({
      config,
      method,
      totalSteps: prepared.totalSteps,
      scheduleSteps: record.total_steps,
      best: { metric: "eval_reward", better: "higher" },
      hasReference: config.beta > 0,
      recorder,
      evaluate: (step) => evaluateStep(prepared, folder, step, signal),
      ...(resumeFrom !== undefined && { resumeFrom }),
      listen,
      signal,
    });
    return { run: folder.path, ...outcome };
  } finally {
    await reference?.close();
    unlock();
  }
}

/** Measures the policy on the fixed validation rows, with the same draws every time. */
async function evaluateStep(
  { config, task, rows, policy }: PreparedRun,
  folder: RunFolder,
  step: number,
  signal: AbortSignal,
): Promise<Record<string, number>> {
  if (rows.validation.length === 0) return {};
  const evaluation = await evaluateTask(task, policy, {
    model: `${folder.name}:${step}`,
    split: "validation",
    splitSeed: config.split_seed,
    rows: rows.validation,
    samples: config.num_generations_eval,
    seed: config.seed,
    temperature: config.temperature,
    maxTokens: config.max_completion_length,
    greedy: false,
    games: false,
    signal,
  });
  folder.writeEvaluation(step, "validation", evaluation);
  const { report } = evaluation;
  const rate = (name: string, value: { mean: number } | null) => (value === null ? {} : { [name]: value.mean });
  return {
    eval_reward: report.reward.mean,
    "eval_reward/lo": report.reward.lo,
    "eval_reward/hi": report.reward.hi,
    ...rate("eval_outcomes/legal", report.legal_rate),
    ...rate("eval_outcomes/optimal", report.optimal_rate),
    ...rate("eval_outcomes/immediate_win", report.immediate_win_rate),
    ...rate("eval_outcomes/threat_block", report.threat_block_rate),
    "eval_completions/mean_length": report.response_length.mean,
    "eval_completions/max_length": report.response_length.max,
    "eval_completions/clipped_ratio": report.truncated_rate,
  };
}

async function makeRecord(context: TrainContext, prepared: PreparedRun): Promise<RunRecord> {
  const { config, files, task, rows, model, totalSteps, heldOutRows } = prepared;
  const info = model.info();
  const hash = createHash("sha256");
  for (const row of rows.train) hash.update(JSON.stringify(row) + "\n");
  return {
    hone_version: context.honeVersion,
    engine_version: context.engine.version,
    created: prepared.begun.toISOString(),
    command: [...context.command],
    model: {
      path: files.weights,
      architecture: info.architecture,
      parameters: info.parameters,
      trainable_parameters: info.trainableParameters,
      sha256: await modelHash(files),
    },
    data: {
      task: task.name,
      split_seed: config.split_seed,
      train: rows.train.length,
      validation: rows.validation.length,
      held_out: heldOutRows,
      train_sha256: hash.digest("hex"),
    },
    total_steps: totalSteps,
  };
}

/** SHA-256 of a .gguf file, or over the SHA-256 of all safetensors files of a folder and its adapter. */
export async function modelHash({ weights, adapter }: ModelFiles): Promise<string> {
  if (statSync(weights).isFile()) return sha256File(weights);
  const hash = createHash("sha256");
  for (const folder of adapter === undefined ? [weights] : [weights, adapter]) {
    for (const file of listFiles(folder)) {
      if (/\.safetensors$/.test(file) && file !== optimizerStateName) {
        hash.update(`${await sha256File(join(folder, file))}  ${file}\n`);
      }
    }
  }
  return hash.digest("hex");
}

/** An adapter, or a reference, of one model is of no use on another that stands in its place now. */
async function refuseOtherBase(record: RunRecord, { config, files }: PreparedRun): Promise<void> {
  if (config.finetuning_type === "full" && config.beta === 0) return;
  const hash = await modelHash(files);
  if (hash === record.model.sha256) return;
  throw new HoneError("other-model", `${files.weights} is not the model that this run was begun with`, {
    fix: "put the first model back, or begin a new run",
  });
}
