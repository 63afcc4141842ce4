/** Measures a model on a task, and keeps what came out. */

import type { CheckedInput } from "../../contract/api/api.ts";
import { evaluateModel } from "../evaluation/evaluate-model.ts";
import { keepEvaluation } from "../evaluation/kept-evaluations.ts";
import type { WorkContext } from "../service/work.ts";
import { Session } from "../session.ts";

export async function evaluateWork(
  asked: CheckedInput<"train.evaluate">,
  context: WorkContext,
): Promise<{ id: string }> {
  const { limit, reward, ...request } = asked;
  context.report({ phase: "loading" });
  const session = await Session.open();
  const { threads, memory_limit } = await context.call("settings.get", {});
  const choices = { ...(threads !== null && { threads }), ...(memory_limit !== null && { memoryLimit: memory_limit }) };
  let stage = "";
  let begun = 0;
  const evaluation = await evaluateModel(
    session,
    { ...request, ...(limit !== null && { limit }), ...(reward !== undefined && { reward }) },
    choices,
    {
      signal: context.signal,
      onProgress: (now) => {
        if (now.stage !== stage) begun = performance.now();
        stage = now.stage;
        const passed = (performance.now() - begun) / 1000;
        context.report({
          phase: stage,
          progress: { done: now.done, total: now.total, unit: "answer" },
          seconds_left: now.done === 0 ? null : (passed * (now.total - now.done)) / now.done,
        });
      },
    },
  );
  const id = keepEvaluation(asked, evaluation);
  context.tell("library", "evaluations");
  return { id };
}
