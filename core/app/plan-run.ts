/** What a run will do, need and take, before anything is written: `--dry-run`. */

import type { RunConfig, RunConfigInput } from "../contract/config.ts";
import type { RunPlan } from "../contract/cli-json.ts";
import { resolveConfig } from "../contract/resolve-config.ts";
import { freeBytes } from "../files/disk.ts";
import { runsFolder } from "../store/library.ts";
import { runBytes } from "../train/disk-plan.ts";
import { RunFolder } from "../train/run-folder.ts";
import { prepareRun, type PreparedRun } from "../train/run.ts";
import { probeStep, type StepProbe } from "./probe-step.ts";
import { trainContext, type TrainHooks } from "./train-model.ts";
import type { Session } from "./session.ts";

/** Opens the model, does a part of a step with it, and closes it again. Nothing is written. */
export async function planRun(session: Session, input: RunConfigInput, hooks: TrainHooks): Promise<RunPlan> {
  const resolved = resolveConfig(input);
  if (resolved.output_dir !== null) RunFolder.requireNew(resolved.output_dir);
  const program = process.memoryUsage().rss;
  const prepared = await prepareRun(trainContext(session, hooks), resolved);
  try {
    const { config, totalSteps, model, rows } = prepared;
    const evaluationRows = rows.validation.length;
    const probe = await probeStep({ ...prepared, rows: rows.train, evaluationRows, signal: hooks.signal });
    const answers = config.prompts_per_step * config.num_generations;
    const evaluations =
      Number(config.eval_on_start) + (config.eval_steps === 0 ? 0 : Math.ceil(totalSteps / config.eval_steps));
    const stepTokens = (answerTokens: number) =>
      Math.round(config.prompts_per_step * probe.promptTokens + answers * answerTokens);
    const path = config.output_dir ?? runsFolder();
    return {
      config,
      model: { name: prepared.files.name, ...pickInfo(model.info()) },
      rows: {
        train: prepared.rows.train.length,
        validation: prepared.rows.validation.length,
        held_out: prepared.heldOutRows,
      },
      steps: totalSteps,
      epochs: (totalSteps * config.prompts_per_step) / prepared.rows.train.length,
      answers_per_step: answers,
      optimizer_steps: totalSteps * config.num_mini_batches * config.num_iterations,
      tokens_per_step: {
        now: stepTokens(probe.answerTokens),
        most: stepTokens(config.max_completion_length),
      },
      memory_bytes: await planMemory(prepared, probe, program),
      disk_bytes: runBytes(config, model.info(), totalSteps, probe.promptTokens),
      disk_free_bytes: freeBytes(path),
      seconds: {
        per_step: probe.secondsPerStep,
        most_per_step: probe.mostSecondsPerStep,
        evaluation: evaluations === 0 ? 0 : probe.secondsPerEvaluation,
        total: probe.secondsPerStep * totalSteps + probe.secondsPerEvaluation * evaluations,
      },
      notes: notes(config),
    };
  } finally {
    await prepared.model.close();
  }
}

function pickInfo({ architecture, parameters, trainableParameters, dtype }: ReturnType<PreparedRun["model"]["info"]>) {
  return { architecture, parameters, trainable_parameters: trainableParameters, dtype };
}

/** Bytes at the highest point, with answers as they are now. Training and sampling take turns, so what each takes for itself is not added up. */
async function planMemory({ config, model }: PreparedRun, probe: StepProbe, program: number) {
  const { prompts_per_step: prompts, num_generations, num_mini_batches } = config;
  const miniBatch = Math.ceil(prompts / num_mini_batches) * (num_generations * probe.answerTokens + probe.promptTokens);
  const tokens = Math.min(config.micro_batch_tokens, Math.ceil(miniBatch));
  const training = await model.estimateMemory({ tokens, targets: tokens });
  const cacheOf = async (held: number) => (await model.estimateMemory({ sequences: 1, length: held })).kvCache;
  const kvCache = await cacheOf(Math.ceil(prompts * probe.promptTokens + probe.tokensHeld));
  const { weights, gradients, optimizer, activations } = training;
  return {
    weights,
    gradients,
    optimizer,
    activations,
    kv_cache: kvCache,
    program,
    total: weights + gradients + optimizer + Math.max(activations, kvCache) + program,
  };
}

/** What a user should know about these settings before the run begins. */
function notes(config: RunConfig): string[] {
  const list: string[] = [];
  if (config.num_mini_batches * config.num_iterations === 1) {
    list.push("one optimizer step per batch of rollouts: the ratio is always 1, so the clip bounds never act");
  }
  if (config.top_p < 1 || config.top_k > 0 || config.min_p > 0) {
    list.push("top_p, top_k and min_p cut the sampler's distribution, and no ratio corrects for it");
  }
  if (config.temperature !== 1) {
    list.push(`temperature ${config.temperature}: logits are divided by it in training too, and answers scored again`);
  }
  return list;
}
