/** What every made task must keep, and answers as a model would write them. */

import { expect } from "vitest";
import { splits } from "../../../core/contract/eval.ts";
import { messageText, type ChatMessage } from "../../../core/contract/chat.ts";
import {
  toolsOf,
  type Action,
  type Score,
  type StopReason,
  type Task,
  type TaskRow,
} from "../../../core/tasks/task.ts";
import { parseAssistant } from "../../../core/text/parse-assistant.ts";
import { formatToolCall } from "../../../core/text/tool-format.ts";

/** Through the text layer, as in training. */
export function written<Row extends TaskRow>(
  task: Task<Row>,
  row: Row,
  text: string,
  stopReason: StopReason = "eos",
): Action {
  return { text, stopReason, parsed: parseAssistant(text, toolsOf(task, row), "hermes", { stopReason }) };
}

export function textOf(messages: readonly ChatMessage[]): string {
  return messages
    .map((message) => {
      const call = message.tool_calls?.[0];
      if (call === undefined || !("function" in call) || typeof call.function.arguments === "string") {
        return messageText(message);
      }
      return formatToolCall({ name: call.function.name, arguments: call.function.arguments }, "hermes");
    })
    .join("");
}

export async function scoreText<Row extends TaskRow>(
  task: Task<Row>,
  row: Row,
  text: string,
  stopReason: StopReason = "eos",
): Promise<Score> {
  const { score } = await task.start(row, 1).step(written(task, row, text, stopReason));
  const { reward, parts, info } = score!;
  expect(Object.keys(parts)).toEqual(task.rewardParts.map(({ name }) => name));
  expect(task.rewardParts.reduce((sum, { name, weight }) => sum + weight * parts[name], 0)).toBeCloseTo(reward, 12);
  if (info.failure !== undefined) expect(Object.keys(task.failures)).toContain(info.failure);
  for (const name of Object.keys(info.outcomes)) expect(Object.keys(task.outcomes)).toContain(name);
  return score!;
}

/** Enough rows, the same ones every time, no group in two parts, every row read back from a file as it is. */
export function expectSoundRows<Row extends TaskRow>(
  task: Task<Row>,
  least = { train: 600, validation: 100, "held-out": 200 },
): void {
  const partOf = new Map<string, string>();
  const ids = new Set<string>();
  const prompts = new Set<string>();
  for (const split of splits) {
    const rows = task.rows(split);
    expect(rows.length).toBeGreaterThanOrEqual(least[split]);
    expect(task.rows(split)).toEqual(rows);
    for (const row of rows) {
      expect(ids.has(row.id)).toBe(false);
      ids.add(row.id);
      prompts.add(JSON.stringify(task.prompt(row)));
      expect(partOf.get(task.problem(row)) ?? split).toBe(split);
      partOf.set(task.problem(row), split);
      expect(task.parseRow(JSON.parse(JSON.stringify(row)))).toEqual(row);
    }
  }
  expect(task.rows("train", { seed: 7 })).not.toEqual(task.rows("train"));
  expect(prompts.size / ids.size).toBeGreaterThan(0.98);
}

/** Solutions are worth 1, what DPO rejects is worth less, on every row. */
export async function expectSoundAnswers<Row extends TaskRow>(task: Task<Row>): Promise<void> {
  for (const row of splits.flatMap((split) => task.rows(split))) {
    const best = await scoreText(task, row, textOf(task.solution!(row)!));
    expect(best.reward, row.id).toBeCloseTo(1, 12);
    expect(best.info.failure, row.id).toBeUndefined();
    const { chosen, rejected } = task.preference!(row)!;
    expect((await scoreText(task, row, textOf(chosen))).reward).toBeCloseTo(1, 12);
    const worse = await scoreText(task, row, textOf(rejected));
    expect(worse.reward, row.id).toBeLessThan(0.99);
    expect(worse.info.failure, row.id).toBeDefined();
  }
}
