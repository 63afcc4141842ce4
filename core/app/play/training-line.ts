/** The checkpoints of the run that a model belongs to: what the slider of the Play page goes through. */

import { basename } from "node:path";
import type { TrainingLine } from "../../contract/api/play-calls.ts";
import { findRun } from "../../store/library.ts";
import { findModel } from "../../train/model-ref.ts";
import { listCheckpoints, readCheckpointIndex } from "../../train/run-folder/checkpoints.ts";
import { RunFolder } from "../../train/run-folder/run-folder.ts";

/** Metrics of a checkpoint that say how well it plays, the first that is there. */
const rewardNames = ["eval_reward", "reward"];

/** Throws what `findModel` throws. */
export async function trainingLine(reference: string): Promise<TrainingLine> {
  const { name } = await findModel(reference);
  const colon = reference.lastIndexOf(":");
  const word = findRun(reference) !== undefined ? reference : reference.slice(0, Math.max(0, colon));
  const path = findRun(word);
  if (path === undefined) return { run: null, checkpoints: [{ reference, step: null, reward: null }], index: 0 };
  const folder = RunFolder.open(path);
  const index = readCheckpointIndex(path);
  const measured = new Map(folder.readMetrics().map((row) => [row.step, row]));
  const rewardAt = (step: number) => {
    const found = { ...measured.get(step), ...index.get(step)?.eval };
    return rewardNames.map((metric) => found[metric]).find((value) => value !== undefined) ?? null;
  };
  const steps = [0, ...(await listCheckpoints(path))];
  const chosen = steps.indexOf(Number(name.slice(name.lastIndexOf(":") + 1)));
  return {
    run: basename(path),
    checkpoints: steps.map((step) => ({ reference: `${word}:${step}`, step, reward: rewardAt(step) })),
    index: Math.max(0, chosen),
  };
}
