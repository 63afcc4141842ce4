/** What a run needs, told at once: from the head of the model's files, the rows of the task, and earlier runs on this machine. */

import type { TrainEstimate } from "../../contract/api/train-calls.ts";
import { isRl, type RunConfig, type RunConfigInput } from "../../contract/config.ts";
import { HoneError } from "../../contract/errors.ts";
import { memoryVerdict } from "../../contract/fits.ts";
import { mean } from "../../contract/numbers.ts";
import type { Engine } from "../../engine/types.ts";
import { freeBytes } from "../../files/disk.ts";
import { listRuns, requireRun, runsFolder } from "../../store/library.ts";
import { findModel } from "../../train/model-ref.ts";
import { runBytes } from "../../train/run-folder/disk-plan.ts";
import { RunFolder } from "../../train/run-folder/run-folder.ts";
import { resolveNewRun } from "../../train/run.ts";
import { fitLocal, thisMachine } from "../models/fit-model.ts";

/** An fp32 copy of each gradient moment: what the optimizer holds for a trained element. Bytes. */
const optimizerBytes = 8;
/** Of a prompt, where it is not known. */
const usualPrompt = 200;
/** Earlier runs that are looked at for one like this. */
const mostRuns = 50;
const lastSteps = 20;

/** `trainRows`: rows that are trained on; null: not known. Throws what is wrong with the configuration or the model. */
export async function estimateRun(
  engine: Engine,
  input: RunConfigInput,
  trainRows: number | null,
): Promise<TrainEstimate> {
  const config = resolveNewRun(input);
  const perStep = isRl(config.method) ? config.prompts_per_step : config.batch_size;
  const epochs = config.num_train_epochs ?? 1;
  const steps =
    config.max_steps ?? (trainRows === null ? null : Math.max(1, Math.round((epochs * trainRows) / perStep)));
  const machine = thisMachine(engine);
  const { uses } = await fitLocal(await findModel(config.model), machine);
  const bytes = uses?.[config.finetuning_type].memory_bytes;
  const total = bytes === undefined ? 0 : bytes.total + (holdsCopy(config) ? bytes.weights : 0);
  return {
    steps,
    memory:
      bytes === undefined
        ? null
        : {
            total,
            free: machine.free_bytes,
            machine: machine.memory_bytes,
            verdict: memoryVerdict(total, machine),
          },
    disk:
      bytes === undefined || steps === null
        ? null
        : {
            total: runBytes(config, { trainableParameters: bytes.optimizer / optimizerBytes }, steps, usualPrompt),
            free: freeBytes(config.output_dir ?? runsFolder()),
          },
    seconds: secondsLike(config, steps),
  };
}

/** A KL term beside full training holds the model a second time. */
function holdsCopy({ method, finetuning_type, beta }: RunConfig): boolean {
  return isRl(method) && beta > 0 && finetuning_type === "full";
}

/** Answers or rows in a step, by which its time goes. */
function work(config: Pick<RunConfig, "method" | "prompts_per_step" | "num_generations" | "batch_size">): number {
  return isRl(config.method) ? config.prompts_per_step * config.num_generations : config.batch_size;
}

function secondsLike(config: RunConfig, steps: number | null): TrainEstimate["seconds"] {
  for (const name of listRuns().slice(0, mostRuns)) {
    try {
      const folder = RunFolder.open(requireRun(name));
      const { config: other } = folder.readConfig();
      const isAlike =
        other.task === config.task &&
        other.method === config.method &&
        other.finetuning_type === config.finetuning_type;
      if (!isAlike || baseOf(other.model) !== baseOf(config.model)) continue;
      const times = folder
        .readMetrics()
        .flatMap((row) => row["step_time"] ?? [])
        .slice(-lastSteps);
      if (times.length === 0) continue;
      const perStep = (mean(times) * work(config)) / work(other);
      return { per_step: perStep, total: steps === null ? null : perStep * steps, run: name };
    } catch (error) {
      // A run that cannot be read says nothing of this one.
      if (!(error instanceof HoneError)) throw error;
    }
  }
  return null;
}

/** A run's checkpoints are as fast as the model that it began with. */
function baseOf(model: string, depth = 0): string {
  const word = model.replace(/:[^:/\\]*$/, "");
  if (depth > 8 || !listRuns().includes(word)) return model;
  return baseOf(RunFolder.open(requireRun(word)).readConfig().config.model, depth + 1);
}
