import { z } from "zod";
import type { RunConfigInput } from "../../contract/config.ts";
import { HoneError } from "../../contract/errors.ts";
import { parseConfigInput } from "../../contract/resolve-config.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import { readJson } from "../../files/json.ts";
import { requireFilePlace, requireWholePath } from "../../files/system-error.ts";
import { shortName } from "../../train/model-ref.ts";
import { originOfRun } from "../../train/run.ts";
import {
  compareEvaluations,
  deleteEvaluation,
  listEvaluations,
  readEvaluation,
} from "../evaluation/kept-evaluations.ts";
import { estimateRun } from "../plan/estimate-run.ts";
import { planRun } from "../plan/plan-run.ts";
import { shownAnswers } from "../runs/shown-answers.ts";
import type { CallContext, Handlers } from "../service/handlers.ts";
import { Session } from "../session.ts";
import type { TrainOrder } from "../works/train-work.ts";

let opened: Promise<Session> | undefined;
const session = () => (opened ??= Session.open());

export const trainHandlers: Handlers<"train"> = {
  "train.origin": ({ model, task }) => originOfRun({ model, ...(task !== null && { task }) }),
  "train.estimate": async ({ config }, context) =>
    estimateRun((await session()).engine, await withSettings(config, context), await trainRows(config, context)),
  "train.measure": async ({ config }, context) =>
    planRun(await session(), await withSettings(config, context), {
      command: ["hone", "app"],
      listen: () => undefined,
      signal: context.signal,
    }),
  "train.start": async ({ config }, context) => {
    const input: TrainOrder = { config: await withSettings(config, context) };
    return { job: await context.startJob({ kind: "train", title: titleOf(config), work: "train", input }) };
  },
  "train.resume": async ({ run, max_steps }, context) => {
    const input: TrainOrder = { resume: run, max_steps };
    return { job: await context.startJob({ kind: "train", title: run, work: "train", input, run }) };
  },
  "train.answers": (wanted) => shownAnswers(session, wanted),
  "train.read_config": ({ path }) => parseConfigInput(readJson(path, z.unknown()), path),
  "train.write_config": ({ path, config }) => {
    requireWholePath(path);
    requireFilePlace(path, "choose another place");
    writeFileAtomic(path, `${JSON.stringify(config, undefined, 2)}\n`);
    return null;
  },
  "train.evaluate": async (input, context) => {
    const title = `${shortName(input.model)} · ${shortName(input.task)}`;
    return { job: await context.startJob({ kind: "evaluate", title, work: "evaluate", input }) };
  },
  "evaluations.list": (wanted) => ({ evaluations: listEvaluations(wanted) }),
  "evaluations.read": ({ id }) => readEvaluation(id),
  "evaluations.compare": ({ before, after }) => compareEvaluations(before, after),
  "evaluations.delete": ({ id }, context) => {
    deleteEvaluation(id);
    context.tell("library", "evaluations");
    return null;
  },
};

function titleOf({ method = "gspo", task = "", model = "" }: RunConfigInput): string {
  return `${method} · ${shortName(task)} · ${shortName(model)}`;
}

/** What a person has set for the whole machine holds unless the run says otherwise. */
async function withSettings(config: RunConfigInput, context: CallContext): Promise<RunConfigInput> {
  const { threads, memory_limit } = await context.call("settings.get", {});
  return { ...(threads !== null && { threads }), ...(memory_limit !== null && { memory_limit }), ...config };
}

/** Null where a fixed number of steps needs none, and where the task cannot say. */
async function trainRows({ task, max_steps }: RunConfigInput, context: CallContext): Promise<number | null> {
  if (task === undefined || max_steps != null) return null;
  try {
    return (await context.call("tasks.read", { task })).rows.train;
  } catch (error) {
    if (error instanceof HoneError) return null;
    throw error;
  }
}
