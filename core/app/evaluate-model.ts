/** Measures a model, given by name, on a task. */

import type { Evaluation, Split } from "../contract/eval.ts";
import { defaultsFor } from "../contract/defaults.ts";
import { evaluateTask, pickRows, type EvaluationStage } from "../evaluate/evaluate-task.ts";
import type { Policy } from "../evaluate/policy-types.ts";
import { findRun } from "../store/library.ts";
import type { Task } from "../tasks/task.ts";
import { findTask } from "../tasks/tasks.ts";
import { RunFolder } from "../train/run-folder.ts";
import type { OpenChoices, OpenPolicy, Session } from "./session.ts";

export interface EvaluateRequest {
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
  /** Measure only about this many rows: whole problems, always the same ones. */
  limit?: number;
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
  const task = findTask(request.task);
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
    return await evaluatePolicy(task, model, request, opponents, hooks);
  } finally {
    for (const policy of opened) await policy.close();
  }
}

/** As `evaluateModel`, with models that are open already. */
export function evaluatePolicy(
  task: Task,
  { policy, files }: OpenPolicy,
  request: EvaluateRequest,
  opponents: Record<string, Policy>,
  hooks: EvaluateHooks,
): Promise<Evaluation> {
  const { split = "held-out", samples, temperature, greedy, games, limit } = request;
  const usual = usualSettings(request.model, task.name);
  const splitSeed = request.splitSeed ?? usual.splitSeed;
  return evaluateTask(task, policy, {
    model: files.name,
    split,
    splitSeed,
    seed: request.seed ?? 42,
    maxTokens: request.maxTokens ?? usual.maxTokens,
    ...(limit !== undefined && { rows: pickRows(task, task.rows(split, { seed: splitSeed }), limit, splitSeed) }),
    ...(samples !== undefined && { samples }),
    ...(temperature !== undefined && { temperature }),
    ...(greedy !== undefined && { greedy }),
    games: games === 0 ? false : { ...(games !== undefined && { count: games }), opponents },
    ...hooks,
  });
}

/** A model is measured under the limits it was trained with, so that before and after are alike. */
export function usualSettings(reference: string, task: string): { maxTokens: number; splitSeed: number } {
  const run = findRun(reference) ?? findRun(reference.slice(0, Math.max(0, reference.lastIndexOf(":"))));
  const config = run === undefined ? undefined : RunFolder.open(run).readConfig().config;
  const settings = config?.task === task ? config : defaultsFor({ model: reference, task });
  return { maxTokens: settings.max_completion_length, splitSeed: settings.split_seed };
}
