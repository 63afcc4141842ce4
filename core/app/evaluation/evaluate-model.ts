/** Measures a model, given by name, on a task: its answers, its games, how likely right answers are to it, and a control. */

import { resolve } from "node:path";
import type { RunConfig } from "../../contract/config.ts";
import { defaultsFor } from "../../contract/defaults.ts";
import { HoneError } from "../../contract/errors.ts";
import {
  preferenceAccuracySchema,
  solutionLossSchema,
  type EvalReport,
  type Evaluation,
  type Split,
} from "../../contract/eval.ts";
import { measureControl } from "../../evaluate/control.ts";
import { evaluateTask, pickRows, type EvaluationStage } from "../../evaluate/evaluate-task.ts";
import type { Policy } from "../../evaluate/policy-types.ts";
import { preferenceAccuracy } from "../../evaluate/preference-accuracy.ts";
import { scoreRows } from "../../evaluate/score-rows.ts";
import { solutionLoss } from "../../evaluate/solution-loss.ts";
import { hasSolutions } from "../../evaluate/trained-row.ts";
import { findRun } from "../../store/library.ts";
import { rowsFor, type Task, type TaskRow } from "../../tasks/task.ts";
import { answerTokens, dataOptions, findTaskFolder, openTask, type DataChoices } from "../../tasks/open-task.ts";
import { RunFolder } from "../../train/run-folder/run-folder.ts";
import type { OpenChoices, OpenPolicy, Session } from "../session.ts";

/** Reward, mapping and groups: default as the run had them that is measured. A reward of null is the task's own. */
export interface EvaluateRequest extends DataChoices {
  model: string;
  task: string;
  split?: Split;
  splitSeed?: number;
  samples?: number;
  seed?: number;
  temperature?: number;
  /** Default: the limit that this model is or was trained with. */
  maxTokens?: number;
  greedy?: boolean;
  /** Games per side and opponent; 0 for none. Default 100. */
  games?: number;
  /** Models to play against, by name. */
  opponents?: readonly string[];
  /** Measure only about this many rows, if there are more: whole problems, always the same ones. */
  limit?: number;
  /** Also measure the unrelated small set. Default false. */
  control?: boolean;
}

export interface EvaluateHooks {
  onProgress?: (progress: { stage: EvaluationStage; done: number; total: number }) => void;
  signal?: AbortSignal;
}

export async function evaluateModel(
  session: Session,
  request: EvaluateRequest,
  choices: OpenChoices,
  hooks: EvaluateHooks = {},
): Promise<Evaluation> {
  const { reward, map, group } = request;
  const usual = trainedWith(request.model, request.task);
  const task = await openTask(
    request.task,
    dataOptions({
      reward: reward === undefined ? usual?.reward : reward,
      map: map ?? usual?.map,
      group: group ?? usual?.group,
    }),
  );
  const opened: OpenPolicy[] = [];
  const open = async (reference: string) => {
    const policy = await session.openPolicy(reference, choices);
    opened.push(policy);
    return policy;
  };
  try {
    const model = await open(request.model);
    const opponents: Record<string, Policy> = {};
    for (const reference of request.opponents ?? []) {
      const opponent = await open(reference);
      opponents[opponent.files.name] = opponent.policy;
    }
    return await evaluatePolicy(task, model, request, { opponents }, hooks);
  } finally {
    for (const policy of opened) await policy.close();
    await task.close?.();
  }
}

/**
 * As `evaluateModel`, with models that are open already. `reference`: the frozen model that margins between the two
 * answers of a pair are measured against.
 */
