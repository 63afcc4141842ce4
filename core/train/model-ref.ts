/** What the user calls a model: `starter`, a folder, a .gguf file, a downloaded `owner/name`, or RUN[:step]. */

import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { RunConfig } from "../contract/config.ts";
import { HoneError } from "../contract/errors.ts";
import type { Origin } from "../contract/resolve-config.ts";
import type { Engine, Model, OpenOptions, OpenProgress } from "../engine/types.ts";
import { isHubReference, resolveLocal } from "../hub/storage/find-stored.ts";
import { findRun, runWord } from "../store/library.ts";
import { checkpointFolder, listCheckpoints, readTrainerState } from "./run-folder/checkpoints.ts";
import { RunFolder } from "./run-folder/run-folder.ts";

export interface ModelFiles {
  /** How it was called, for reports. */
  name: string;
  /** Folder or .gguf file with all weights. */
  weights: string;
  /** PEFT adapter on top of them. */
  adapter?: string;
  /** Where tokenizer and chat template are. */
  text: string;
}

export const starterFolder = join(import.meta.dirname, "..", "..", "assets", "starter");

const adapterConfigName = "adapter_config.json";
const modelFix = "give a model folder, a .gguf file, a downloaded OWNER/NAME, `starter`, or RUN[:step]";

/**
 * Finds the files of a model. What stands in the folder where the command runs comes before what was downloaded. Throws
 * `no-such-model`, `no-such-checkpoint`, `bad-model`, or what `resolveLocal` throws, with the way out.
 */
export async function findModel(reference: string): Promise<ModelFiles> {
  if (reference === "starter") {
    return plainModel("starter", starterFolder, "the starter model is missing: `npm run starter` makes it");
  }
  if (reference === "") throw new HoneError("no-such-model", "the model's name is empty", { fix: modelFix });
  const run = await findCheckpoint(reference);
  if (run !== undefined) return run;
  const path = resolve(reference);
  if (existsSync(path) || !isHubReference(reference)) return plainModel(reference, path, modelFix);
  const stored = resolveLocal(reference);
  if (stored !== undefined) return plainModel(reference, stored, modelFix);
  const get = reference.startsWith("ollama:")
    ? "`hone ls models` lists what is here"
    : `\`hone get ${reference}\` downloads it`;
  throw new HoneError(
    "no-such-model",
    `there is no model ${reference}: it is no folder or file here, and has not been downloaded`,
    { fix: `${get}; or ${modelFix}` },
  );
}

async function plainModel(name: string, path: string, fix: string): Promise<ModelFiles> {
  if (!existsSync(path)) throw new HoneError("no-such-model", `there is no model at ${path}`, { fix });
  if (statSync(path).isFile()) {
    if (path.endsWith(".gguf") || isGguf(path)) return { name, weights: path, text: path };
    throw new HoneError("bad-model", `${path} is neither a model folder nor a .gguf file`, { fix });
  }
  if (existsSync(join(path, adapterConfigName)) && !existsSync(join(path, "config.json"))) {
    const named = readAdapterConfig(path)["base_model_name_or_path"];
    const base = typeof named !== "string" ? undefined : existsSync(named) ? named : resolveLocal(named);
    if (base === undefined) {
      throw new HoneError("bad-model", `the adapter ${path} names no base model that is here: ${String(named)}`, {
        fix: `download its base model, or set base_model_name_or_path in its ${adapterConfigName} to the base model's folder`,
      });
    }
    return { name, weights: base, adapter: path, text: base };
  }
  return { name, weights: path, text: path };
}

/** Ollama's files have no ending. */
function isGguf(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const head = Buffer.alloc(4);
    readSync(file, head);
    return head.toString("latin1") === "GGUF";
  } finally {
    closeSync(file);
  }
}

