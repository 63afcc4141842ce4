/** The same rows answered before and after, to be read side by side. */

import type { EvalItem, Evaluation } from "../../contract/eval.ts";
import type { Task } from "../../tasks/task.ts";

export interface AnswerPair {
  id: string;
  /** The row as the task draws it. */
  drawing: string;
  before: EvalItem;
  after: EvalItem;
}

/** The first sampled answer to every row that both evaluations answered, in the order of the rows. */
export function answerPairs(task: Task, before: Evaluation, after: Evaluation): AnswerPair[] {
  const first = ({ items }: Evaluation) =>
    new Map(items.filter(({ pass, sample }) => pass === "sampled" && sample === 0).map((item) => [item.row_id, item]));
  const [earlier, later] = [first(before), first(after)];
  return task.rows(after.report.split, { seed: after.report.split_seed }).flatMap((row) => {
    const [a, b] = [earlier.get(row.id), later.get(row.id)];
    return a === undefined || b === undefined ? [] : [{ id: row.id, drawing: task.draw(row), before: a, after: b }];
  });
}

/** What the model said, turn by turn, and what it was told in between. */
export function transcript({ turns, invalid }: EvalItem): string {
  const lines = turns.flatMap(({ text, replies }) => [
    text.trim(),
    ...replies.map((reply) => `[${reply.role}] ${reply.text.trim()}`),
  ]);
  return [...lines, ...(invalid === null ? [] : [`[the environment failed: ${invalid}]`])].join("\n");
}
