/** What was measured while and after a run's training. */

import type { CallResult } from "../../contract/api/api.ts";
import { evaluationSchema } from "../../contract/eval.ts";
import { readJson } from "../../files/json.ts";
import { requireRun } from "../../store/library.ts";
import { changeBetween } from "../evaluation/kept-evaluations.ts";
import { RunFolder } from "../../train/run-folder/run-folder.ts";

/** `change`: last minus first, on the same rows; null where there is only one, or where they are not comparable. */
export function runEvaluations(run: string, name: string): CallResult<"runs.evaluations"> {
  const folder = RunFolder.open(requireRun(run));
  const steps = folder.evaluationSteps(name);
  const read = (step: number) => readJson(folder.evaluationFile(step, name), evaluationSchema);
  const all = steps.map((step) => ({ step, evaluation: read(step) }));
  const [first, last] = [all.at(0)?.evaluation, all.at(-1)?.evaluation];
  return {
    evaluations: all.map(({ step, evaluation }) => ({ step, name, report: evaluation.report })),
    change: first === undefined || last === undefined || all.length < 2 ? null : changeBetween(first, last),
  };
}
