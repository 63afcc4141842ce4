/** How often a model finds the better of two answers the more likely one. */

import type { z } from "zod";
import type { preferenceAccuracySchema, PreferenceItem } from "../contract/eval.ts";
import { HoneError } from "../contract/errors.ts";
import { mean, softplus } from "../contract/numbers.ts";
import type { Seed } from "../contract/random.ts";
import type { Model } from "../engine/types.ts";
import { hasSameIds, type TokenRow } from "../engine/micro-batches.ts";
import { rowsFor, type Task, type TaskRow } from "../tasks/task.ts";
import { clusterBy, seededInterval } from "./bootstrap.ts";
import { scoreRows, type RowScore, type ScoreOptions } from "./score-rows.ts";
import { canBeScored } from "./solution-loss.ts";
import { answerTokens, type RowChat, type RowTask } from "./trained-row.ts";

export interface PreferenceAccuracy extends z.infer<typeof preferenceAccuracySchema> {
  items: PreferenceItem[];
}

export interface PreferenceOptions extends ScoreOptions {
  seed: Seed;
  /** The frozen model that the policy is compared with: the base, or the same model with the adapter off. */
  reference?: (rows: readonly TokenRow[]) => Promise<RowScore[]>;
  /** Default 0.1. */
  beta?: number;
  /** Default 0. */
  labelSmoothing?: number;
  /** Longest answer with its prompt. Default: what the model was made for. */
  maxLength?: number;
}

export interface TokenPair {
  chosen: TokenRow;
  rejected: TokenRow;
}

/** Both answers of one row as tokens, on one shared prompt where the template renders it alike. */
export function preferenceTokens(chat: RowChat, task: RowTask, row: TaskRow): TokenPair {
  const preference = task.preference?.(row);
  if (preference === undefined) throw noPreferences(task);
  const { chosen: better, rejected: worse } = preference;
  const [chosen, rejected] = [better, worse].map((answer) => answerTokens(chat, task, row, answer));
  return hasSameIds(chosen.promptIds, rejected.promptIds)
    ? { chosen, rejected: { ...rejected, promptIds: chosen.promptIds } }
    : { chosen, rejected };
}

/** Throws `HoneError` `no-preferences` for a task without pairs, `no-rows` when no pair can be scored. */
export async function preferenceAccuracy(
  { model, chat }: { model: Model; chat: RowChat },
  task: Task,
  rows: readonly TaskRow[],
  options: PreferenceOptions,
): Promise<PreferenceAccuracy> {
  const { seed, reference, beta = 0.1, labelSmoothing = 0, maxLength = model.info().contextLength } = options;
  const all = rowsFor(task, rows, "preference").map((row) => ({
    row_id: row.id,
    problem: task.problem(row),
    pair: preferenceTokens(chat, task, row),
  }));
  const fit = all.filter(({ pair: { chosen, rejected } }) => {
    return canBeScored(chosen, maxLength) && canBeScored(rejected, maxLength) && !hasSameIds(chosen.ids, rejected.ids);
  });
  const answers = fit.flatMap(({ pair }) => [pair.chosen, pair.rejected]);
  const policy = await scoreRows((batch) => model.forward(batch), answers, options);
  const frozen = await reference?.(answers);
  const gap = (scores: readonly RowScore[], i: number) => scores[2 * i].logprob - scores[2 * i + 1].logprob;
  const scored = fit.map(({ problem }, i) => ({
    problem,
    gap: gap(policy, i),
    margin: frozen === undefined ? undefined : beta * (gap(policy, i) - gap(frozen, i)),
  }));
  const interval = (name: string, value: (one: (typeof scored)[number]) => number | undefined) =>
    seededInterval(
      clusterBy(scored, ({ problem }) => problem, value),
      seed,
      name,
    );
  const ofMargin = (name: string, value: (margin: number) => number) =>
    interval(name, ({ margin }) => (margin === undefined ? undefined : value(margin))) ?? null;
  const meanLogprob = (side: 0 | 1) => mean(fit.map((_, i) => policy[2 * i + side].logprob));
  return {
    accuracy: interval("preference_accuracy", (one) => Number(one.gap > 0)) ?? fail(task),
    reward_accuracy: ofMargin("rewards/accuracies", (margin) => Number(margin > 0)),
    margin: ofMargin("rewards/margins", (margin) => margin),
    loss: ofMargin(
      "eval_loss",
      (margin) => (1 - labelSmoothing) * softplus(-margin) + labelSmoothing * softplus(margin),
    ),
    logps: { chosen: meanLogprob(0), rejected: meanLogprob(1) },
    pairs: fit.length,
    skipped: all.length - fit.length,
    items: fit.map(({ row_id, problem }, i) => ({
      row_id,
      problem,
      chosen: policy[2 * i].logprob,
      rejected: policy[2 * i + 1].logprob,
    })),
  };
}

function noPreferences(task: Pick<Task, "name">): HoneError {
  return new HoneError("no-preferences", `task ${task.name} has no pairs of a better and a worse answer`, {
    fix: "measure its reward instead",
  });
}

function fail(task: Task): never {
  throw new HoneError("no-rows", `no pair of task ${task.name} can be scored`, {
    fix: "its answers are equal or empty, or longer than the model can read",
  });
}
