/** What is known of the runs in the library, from their folders alone. */

import type { RunSummary } from "../contract/cli-json.ts";
import { runEventSchema, type CheckpointLine, type MetricsRow, type RunEvent } from "../contract/run.ts";
import type { RunConfig } from "../contract/config.ts";
import { errorMessage } from "../contract/errors.ts";
import { readRows } from "../files/json.ts";
import { findRun, listRuns } from "../store/library.ts";
import {
  checkpointFolder,
  listCheckpoints,
  readCheckpointIndex,
  readTrainerState,
} from "../train/run-folder/checkpoints.ts";
import { RunFolder } from "../train/run-folder/run-folder.ts";

async function summarizeRun(path: string): Promise<RunSummary> {
  const folder = RunFolder.open(path);
  const { config, record } = folder.readConfig();
  const steps = folder.readMetrics();
  const last = steps[steps.length - 1] as MetricsRow | undefined;
  const checkpoints = await listCheckpoints(path);
  const newest = checkpoints[checkpoints.length - 1] as number | undefined;
  const best = newest === undefined ? null : readTrainerState(checkpointFolder(path, newest)).best;
  return {
    name: folder.name,
    path: folder.path,
    created: record.created,
    task: config.task,
    model: config.model,
    method: config.method,
    finetuning_type: config.finetuning_type,
    step: last?.step ?? 0,
    total_steps: config.max_steps ?? record.total_steps,
    reward: last?.["reward"] ?? null,
    loss: last?.["loss"] ?? null,
    best: best === null ? null : { step: best.step, metric: best.metric, value: best.value },
    checkpoints,
  };
}

/** All runs of the library, newest first; a folder that cannot be read is named instead of hiding the others. */
export async function summarizeLibrary(): Promise<{ runs: RunSummary[]; unreadable: { name: string; why: string }[] }> {
  const runs: RunSummary[] = [];
  const unreadable: { name: string; why: string }[] = [];
  for (const name of listRuns()) {
    const path = findRun(name);
    if (path === undefined) continue;
    try {
      runs.push(await summarizeRun(path));
    } catch (error) {
      unreadable.push({ name, why: errorMessage(error) });
    }
  }
  return { runs, unreadable };
}

export interface RunDetails extends RunSummary {
  config: RunConfig;
  metrics: MetricsRow[];
  checkpoint_index: CheckpointLine[];
  events: RunEvent[];
}

export async function describeRun(path: string): Promise<RunDetails> {
  const folder = RunFolder.open(path);
  const summary = await summarizeRun(path);
  const index = readCheckpointIndex(path);
  return {
    ...summary,
    config: folder.readConfig().config,
    metrics: folder.readMetrics(),
    checkpoint_index: summary.checkpoints.flatMap((step) => index.get(step) ?? []),
    events: readRows(folder.file("events"), runEventSchema),
  };
}
