/** Measurements that were asked for in the app, one file each in the folder `evaluations` of Hone's home. */

import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { KeptEvaluation } from "../../contract/api/train-calls.ts";
import { evaluationSchema, type EvalChange, type Evaluation } from "../../contract/eval.ts";
import { HoneError } from "../../contract/errors.ts";
import { compare } from "../../evaluate/measures.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import { readJson } from "../../files/json.ts";
import { honeHome } from "../../store/library.ts";

const keptSchema = z.object({
  created: z.number(),
  model: z.string(),
  task: z.string(),
  evaluation: evaluationSchema,
});

function folder(): string {
  return join(honeHome(), "evaluations");
}

/** Returns its id. */
export function keepEvaluation(asked: { model: string; task: string }, evaluation: Evaluation): string {
  mkdirSync(folder(), { recursive: true });
  const now = new Date();
  // By name they are in the order of time.
  const id = `${now.toISOString().replaceAll(/[:.]/g, "-")}-${randomUUID().slice(0, 8)}`;
  const { model, task } = asked;
  const kept = { created: now.getTime() / 1000, model, task, evaluation };
  writeFileAtomic(join(folder(), `${id}.json`), `${JSON.stringify(kept)}\n`);
  return id;
}

/** Newest first. A file that cannot be read is passed over: it hides no other. */
export function listEvaluations(wanted: { model: string | null; task: string | null }): KeptEvaluation[] {
  if (!existsSync(folder())) return [];
  return readdirSync(folder())
    .filter((name) => name.endsWith(".json"))
    .sort()
    .reverse()
    .flatMap((name) => {
      try {
        return [readEvaluation(name.slice(0, -".json".length))];
      } catch (error) {
        if (error instanceof HoneError) return [];
        throw error;
      }
    })
    .filter(({ model, task }) => (wanted.model ?? model) === model && (wanted.task ?? task) === task);
}

/** Throws `no-such-evaluation`. */
export function readEvaluation(id: string): KeptEvaluation {
  const { evaluation, ...kept } = read(id);
  return { id, ...kept, report: evaluation.report };
}

export function compareEvaluations(before: string, after: string): EvalChange | null {
  return changeBetween(read(before).evaluation, read(after).evaluation);
}

/** Null when the two did not answer the same rows equally often. */
export function changeBetween(before: Evaluation, after: Evaluation): EvalChange | null {
  try {
    return compare(before, after, before.report.seed);
  } catch (error) {
    if (error instanceof HoneError) return null;
    throw error;
  }
}

export function deleteEvaluation(id: string): void {
  rmSync(pathOf(id));
}

function read(id: string): z.infer<typeof keptSchema> {
  return readJson(pathOf(id), keptSchema);
}

/** An id becomes part of a path, so it is nothing but an id. */
function pathOf(id: string): string {
  const path = join(folder(), `${id}.json`);
  if (/^[\w-]+$/.test(id) && existsSync(path)) return path;
  throw new HoneError("no-such-evaluation", `there is no stored evaluation ${JSON.stringify(id)}`, {
    fix: "it may have been deleted: measure again",
  });
}
