/** How likely a model finds right answers: held-out loss, without sampling anything. */

import type { z } from "zod";
import type { Interval, SolutionItem, solutionLossSchema } from "../contract/eval.ts";
import { HoneError } from "../contract/errors.ts";
import { sum } from "../contract/numbers.ts";
import type { Seed } from "../contract/random.ts";
import type { Model } from "../engine/types.ts";
import type { TokenRow } from "../engine/micro-batches.ts";
import { rowsFor, type Task, type TaskRow } from "../tasks/task.ts";
import { seededInterval } from "./bootstrap.ts";
import { scoreRows, type RowScore, type ScoreOptions } from "./score-rows.ts";
import { trainedRow, type RowChat, type RowLoss } from "./trained-row.ts";

export interface SolutionLoss extends z.infer<typeof solutionLossSchema> {
  items: SolutionItem[];
}

export interface SolutionLossOptions extends ScoreOptions {
  seed: Seed;
  /** Default: as each row's shape suggests. */
  loss?: RowLoss;
  /** Longest row, prompt and answer together. Default: what the model was made for. */
  maxLength?: number;
}

/** Throws `HoneError` `no-solutions` for a task without them, `no-rows` when no row can be scored. */
export async function solutionLoss(
  { model, chat }: { model: Model; chat: RowChat },
  task: Task,
  rows: readonly TaskRow[],
  options: SolutionLossOptions,
): Promise<SolutionLoss> {
  const { seed, loss = null, maxLength = model.info().contextLength } = options;
  const all = rowsFor(task, rows, "solution").map((row) => ({
    row_id: row.id,
    problem: task.problem(row),
    tokens: trainedRow(chat, task, row, loss),
  }));
  const fit = all.filter(({ tokens }) => canBeScored(tokens, maxLength));
  const scores = await scoreRows(
    (batch) => model.forward(batch),
    fit.map(({ tokens }) => tokens),
    options,
  );
  const items = fit.map(({ row_id, problem }, i) => ({ row_id, problem, ...scores[i] }));
  return {
    loss: tokenLoss(items, seed, "eval_loss") ?? fail(task),
    tokens: sum(scores.map(({ tokens }) => tokens)),
    rows: fit.length,
    skipped: all.length - fit.length,
    items,
  };
}

/** A row with a token that counts, which the model can read whole. */
export function canBeScored({ promptIds, ids, mask }: TokenRow, maxLength: number): boolean {
  return mask.includes(1) && promptIds.length + ids.length <= maxLength;
}

/** Mean negative log-prob per token, with the interval from resampling problems. */
export function tokenLoss(
  scored: readonly ({ problem: string } & RowScore)[],
  seed: Seed,
  name: string,
): Interval | undefined {
  const clusters = [...Map.groupBy(scored, ({ problem }) => problem).values()].map((group) => ({
    sum: -sum(group.map(({ logprob }) => logprob)),
    count: sum(group.map(({ tokens }) => tokens)),
  }));
  return seededInterval(clusters, seed, name);
}

function fail(task: Task): never {
  throw new HoneError("no-rows", `no right answer of task ${task.name} can be scored`, {
    fix: "its rows are longer than the model can read, or hold nothing that the model would write",
  });
}
