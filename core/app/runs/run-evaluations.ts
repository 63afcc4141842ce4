/** What was measured while and after a run's training. */

import type { CallResult } from "../../contract/api/api.ts";
import { evaluationSchema, type Evaluation } from "../../contract/eval.ts";
import { HoneError } from "../../contract/errors.ts";
import { compare } from "../../evaluate/measures.ts";
import { readJson } from "../../files/json.ts";
import { requireRun } from "../../store/library.ts";
import { evaluationSteps } from "./run-library.ts";
import { RunFolder } from "../../train/run-folder/run-folder.ts";

/** `change`: last minus first, on the same rows; null where there is only one, or where they are not comparable. */
export function runEvaluations(run: string, name: string): CallResult<"runs.evaluations"> {
  const folder = RunFolder.open(requireRun(run));
  const steps = evaluationSteps(folder, name);
  const read = (step: number) => readJson(folder.evaluationFile(step, name), evaluationSchema);
  const all = steps.map((step) => ({ step, evaluation: read(step) }));
  const [first, last] = [all.at(0)?.evaluation, all.at(-1)?.evaluation];
  return {
    evaluations: all.map(({ step, evaluation }) => ({ step, name, report: evaluation.report })),
    change: first === undefined || last === undefined || all.length < 2 ? null : changeOf(first, last),
  };
}

function changeOf(before: Evaluation, after: Evaluation): CallResult<"runs.evaluations">["change"] {
  try {
    return compare(before, after, before.report.seed);
  } catch (error) {
    if (error instanceof HoneError) return null;
    throw error;
  }
}