/** What a run inherits that goes on from another run or from an adapter: its model's presets, the adapter's shape. */
export function originOf(reference: string): Origin {
  const path = findRun(reference) ?? findRun(reference.replace(/:[^:/]*$/, ""));
  if (path === undefined) {
    const folder = existsSync(resolve(reference)) ? resolve(reference) : (resolveLocal(reference) ?? reference);
    const isAdapter = existsSync(join(folder, adapterConfigName)) && !existsSync(join(folder, "config.json"));
    return isAdapter ? { defaults: { finetuning_type: "lora", ...adapterSettings(folder) } } : {};
  }
  const { config } = RunFolder.open(path).readConfig();
  const before = originOf(config.model);
  if (reference.endsWith(":0")) return { model: config.model, ...before };
  const { finetuning_type, lora_r, lora_alpha, lora_dropout } = config;
  return {
    model: before.model ?? config.model,
    ...(finetuning_type === "lora" && { defaults: { finetuning_type, lora_r, lora_alpha, lora_dropout } }),
  };
}

/** RUN, RUN:step or RUN:best. RUN alone is its best checkpoint, or the last one when none was measured. */
async function findCheckpoint(reference: string): Promise<ModelFiles | undefined> {
  const whole = findRun(reference);
  const colon = reference.lastIndexOf(":");
  const wanted = whole === undefined && colon > 0 ? reference.slice(colon + 1) : undefined;
  const path = whole ?? (colon > 0 ? findRun(reference.slice(0, colon)) : undefined);
  if (path === undefined) return undefined;
  const run = RunFolder.open(path);
  const { config } = run.readConfig();
  const name = run.name;
  const steps = await listCheckpoints(path);
  if (wanted === "0") return { ...(await findModel(config.model)), name: `${name}:0` };
  const last = steps[steps.length - 1];
  if (last === undefined) {
    throw new HoneError("no-such-checkpoint", `the run ${name} has no checkpoint yet`, {
      fix: `train it further with \`hone resume ${runWord(path)}\`; ${name}:0 is the model it began with`,
    });
  }
  const best = readTrainerState(checkpointFolder(path, last)).best?.step;
  const step = wanted === undefined || wanted === "best" ? (best ?? last) : wanted === "last" ? last : Number(wanted);
  if (!steps.includes(step)) {
    throw new HoneError("no-such-checkpoint", `the run ${name} has no checkpoint ${JSON.stringify(wanted ?? step)}`, {
      fix: `it has ${["0 (the start)", ...steps].join(", ")}`,
    });
  }
  const folder = checkpointFolder(path, step);
  const base = await findModel(config.model);
  const label = `${name}:${step}`;
  if (config.finetuning_type === "lora")
    return { name: label, weights: base.weights, adapter: folder, text: base.text };
  const text = existsSync(join(folder, "tokenizer.json")) ? folder : base.text;
  return { name: label, weights: folder, text };
}

function readAdapterConfig(folder: string): Record<string, unknown> {
  const path = join(folder, adapterConfigName);
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  } catch (error) {
    throw new HoneError("bad-model", `${path} is not JSON`, { cause: error });
  }
}

/** Rank, scale and dropout of a PEFT adapter. */
export function adapterSettings(folder: string): Pick<RunConfig, "lora_r" | "lora_alpha" | "lora_dropout"> {
  const { r, lora_alpha, lora_dropout = 0 } = readAdapterConfig(folder);
  if (typeof r !== "number" || typeof lora_alpha !== "number" || typeof lora_dropout !== "number") {
    throw new HoneError("bad-model", `${join(folder, adapterConfigName)} lacks r or lora_alpha`);
  }
  return { lora_r: r, lora_alpha, lora_dropout };
}

/** Opens a model for use, with its adapter if it has one. */
export async function openModel(
  engine: Engine,
  files: ModelFiles,
  options: OpenOptions = {},
  onProgress?: (progress: OpenProgress) => void,
): Promise<Model> {
  const model = await engine.open(files.weights, options, onProgress);
  if (files.adapter !== undefined) {
    try {
      await model.loadAdapter(files.adapter);
    } catch (error) {
      await model.close();
      throw error;
    }
  }
  return model;
}

/** The last part of a model's path, for names of runs. */
export function shortName(reference: string): string {
  const [path] = reference.replace(/^(?:ollama|hf|huggingface|ms|modelscope):/, "").split(/[:@]/);
  return basename(path).replace(/\.gguf$/, "") || "model";
}
