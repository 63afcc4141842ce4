/** What a run will do, need and take, before anything is written: `--dry-run`. */

import { isRl, settingNotes, usedOptions, type RunConfigInput } from "../../contract/config.ts";
import type { RunPlan } from "../../contract/cli-json.ts";
import { freeBytes } from "../../files/disk.ts";
import { runsFolder } from "../../store/library.ts";
import { runBytes } from "../../train/run-folder/disk-plan.ts";
import { prepareRun, type PreparedRun } from "../../train/prepare-run.ts";
import { RunFolder } from "../../train/run-folder/run-folder.ts";
import { resolveNewRun } from "../../train/run.ts";
import { trainContext, type TrainHooks } from "../train-model.ts";
import type { Session } from "../session.ts";
import { probeBatch } from "./probe-batch.ts";
import { probeStep, type MethodProbe } from "./probe-step.ts";

const unfinishedNote =
  "answers were still being written when the measurement ended, and later tokens take longer than the first: a step may take up to twice the time";

/** Opens the model, does a part of a step with it, and closes it again. Nothing is written. */
export async function planRun(session: Session, input: RunConfigInput, hooks: TrainHooks): Promise<RunPlan> {
  const resolved = resolveNewRun(input);
  if (resolved.output_dir !== null) RunFolder.requireNew(resolved.output_dir);
  const program = process.memoryUsage().rss;
  const prepared = await prepareRun(trainContext(session, hooks), resolved);
  try {
    const { config, totalSteps, model, rows, examples } = prepared;
    const subject = { ...prepared, signal: hooks.signal };
    const probe = isRl(config.method) ? await probeStep(subject) : await probeBatch(subject);
    const evaluations =
      Number(config.eval_on_start) + (config.eval_steps === 0 ? 0 : Math.ceil(totalSteps / config.eval_steps));
    const perStep = isRl(config.method) ? config.prompts_per_step : config.batch_size;
    const trainedRows = (examples.sft ?? examples.dpo)?.items.length ?? rows.train.length;
    return {
      config: usedOptions(config),
      model: { name: prepared.files.name, ...pickInfo(model.info()) },
      rows: { train: trainedRows, validation: rows.validation.length, held_out: prepared.heldOutRows },
      steps: totalSteps,
      epochs: (totalSteps * perStep) / trainedRows,
      rows_per_step: perStep,
      answers_per_step: isRl(config.method) ? config.prompts_per_step * config.num_generations : null,
      optimizer_steps: totalSteps * (isRl(config.method) ? config.num_mini_batches * config.num_iterations : 1),
      tokens_per_step: { now: Math.round(probe.tokensPerStep.now), most: Math.round(probe.tokensPerStep.most) },
      memory_bytes: await planMemory(prepared, probe, program),
      disk_bytes: runBytes(config, model.info(), totalSteps, probe.promptTokens),
      disk_free_bytes: freeBytes(config.output_dir ?? runsFolder()),
      seconds: {
        per_step: probe.secondsPerStep.now,
        most_per_step: probe.secondsPerStep.most,
        evaluation: evaluations === 0 ? 0 : probe.secondsPerEvaluation,
        total: probe.secondsPerStep.now * totalSteps + probe.secondsPerEvaluation * evaluations,
      },
      notes: [...settingNotes(config), ...(probe.unfinished ? [unfinishedNote] : [])],
    };
  } finally {
    await prepared.close();
  }
}

function pickInfo({ architecture, parameters, trainableParameters, dtype }: ReturnType<PreparedRun["model"]["info"]>) {
  return { architecture, parameters, trainable_parameters: trainableParameters, dtype };
}

/** Bytes at the highest point, with answers as they are now. Training and sampling take turns, so what each takes for itself is not added up. */
async function planMemory({ config, model, hasReference, files }: PreparedRun, probe: MethodProbe, program: number) {
  const tokens = Math.max(1, Math.ceil(probe.passTokens));
  const training = await model.estimateMemory({ tokens, targets: tokens });
  const held = Math.ceil(probe.tokensHeld);
  const kvCache = held === 0 ? 0 : (await model.estimateMemory({ sequences: 1, length: held })).kvCache;
  const { weights, gradients, optimizer, activations } = training;
  // A KL term whose reference is no adapter's base holds a second copy. DPO keeps that model's log-probs instead.
  const holdsCopy =
    hasReference && config.method !== "dpo" && (config.finetuning_type === "full" || files.adapter !== undefined);
  const reference = holdsCopy ? model.info().weightBytes : 0;
  return {
    weights,
    gradients,
    optimizer,
    activations,
    kv_cache: kvCache,
    reference,
    program,
    total: weights + gradients + optimizer + Math.max(activations, kvCache) + reference + program,
  };
}
