/** The checkpoints of a run folder: written whole or not at all, listed, checked, thinned out. */

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  checkpointLineSchema,
  manifestSchema,
  runFiles,
  trainerStateSchema,
  type CheckpointLine,
  type TrainerState,
} from "../../contract/run.ts";
import { publishFolder } from "../../files/atomic.ts";
import { readJson, readRows } from "../../files/json.ts";
import { appendJsonLine } from "../../files/jsonl.ts";
import { checkManifest, manifestHash, manifestName, writeManifest } from "../../files/manifest.ts";

const trainerStateName = "trainer_state.json";
export const optimizerStateName = "optimizer.safetensors";

export function checkpointFolder(run: string, step: number): string {
  return join(run, runFiles.checkpoints, `checkpoint-${step}`);
}

/**
 * Writes `checkpoint-<step>` through a temporary folder: tensors by `saveTensors`, the trainer's state, the manifest
 * last; synced, renamed, then listed in `checkpoints.jsonl`. An older checkpoint of that step is replaced.
 */
export async function writeCheckpoint(
  run: string,
  state: TrainerState,
  evaluation: Record<string, number>,
  saveTensors: (folder: string) => Promise<void>,
): Promise<CheckpointLine> {
  const folder = checkpointFolder(run, state.step);
  let sha256 = "";
  mkdirSync(join(run, runFiles.checkpoints), { recursive: true });
  await publishFolder(folder, async (temporary) => {
    await saveTensors(temporary);
    writeFileSync(join(temporary, trainerStateName), JSON.stringify(state, null, 2) + "\n");
    sha256 = manifestHash(await writeManifest(temporary));
  });
  const line = checkpointLine(state.step, evaluation, sha256);
  appendJsonLine(join(run, runFiles.checkpointIndex), line);
  return line;
}

function checkpointLine(step: number, evaluation: Record<string, number>, sha256: string): CheckpointLine {
  return {
    step,
    path: `${runFiles.checkpoints}/checkpoint-${step}`,
    time: Date.now() / 1000,
    eval: evaluation,
    sha256,
  };
}

/** Steps of all whole checkpoints, ascending. A folder without a valid manifest is none. */
export async function listCheckpoints(run: string): Promise<number[]> {
  const parent = join(run, runFiles.checkpoints);
  if (!existsSync(parent)) return [];
  const steps: number[] = [];
  for (const entry of readdirSync(parent)) {
    const match = /^checkpoint-(\d+)$/.exec(entry);
    if (match === null) continue;
    if ((await checkManifest(join(parent, entry), { hash: false })).length === 0) steps.push(Number(match[1]));
  }
  return steps.sort((a, b) => a - b);
}

/** The newest checkpoint whose every byte is as its manifest says, or undefined. Names the damaged ones it passed over. */
export async function newestIntactCheckpoint(
  run: string,
): Promise<{ step: number | undefined; damaged: { step: number; problems: string[] }[] }> {
  const damaged: { step: number; problems: string[] }[] = [];
  for (const step of (await listCheckpoints(run)).reverse()) {
    const problems = await checkManifest(checkpointFolder(run, step), { hash: true });
    if (problems.length === 0) return { step, damaged };
    damaged.push({ step, problems });
  }
  return { step: undefined, damaged };
}

export function readTrainerState(folder: string): TrainerState {
  return readJson(join(folder, trainerStateName), trainerStateSchema);
}

/** The index, one line per step, newest line first served; lines of deleted checkpoints stay in the file. */
export function readCheckpointIndex(run: string): Map<number, CheckpointLine> {
  const lines = new Map<number, CheckpointLine>();
  for (const line of readRows(join(run, runFiles.checkpointIndex), checkpointLineSchema)) lines.set(line.step, line);
  return lines;
}

/** Lists a whole checkpoint that a kill kept from being listed. */
export function listIfMissing(run: string, step: number): void {
  if (readCheckpointIndex(run).has(step)) return;
  const manifest = readJson(join(checkpointFolder(run, step), manifestName), manifestSchema);
  appendJsonLine(join(run, runFiles.checkpointIndex), checkpointLine(step, {}, manifestHash(manifest)));
}

/** Removes a checkpoint so that a kill in between leaves no folder that looks whole. */
export function removeCheckpoint(run: string, step: number): void {
  const folder = checkpointFolder(run, step);
  if (!existsSync(folder)) return;
  const doomed = `${folder}.partial-removed`;
  rmSync(doomed, { recursive: true, force: true });
  renameSync(folder, doomed);
  rmSync(doomed, { recursive: true, force: true });
}

/** Which checkpoints go: all but the newest `keep` and the best one. Pure. */
export function checkpointsToRemove(steps: readonly number[], keep: number, best: number | undefined): number[] {
  const newest = [...steps].sort((a, b) => b - a).slice(0, Math.max(1, keep));
  return steps.filter((step) => !newest.includes(step) && step !== best);
}
