/** What a model needs on this machine, before it is downloaded or opened: memory for each use, disk, in words and numbers. */

import { readdirSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { HoneError } from "../../contract/errors.ts";
import { diskVerdict, memoryVerdict, type Room } from "../../contract/fits.ts";
import {
  hubSourceLabels,
  type CatalogEntry,
  type FileChoice,
  type FitReport,
  type FitUse,
  type FitUseName,
  type RepoSnapshot,
} from "../../contract/hub.ts";
import { formatBytes, formatCount } from "../../contract/units.ts";
import { defaultsFor } from "../../contract/defaults.ts";
import { planMemory, type MemoryForecast, type PlannedModel } from "../../engine/plan-memory.ts";
import type { Engine, MemoryEstimate, MemoryPlan } from "../../engine/types.ts";
import { freeBytes } from "../../files/disk.ts";
import { chooseModelFiles } from "../../hub/choose-files.ts";
import { readHeader, readRemoteHeader, type ModelHeader, type ReadAt } from "../../hub/remote-header.ts";
import type { Cancellable, HubSource } from "../../hub/sources/source.ts";
import { showRef } from "../../hub/sources/parse-reference.ts";
import { downloadFolder } from "../../hub/storage/places.ts";
import { cacheTarget } from "../../hub/storage/snapshot-target.ts";
import { comfortablePass, trainingLimit } from "../../train/open-trainable.ts";
import type { ModelFiles } from "../../train/model-ref.ts";
import { scaledSpeed } from "./model-speed.ts";

export interface FitMachine extends Room {
  cores: number;
}

/** A conversation that is reckoned with, where the model's context is not shorter. Tokens. */
const chatTokens = 4096;

export function thisMachine(engine: Pick<Engine, "devices">): FitMachine {
  const cpu = engine.devices().find(({ kind }) => kind === "cpu");
  if (cpu === undefined) throw new Error("there is no processor in the list of devices");
  return { memory_bytes: cpu.memoryTotal, free_bytes: cpu.memoryFree, cores: cpu.threads };
}

/**
 * The report on a repository: from its lists of files and the heads of its weights alone. Throws what the source and the
 * choice of files throw.
 */
export async function fitRepository(
  source: HubSource,
  snapshot: RepoSnapshot,
  options: Cancellable & { machine: FitMachine; quant?: string | null },
): Promise<{ report: FitReport; choice: FileChoice }> {
  const { machine, quant = null } = options;
  const choice = chooseModelFiles(snapshot, { quant, machine });
  return { report: await fitSnapshot(source, snapshot, choice, options), choice };
}

/** As above, of files that were chosen before. */
export async function fitSnapshot(
  source: HubSource,
  snapshot: RepoSnapshot,
  choice: FileChoice,
  { machine, signal }: Cancellable & { machine: FitMachine },
): Promise<FitReport> {
  const header = await readRemoteHeader(source, snapshot, choice, { signal });
  const folder = downloadFolder(snapshot.ref.source);
  const target = cacheTarget(snapshot, choice.files);
  const missing = choice.files.filter((file) => !target.here(file));
  const bytes = missing.reduce((sum, { size }) => sum + size, 0);
  const free = freeBytes(folder);
  const report = await makeReport(showRef(snapshot.ref), header, machine, {
    ref: snapshot.ref,
    commit: snapshot.commit,
    licence: snapshot.licence,
    gated: snapshot.gated,
    quant: choice.quant,
    quants: choice.quants,
    download: { bytes, files: missing.length, folder, free_bytes: free, verdict: diskVerdict(bytes, free) },
  });
  return { ...report, words: wordsOf(report) };
}

/** The report on an entry of a catalogue: without asking anybody, from what the entry says. */
export async function fitCatalogEntry(entry: CatalogEntry, machine: FitMachine): Promise<FitReport> {
  const { id, config, parameters, weight_bytes: weightBytes, dtype, licence, gated } = entry;
  const folder = downloadFolder("huggingface");
  const free = freeBytes(folder);
  const header: ModelHeader = { format: "safetensors", config, parameters, weightBytes, dtype, unreadable: [] };
  const report = await makeReport(id, header, machine, {
    ref: { source: "huggingface", kind: "model", id, revision: "main" },
    commit: null,
    licence,
    gated,
    quant: null,
    quants: [],
    download: { bytes: weightBytes, files: 1, folder, free_bytes: free, verdict: diskVerdict(weightBytes, free) },
  });
  return { ...report, words: wordsOf(report) };
}

/** The report on a model that is on this machine. */
export async function fitLocal(files: ModelFiles, machine: FitMachine): Promise<FitReport> {
  const isFile = statSync(files.weights).isFile();
  const folder = isFile ? dirname(files.weights) : files.weights;
  const names = isFile ? [basename(files.weights)] : readdirSync(folder).filter(isModelFile);
  // Ollama's files have no ending; what is one file is GGUF.
  const listed = names.map((name) => ({
    path: isFile ? "model.gguf" : name,
    size: statSync(join(folder, name)).size,
  }));
  const header = await readHeader(
    listed,
    readLocal((path) => (isFile ? files.weights : join(folder, path))),
  );
  const report = await makeReport(files.name, header, machine, {
    ref: null,
    commit: null,
    licence: null,
    gated: false,
    quant: null,
    quants: [],
    download: { bytes: 0, files: 0, folder, free_bytes: freeBytes(folder), verdict: "fits" },
  });
  return { ...report, words: wordsOf(report) };
}

/** With a speed that was measured of this very model. */
export function withSpeed(report: FitReport, speed: FitReport["speed"]): FitReport {
  const whole = { ...report, speed };
  return { ...whole, words: wordsOf(whole) };
}

function isModelFile(name: string): boolean {
  return name === "config.json" || /^model.*\.safetensors$|\.gguf$/.test(name);
}

function readLocal(pathOf: (path: string) => string): ReadAt {
  return async (path, start, end) => {
    const file = await open(pathOf(path), "r");
    try {
      const bytes = Buffer.alloc(end - start);
      const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
      return bytes.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  };
}

type Origin = Pick<FitReport, "ref" | "commit" | "licence" | "gated" | "quant" | "quants" | "download">;

async function makeReport(name: string, header: ModelHeader, machine: FitMachine, origin: Origin): Promise<FitReport> {
  const base = {
    name,
    ...origin,
    dtype: header.dtype,
    weight_bytes: header.weightBytes,
    machine: { memory_bytes: machine.memory_bytes, free_bytes: machine.free_bytes, cores: machine.cores },
    words: [],
  };
  const model = { config: JSON.stringify(header.config), origin: name, weightBytes: header.weightBytes };
  const refusal = refuse(header) ?? tryPlan(model);
  if (typeof refusal === "string") {
    const type = header.config["model_type"];
    return {
      ...base,
      architecture: typeof type === "string" ? type : null,
      unsupported: refusal,
      parameters: header.parameters,
      layers: null,
      context_length: null,
      kv_bytes_per_token: null,
      uses: null,
      speed: null,
    };
  }
  const forecast = refusal;
  return {
    ...base,
    architecture: forecast.architecture,
    unsupported: null,
    parameters: forecast.parameters,
    layers: forecast.layers,
    context_length: forecast.contextLength,
    kv_bytes_per_token: forecast.kvBytesPerToken,
    uses: {
      chat: fitChat(model, forecast, machine),
      lora: await fitTraining(model, "lora", forecast, machine),
      full: await fitTraining(model, "full", forecast, machine),
    },
    speed: scaledSpeed(header.weightBytes, machine),
  };
}

function refuse({ unreadable, config }: ModelHeader): string | undefined {
  // A quantised safetensors model says more of itself in its config, which is read next.
  if (unreadable.length === 0 || config["quantization_config"] !== undefined) return undefined;
  return `its weights are stored as ${unreadable.join(", ")}, which the engine does not compute with`;
}

/** The forecast, or in words why the engine would not open the model. */
function tryPlan(model: Omit<PlannedModel, "trainable">): MemoryForecast | string {
  try {
    return planMemory({ ...model, trainable: "none" }, {});
  } catch (error) {
    if (error instanceof HoneError) return error.message;
    throw error;
  }
}

function fitChat(
  model: Omit<PlannedModel, "trainable">,
  { contextLength }: MemoryForecast,
  machine: FitMachine,
): FitUse {
  const length = Math.min(chatTokens, contextLength);
  const plan = { sequences: 1, length, prefill: length };
  return makeUse("chat", planMemory({ ...model, trainable: "none" }, plan).memory, length, machine);
}

/** As `hone train` would choose its passes on this machine: see `comfortablePass`. */
async function fitTraining(
  model: Omit<PlannedModel, "trainable">,
  use: "lora" | "full",
  { contextLength }: MemoryForecast,
  machine: FitMachine,
): Promise<FitUse> {
  const { lora_r: loraRank } = defaultsFor({ model: model.origin, task: "", finetuning_type: use });
  const estimate = (plan: MemoryPlan) => planMemory({ ...model, trainable: use, loraRank }, plan).memory;
  const { tokens, estimate: memory } = await comfortablePass(estimate, trainingLimit(machine.free_bytes));
  // Answers are drawn between the passes, one context at a time at least.
  const kvCache = estimate({ sequences: 1, length: Math.min(chatTokens, contextLength) }).kvCache;
  return makeUse(use, { ...memory, kvCache }, tokens, machine);
}

function makeUse(use: FitUseName, memory: MemoryEstimate, tokens: number, machine: FitMachine): FitUse {
  const { weights, gradients, optimizer, activations, kvCache } = memory;
  const program = programBytes();
  const own = use === "chat" ? activations + kvCache : Math.max(activations, kvCache);
  const total = weights + gradients + optimizer + own + program;
  const verdict = memoryVerdict(total, machine);
  const numbers = `${formatBytes(total)} of the ${formatBytes(machine.memory_bytes)} of memory`;
  const words = {
    fits: `fits: about ${numbers}`,
    tight: `tight: about ${numbers}, of which ${formatBytes(machine.free_bytes)} are free now: close other programs first`,
    does_not_fit: `does not fit: about ${formatBytes(total)} are needed, and this machine has ${formatBytes(machine.memory_bytes)}`,
    not_supported: "",
  }[verdict];
  return {
    verdict,
    memory_bytes: { weights, gradients, optimizer, activations, kv_cache: kvCache, program, total },
    tokens,
    words,
  };
}

/** More than this the process holds only while a model is open, which is not counted twice. */
const mostProgram = 250e6;

/** Hone itself without a model, in bytes. */
function programBytes(): number {
  return Math.min(process.memoryUsage().rss, mostProgram);
}

const useNames: Record<FitUseName, string> = {
  chat: "Chat",
  lora: "LoRA training",
  full: "Full training",
};

function wordsOf(report: FitReport): string[] {
  const { name, parameters, dtype, weight_bytes, unsupported, uses, context_length, kv_bytes_per_token, download } =
    report;
  const lines = [
    `${name} has ${formatCount(parameters)} parameters, stored as ${dtype} in ${formatBytes(weight_bytes)}.`,
  ];
  if (context_length !== null && kv_bytes_per_token !== null) {
    lines.push(
      `It reads up to ${formatCount(context_length)} tokens; each token of a conversation takes ${formatBytes(kv_bytes_per_token)}.`,
    );
  }
  if (unsupported !== null) lines.push(`Hone cannot open it: ${unsupported}`);
  for (const use of ["chat", "lora", "full"] as const) {
    if (uses !== null) lines.push(`${useNames[use]} ${uses[use].words}.`);
  }
  if (report.speed !== null) {
    lines.push(
      `Answers come at roughly ${formatCount(report.speed.tokens_per_second)} tokens per second (${report.speed.from}).`,
    );
  }
  if (report.ref !== null) lines.push(diskWords(download));
  if (report.gated !== false && report.ref !== null) {
    lines.push(
      `${hubSourceLabels[report.ref.source]} gives it out only to those who have accepted its licence${report.gated === "manual" ? ", and its authors decide" : ""}.`,
    );
  }
  return lines;
}

function diskWords({ bytes, folder, free_bytes, verdict }: FitReport["download"]): string {
  if (bytes === 0) return `All of it is on this machine already, in ${folder}.`;
  const numbers = `The download takes ${formatBytes(bytes)} in ${folder}, where ${formatBytes(free_bytes)} are free`;
  if (verdict === "fits") return `${numbers}.`;
  return verdict === "tight"
    ? `${numbers}: the disk would be almost full.`
    : `${numbers}: it does not fit. Free ${formatBytes(bytes - free_bytes)} or move the models folder.`;
}

/** Refuses (`disk-space`) what cannot fit on the disk, before anything is fetched. */
export function requireDisk({ download, name }: Pick<FitReport, "download" | "name">): void {
  const { bytes, folder, free_bytes, verdict } = download;
  if (verdict !== "does_not_fit") return;
  throw new HoneError(
    "disk-space",
    `${name} takes ${formatBytes(bytes)}, but only ${formatBytes(free_bytes)} are free in ${folder}`,
    {
      fix: "free some space (`hone ls models` shows what takes it, `hone rm` removes), move the models folder, or choose a smaller quantisation",
    },
  );
}
