/** Measures a model on a task. */

import type { EvalOutput } from "../../contract/eval.ts";
import { evalOutput } from "../evaluation/eval-output.ts";
import { evaluateModel, type EvaluateRequest } from "../evaluation/evaluate-model.ts";
import { Session } from "../session.ts";
import type { WorkContext } from "../service/work.ts";

export async function evaluateWork(request: EvaluateRequest, context: WorkContext): Promise<EvalOutput> {
  const session = await Session.open();
  const { threads, memory_limit } = await context.call("settings.get", {});
  const choices = { ...(threads !== null && { threads }), ...(memory_limit !== null && { memoryLimit: memory_limit }) };
  const evaluation = await evaluateModel(session, request, choices, {
    signal: context.signal,
    onProgress: ({ stage, done, total }) => {
      context.report({ phase: stage, progress: { done, total, unit: "answer" } });
    },
  });
  return evalOutput(evaluation.report);
}
