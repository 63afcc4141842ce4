/** Measures a model on a task, and keeps what came out. */

import type { CheckedInput } from "../../contract/api/api.ts";
import { evaluateModel } from "../evaluation/evaluate-model.ts";
import { keepEvaluation } from "../evaluation/kept-evaluations.ts";
import { machineChoices } from "../service/machine-choices.ts";
import { reportAnswers } from "../service/report-answers.ts";
import type { WorkContext } from "../service/work.ts";
import { Session } from "../session.ts";

export async function evaluateWork(
  asked: CheckedInput<"train.evaluate">,
  context: WorkContext,
): Promise<{ id: string }> {
  const { limit, reward, ...request } = asked;
  context.report({ phase: "loading" });
  const session = await Session.open();
  const evaluation = await evaluateModel(
    session,
    { ...request, ...(limit !== null && { limit }), ...(reward !== undefined && { reward }) },
    await machineChoices(context),
    { signal: context.signal, onProgress: reportAnswers(context) },
  );
  const id = keepEvaluation(asked, evaluation);
  context.tell("library", "evaluations");
  return { id };
}
