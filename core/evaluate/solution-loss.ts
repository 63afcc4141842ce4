/** How likely a model finds right answers: held-out loss, without sampling anything. */

import type { Interval } from "../contract/eval.ts";
import { HoneError } from "../contract/errors.ts";
import type { Seed } from "../contract/random.ts";
import type { Model } from "../engine/types.ts";
import type { Task, TaskRow } from "../tasks/task.ts";
import type { LossMode } from "../text/chat.ts";
import { seededInterval } from "./bootstrap.ts";
import { scoreRows, type RowScore, type ScoredRow, type ScoreOptions } from "./score-rows.ts";
import type { TextChat } from "./text-chat.ts";

export interface SolutionLoss {
  /** − Σ log-prob / Σ tokens over the trained tokens of all rows: natural logs, lower is better. */
  loss: Interval;
  /** Trained tokens. */
  tokens: number;
  rows: number;
  /** Rows that have no token to train or are longer than the model can read. */
  skipped: number;
}

export interface SolutionLossOptions extends ScoreOptions {
  seed: Seed;
  /** Default `completion`: everything after the prompt that the model would write. */
  loss?: LossMode;
  /** Longest row, prompt and answer together. Default: what the model was made for. */
  maxLength?: number;
}

/** What scoring needs of a chat. */
export type RowChat = Pick<TextChat, "renderTrained">;

/** Prompt and solution of one row as tokens. The task must have solutions. */
export function solutionTokens(chat: RowChat, task: Task, row: TaskRow, loss: LossMode = "completion"): ScoredRow {
  if (task.solution === undefined) throw noSolutions(task);
  const prompt = task.prompt(row);
  return chat.renderTrained([...prompt, ...task.solution(row)], task.tools, loss, prompt.length);
}

/** Throws `HoneError` `no-solutions` for a task without them, `no-rows` when no row can be scored. */
export async function solutionLoss(
  { model, chat }: { model: Model; chat: RowChat },
  task: Task,
  rows: readonly TaskRow[],
  options: SolutionLossOptions,
): Promise<SolutionLoss> {
  const { seed, loss = "completion", maxLength = model.info().contextLength } = options;
  const all = rows.map((row) => ({ problem: task.problem(row), tokens: solutionTokens(chat, task, row, loss) }));
  const fit = all.filter(({ tokens }) => canBeScored(tokens, maxLength));
  const scores = await scoreRows(
    (batch) => model.forward(batch),
    fit.map(({ tokens }) => tokens),
    options,
  );
  const scored = fit.map(({ problem }, i) => ({ problem, score: scores[i] }));
  return {
    loss: tokenLoss(scored, seed, "eval_loss") ?? fail(task),
    tokens: scores.reduce((sum, { tokens }) => sum + tokens, 0),
    rows: fit.length,
    skipped: all.length - fit.length,
  };
}

/** A row with a token that counts, which the model can read whole. */
export function canBeScored({ promptIds, ids, mask }: ScoredRow, maxLength: number): boolean {
  return mask.includes(1) && promptIds.length + ids.length <= maxLength;
}

/** Mean negative log-prob per token, with the interval from resampling problems. */
export function tokenLoss(
  scored: readonly { problem: string; score: RowScore }[],
  seed: Seed,
  name: string,
): Interval | undefined {
  const clusters = [...Map.groupBy(scored, ({ problem }) => problem).values()].map((group) => ({
    sum: -group.reduce((total, { score }) => total + score.logprob, 0),
    count: group.reduce((total, { score }) => total + score.tokens, 0),
  }));
  return seededInterval(clusters, seed, name);
}

function noSolutions(task: Task): HoneError {
  return new HoneError("no-solutions", `task ${task.name} has no right answers to compare with`, {
    fix: "measure its reward instead",
  });
}

function fail(task: Task): never {
  throw new HoneError("no-rows", `no right answer of task ${task.name} can be scored`, {
    fix: "its rows are longer than the model can read, or hold nothing that the model would write",
  });
}
