/** What a run will do, need and take, before anything is written: `--dry-run`. */

import type { RunConfig, RunConfigInput } from "../contract/config.ts";
import type { RunPlan } from "../contract/cli-json.ts";
import { resolveConfig } from "../contract/resolve-config.ts";
import { freeBytes } from "../files/disk.ts";
import { runsFolder } from "../store/library.ts";
import { runBytes } from "../train/disk-plan.ts";
import { mean } from "../train/losses/numbers.ts";
import { packMicroBatches } from "../train/micro-batches.ts";
import { PromptOrder } from "../train/prompt-order.ts";
import { choosePrompts, PromptCache, sampleGroups } from "../train/rollouts.ts";
import { prepareRun, type PreparedRun } from "../train/run.ts";
import { trainContext, type TrainHooks } from "./train-model.ts";
import type { Session } from "./session.ts";

/** Prompts that the probe samples: a small part of a step. */
const probePrompts = 4;

/** Opens the model, samples and learns from a few prompts without changing a weight, and closes it again. */
export async function planRun(session: Session, input: RunConfigInput, hooks: TrainHooks): Promise<RunPlan> {
  const prepared = await prepareRun(trainContext(session, hooks), resolveConfig(input));
  try {
    const { config, totalSteps, model } = prepared;
    const probe = await probeStep(prepared, hooks.signal);
    const answers = config.prompts_per_step * config.num_generations;
    const tokens = config.micro_batch_tokens;
    const memory = await model.estimateMemory({
      tokens,
      targets: tokens,
      sequences: answers,
      length: probe.promptTokens + config.max_completion_length,
    });
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
      memory_bytes: { ...memory },
      disk_bytes: runBytes(config, model.info(), totalSteps, probe.promptTokens),
      disk_free_bytes: freeBytes(path),
      seconds: { per_step: probe.secondsPerStep, total: probe.secondsPerStep * totalSteps },
      notes: notes(config),
    };
  } finally {
    await prepared.model.close();
  }
}

function pickInfo({ architecture, parameters, trainableParameters, dtype }: ReturnType<PreparedRun["model"]["info"]>) {
  return { architecture, parameters, trainable_parameters: trainableParameters, dtype };
}

/** Measures sampling, forward and backward on a few prompts and scales them up to a step. */
async function probeStep({ config, policy, model, task, rows }: PreparedRun, signal: AbortSignal) {
  const count = Math.min(probePrompts, config.prompts_per_step);
  const maxLength = Math.min(config.max_length, model.info().contextLength);
  const order = new PromptOrder(rows.train.length, config.seed);
  const { prompts } = choosePrompts(order, rows.train, new PromptCache(policy, task), count, maxLength);
  const started = performance.now();
  const groups = await sampleGroups(policy, task, config, 0, prompts, maxLength, signal);
  for (const { batch } of packMicroBatches(groups, config.micro_batch_tokens)) {
    await model.forward(batch, { grad: true });
    const zeros = new Float32Array(batch.tokens.length);
    await model.backward(zeros, config.entropy_coef > 0 ? zeros : undefined);
  }
  await model.zeroGrad();
  const seconds = (performance.now() - started) / 1000;
  return {
    promptTokens: mean(prompts.map(({ promptIds }) => promptIds.length)),
    answerTokens: mean(groups.flatMap(({ answers }) => answers.map(({ completionIds }) => completionIds.length))),
    secondsPerStep: (seconds * config.prompts_per_step * config.num_iterations) / count,
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
