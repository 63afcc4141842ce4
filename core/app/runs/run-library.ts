/** The runs of the library as the app shows them. */

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  runNotesSchema,
  type ListedRun,
  type RunDetails,
  type RunNotes,
  type RunState,
} from "../../contract/api/run-calls.ts";
import { usedOptions } from "../../contract/config.ts";
import { HoneError } from "../../contract/errors.ts";
import { evaluationSchema } from "../../contract/eval.ts";
import { seamSchema } from "../../contract/run.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import { folderBytes } from "../../files/disk.ts";
import { readJson } from "../../files/json.ts";
import { readJsonLines } from "../../files/jsonl.ts";
import { isLockedElsewhere } from "../../files/lock.ts";
import { requireRun } from "../../store/library.ts";
import { bestMetricName } from "./best-metric-name.ts";
import { checkpointFolder, readTrainerState } from "../../train/run-folder/checkpoints.ts";
import { stoppedEarly } from "../../train/loop.ts";
import { RunFolder } from "../../train/run-folder/run-folder.ts";
import { describeRun, summarizeLibrary } from "../run-summaries.ts";
import type { RunSummary } from "../../contract/cli-json.ts";

const notesName = "notes.json";

export async function listRunsWithNotes(): Promise<{ runs: ListedRun[]; unreadable: { name: string; why: string }[] }> {
  const { runs, unreadable } = await summarizeLibrary();
  return { runs: runs.map(listed), unreadable };
}

export async function readRun(name: string): Promise<RunDetails> {
  const folder = RunFolder.open(requireRun(name));
  const { config, record } = folder.readConfig();
  const details = await describeRun(folder.path);
  return {
    ...details,
    ...listed(details),
    config: usedOptions(config),
    record,
    seams: readJsonLines(folder.file("metrics")).rows.flatMap((row) => seamSchema.safeParse(row).data ?? []),
    rollout_steps: folder.rolloutSteps(),
    size: folderBytes(folder.path),
    references: referencesOf(folder),
    has_report: existsSync(join(folder.path, "report.html")),
  };
}

function listed(run: RunSummary): ListedRun {
  const folder = RunFolder.open(run.path);
  const metric = run.best?.metric ?? bestMetricName(folder.readConfig().config);
  const [first] = folder.readMetrics();
  return {
    ...run,
    ...readNotes(folder),
    state: stateOf(folder, run),
    first_measured: (first as typeof first | undefined)?.[metric] ?? null,
  };
}

function stateOf(folder: RunFolder, { step, total_steps, checkpoints }: RunSummary): RunState {
  if (isLockedElsewhere(folder.path)) return "elsewhere";
  const last = checkpoints.at(-1);
  if (last === undefined) return "unfinished";
  const state = readTrainerState(checkpointFolder(folder.path, last));
  const isDone = step >= total_steps || stoppedEarly(folder.readConfig().config, state);
  return isDone && state.pending === null ? "finished" : "unfinished";
}

/** Those of the first evaluation of the validation rows; none before there is one. */
function referencesOf(folder: RunFolder): Record<string, number> {
  const [first] = folder.evaluationSteps("validation");
  return first === undefined
    ? {}
    : readJson(folder.evaluationFile(first, "validation"), evaluationSchema).report.reference;
}

/** Notes that were damaged by hand are no reason to hide a run. */
function readNotes(folder: RunFolder): RunNotes {
  const path = join(folder.path, notesName);
  if (!existsSync(path)) return { tags: [], notes: "" };
  try {
    return readJson(path, runNotesSchema);
  } catch (error) {
    if (!(error instanceof HoneError)) throw error;
    return { tags: [], notes: "" };
  }
}

export function annotateRun(name: string, change: Partial<RunNotes>): RunNotes {
  const folder = RunFolder.open(requireRun(name));
  const notes = runNotesSchema.parse({ ...readNotes(folder), ...change });
  writeFileAtomic(join(folder.path, notesName), `${JSON.stringify(notes, undefined, 2)}\n`);
  return notes;
}

/** Throws `run-busy` while another program trains it. */
export function deleteRun(name: string): { freed: number } {
  const path = requireRun(name);
  if (isLockedElsewhere(path)) {
    throw new HoneError("run-busy", `another program trains the run ${name} at this moment`, {
      fix: "stop it there first",
    });
  }
  const freed = folderBytes(path);
  rmSync(path, { recursive: true });
  return { freed };
}