export async function evaluatePolicy(
  task: Task,
  opened: OpenPolicy,
  request: EvaluateRequest,
  { opponents = {}, reference }: { opponents?: Record<string, Policy>; reference?: OpenPolicy },
  hooks: EvaluateHooks,
): Promise<Evaluation> {
  const { policy, files, model, chat } = opened;
  const { split = "held-out", samples, temperature, greedy, games, limit, seed = 42 } = request;
  const usual = usualSettings(request.model, request.task);
  const splitSeed = request.splitSeed ?? usual.splitSeed;
  const all = task.rows(split, { seed: splitSeed });
  const rows = limit === undefined || all.length <= limit ? all : pickRows(task, all, limit, splitSeed);
  const asked = rowsFor(task, rows, "prompt");
  if (rows.length > 0 && (asked.length === 0 || task.prompt(asked[0]).length === 0)) {
    throw new HoneError("no-prompts", `the rows of task ${task.name} have no prompt that a model could answer`, {
      fix: "they serve SFT, which measures its loss on validation rows while it trains",
    });
  }
  const evaluation = await evaluateTask(task, policy, {
    model: files.name,
    split,
    splitSeed,
    seed,
    rows: asked,
    maxTokens: request.maxTokens ?? usual.maxTokens,
    ...(samples !== undefined && { samples }),
    ...(temperature !== undefined && { temperature }),
    ...(greedy !== undefined && { greedy }),
    games: games === 0 ? false : { ...(games !== undefined && { count: games }), opponents },
    ...hooks,
  });
  const { signal } = hooks;
  const settings = { seed, ...(signal !== undefined && { signal }) };
  const source = { model, chat };
  if (hasSolutions(task) || task.preference !== undefined) {
    hooks.onProgress?.({ stage: "scoring", done: 0, total: rows.length });
  }
  const scored = await scoreAnswers(task, source, rows, reference, settings);
  if (request.control === true) hooks.onProgress?.({ stage: "control", done: 0, total: 1 });
  const control = request.control === true ? await measureControl(opened, settings) : null;
  return { ...evaluation, ...scored.items, report: { ...evaluation.report, ...scored.report, control } };
}

/** What can be told without sampling. A task whose right answers are all too long for the model has none to score. */
async function scoreAnswers(
  task: Task,
  source: Pick<OpenPolicy, "model" | "chat">,
  rows: readonly TaskRow[],
  reference: OpenPolicy | undefined,
  settings: { seed: number; signal?: AbortSignal },
): Promise<{
  report: Pick<EvalReport, "solution" | "preference">;
  items: Pick<Evaluation, "solutions" | "preferences">;
}> {
  const solved = hasSolutions(task) ? await ifAny(solutionLoss(source, task, rows, settings)) : undefined;
  const paired =
    task.preference === undefined
      ? undefined
      : await ifAny(
          preferenceAccuracy(source, task, rows, {
            ...settings,
            ...(reference !== undefined && {
              reference: (answers) => scoreRows((batch) => reference.model.forward(batch), answers, settings),
            }),
          }),
        );
  const { items: solutions = [], ...solution } = solved ?? {};
  const { items: preferences = [], ...preference } = paired ?? {};
  return {
    report: {
      solution: solved === undefined ? null : solutionLossSchema.parse(solution),
      preference: paired === undefined ? null : preferenceAccuracySchema.parse(preference),
    },
    items: { solutions, preferences },
  };
}

async function ifAny<T>(measured: Promise<T>): Promise<T | undefined> {
  try {
    return await measured;
  } catch (error) {
    if (error instanceof HoneError && error.code === "no-rows") return undefined;
    throw error;
  }
}

/** A model is measured under the limits it was trained with, so that before and after are alike. */
export function usualSettings(reference: string, task: string): { maxTokens: number; splitSeed: number } {
  const config = trainedWith(reference, task);
  const settings = config ?? defaultsFor({ model: reference, task });
  const own = config === undefined ? answerTokens(task) : undefined;
  return { maxTokens: own ?? settings.max_completion_length, splitSeed: settings.split_seed };
}

/** The configuration of the run that this model comes from, if it was trained on this task. */
function trainedWith(reference: string, task: string): RunConfig | undefined {
  const run = findRun(reference) ?? findRun(reference.slice(0, Math.max(0, reference.lastIndexOf(":"))));
  const config = run === undefined ? undefined : RunFolder.open(run).readConfig().config;
  const isSame = [task, findTaskFolder(task), resolve(task)].includes(config?.task);
  return isSame ? config : undefined;
}
