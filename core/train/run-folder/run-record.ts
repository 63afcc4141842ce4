/** What made a run, beside its options: kept in its `config.json`, and compared when the run is taken up again. */

import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { HoneError } from "../../contract/errors.ts";
import type { RunRecord } from "../../contract/run.ts";
import { listFiles, sha256File } from "../../files/manifest.ts";
import type { ModelFiles } from "../model-ref.ts";
import type { PreparedRun, TrainContext } from "../prepare-run.ts";
import { optimizerStateName } from "./checkpoints.ts";

export async function makeRecord(context: TrainContext, prepared: PreparedRun): Promise<RunRecord> {
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
async function modelHash({ weights, adapter }: ModelFiles): Promise<string> {
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
export async function refuseOtherBase(record: RunRecord, { config, files, hasReference }: PreparedRun): Promise<void> {
  if (config.finetuning_type === "full" && !hasReference) return;
  const hash = await modelHash(files);
  if (hash === record.model.sha256) return;
  throw new HoneError("other-model", `${files.weights} is not the model that this run was begun with`, {
    fix: "put the first model back, or begin a new run",
  });
}
