import { runEvaluations } from "../runs/run-evaluations.ts";
import { exportRun } from "../runs/run-export.ts";
import { annotateRun, deleteRun, listRunsWithNotes, readRun } from "../runs/run-library.ts";
import { rolloutPage, rolloutsOfPrompt } from "../runs/run-rollouts.ts";
import type { Handlers } from "../service/handlers.ts";
import { requireIdle } from "../runs/require-idle.ts";

export const runHandlers: Handlers<"runs"> = {
  "runs.list": () => listRunsWithNotes(),
  "runs.read": ({ run }) => readRun(run),
  "runs.annotate": ({ run, tags, notes }, context) => {
    const written = annotateRun(run, { ...(tags !== undefined && { tags }), ...(notes !== undefined && { notes }) });
    context.tell("library", "runs");
    return written;
  },
  "runs.delete": async ({ run }, context) => {
    await requireIdle(run, context);
    const answer = deleteRun(run);
    context.tell("library", "runs");
    return answer;
  },
  "runs.rollouts": (wanted) => rolloutPage(wanted),
  "runs.prompt": ({ run, row_id }) => rolloutsOfPrompt(run, row_id),
  "runs.evaluations": ({ run, name }) => runEvaluations(run, name),
  "runs.export": (wanted) => exportRun(wanted),
};
