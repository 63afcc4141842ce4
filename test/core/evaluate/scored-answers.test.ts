/** Held-out loss and preference accuracy: figures that need no sampling. */

import { expect, test } from "vitest";
import { createEngine } from "../../../core/engine/engine.ts";
import { openTextChat } from "../../../core/evaluate/text-chat.ts";
import { preferenceAccuracy, preferenceTokens } from "../../../core/evaluate/preference-accuracy.ts";
import { scoreRows } from "../../../core/evaluate/score-rows.ts";
import { solutionLoss } from "../../../core/evaluate/solution-loss.ts";
import { trainedRow } from "../../../core/evaluate/trained-row.ts";
import { optimalSquares } from "../../../core/tasks/tic-tac-toe/minimax.ts";
import { toBoard } from "../../../core/tasks/tic-tac-toe/boards.ts";
import { ticTacToe } from "../../../core/tasks/tic-tac-toe/tic-tac-toe.ts";
import type { Task } from "../../../core/tasks/task.ts";
import { TabularModel } from "../train/tabular-model.ts";
import { tinyModel } from "../train/tiny-model.ts";
import { digitChat, numberTask } from "./number-task.ts";

const vocabSize = 10;
const rows = numberTask.rows("held-out");

/** Uniform, but for what follows the prompts in `boost`. */
function table(boost: Record<number, number> = {}): TabularModel {
  const model = new TabularModel("table", { vocabSize });
  for (const [digit, logit] of Object.entries(boost)) {
    const logits = new Array<number>(vocabSize).fill(0);
    logits[Number(digit)] = logit;
    model.base.set(digit, logits);
  }
  return model;
}

test("a model that knows nothing has the loss of a blind guess", async () => {
  const { loss, items, ...counts } = await solutionLoss({ model: table(), chat: digitChat }, numberTask, rows, {
    seed: 1,
  });
  expect(loss.mean).toBeCloseTo(Math.log(vocabSize), 5);
  expect(counts).toEqual({ tokens: 8, rows: 4, skipped: 0 });
  expect(items.map(({ row_id, problem, tokens }) => [row_id, problem, tokens])).toEqual(
    rows.map((row) => [row.id, numberTask.problem(row), 2]),
  );
});

test("loss is the mean over tokens, not over rows, and its interval comes from problems", async () => {
  const model = table({ 1: 3, 3: 3 });
  const { loss } = await solutionLoss({ model, chat: digitChat }, numberTask, rows, { seed: 1 });
  const known = Math.log(Math.exp(3) + vocabSize - 1) - 3;
  expect(loss.mean).toBeCloseTo((2 * known + 6 * Math.log(vocabSize)) / 8, 5);
  // Of the two problems one is known: drawing two of two gives each of them alone as an extreme.
  expect(loss.lo).toBeCloseTo((known + Math.log(vocabSize)) / 2, 5);
  expect(loss.hi).toBeCloseTo(Math.log(vocabSize), 5);
});

test("how rows are packed changes nothing, and a prompt that neighbours share stands once", async () => {
  const scores = async (batchTokens: number) => {
    const model = table({ 1: 1, 2: 2, 3: 3 });
    const pairs = rows.map((row) => preferenceTokens(digitChat, numberTask, row));
    const answers = pairs.flatMap(({ chosen, rejected }) => [chosen, rejected]);
    return { model, scores: await scoreRows((batch) => model.forward(batch), answers, { batchTokens }) };
  };
  const [one, all] = [await scores(1), await scores(1000)];
  expect(one.scores).toEqual(all.scores);
  expect(one.model.forwards).toHaveLength(8);
  expect(all.model.forwards).toHaveLength(1);
  expect(all.model.forwards[0].batch.tokens).toHaveLength(4 * (1 + 2 + 2));
});

test("rows that do not fit are skipped and counted; when none is left that is an error", async () => {
  const model = table();
  const source = { model, chat: digitChat };
  const long: Task = {
    ...numberTask,
    solution: (row) => [{ role: "assistant", content: row.id === "row-1" ? "123456" : "1" }],
  };
  expect(await solutionLoss(source, long, rows, { seed: 1, maxLength: 5 })).toMatchObject({ rows: 3, skipped: 1 });
  await expect(solutionLoss(source, long, rows, { seed: 1, maxLength: 2 })).rejects.toMatchObject({ code: "no-rows" });
  const without: Task = { ...numberTask };
  delete without.solution;
  delete without.preference;
  await expect(solutionLoss(source, without, rows, { seed: 1 })).rejects.toMatchObject({ code: "no-solutions" });
  await expect(preferenceAccuracy(source, without, rows, { seed: 1 })).rejects.toMatchObject({
    code: "no-preferences",
  });
});

test("preference accuracy counts pairs with the higher summed log-prob; margins are against the reference", async () => {
  // Digits 1 and 2 are learned, 3 is unlearned, and on 4 nothing is known: a tie is not an accurate pair.
  const model = table({ 1: 2, 2: 2, 3: -2 });
  const blind = table();
  const measured = await preferenceAccuracy({ model, chat: digitChat }, numberTask, rows, {
    seed: 1,
    reference: (answers) => scoreRows((batch) => blind.forward(batch), answers),
    beta: 0.5,
  });
  expect(measured.accuracy.mean).toBe(0.5);
  expect(measured.reward_accuracy?.mean).toBe(0.5);
  expect(measured.margin?.mean).toBeCloseTo((0.5 * (2 + 2 - 2 + 0)) / 4, 5);
  const loss = (margin: number) => Math.log(1 + Math.exp(-margin));
  expect(measured.loss?.mean).toBeCloseTo((2 * loss(1) + loss(-1) + loss(0)) / 4, 5);
  expect([measured.pairs, measured.skipped]).toEqual([4, 0]);
});

test("against itself as the reference the margin is 0 and the loss ln 2; without one there is no margin", async () => {
  const model = table({ 1: 2 });
  const source = { model, chat: digitChat };
  const same = await preferenceAccuracy(source, numberTask, rows, {
    seed: 1,
    reference: (answers) => scoreRows((batch) => model.forward(batch), answers),
  });
  expect(same.margin).toEqual({ mean: 0, lo: 0, hi: 0 });
  expect(same.loss?.mean).toBeCloseTo(Math.LN2, 12);
  expect(await preferenceAccuracy(source, numberTask, rows, { seed: 1 })).toMatchObject({
    margin: null,
    reward_accuracy: null,
    loss: null,
  });
});

test("equal answers are skipped", async () => {
  const equal: Task = {
    ...numberTask,
    preference: (row) => {
      const answer = [{ role: "assistant", content: "1" }];
      return { chosen: answer, rejected: row.id === "row-1" ? answer : [{ role: "assistant", content: "2" }] };
    },
  };
  expect(await preferenceAccuracy({ model: table(), chat: digitChat }, equal, rows, { seed: 1 })).toMatchObject({
    pairs: 3,
    skipped: 1,
  });
});

test("with a real engine and template the solution's tokens are exactly what the model would write", async () => {
  const folder = await tinyModel();
  const engine = await createEngine();
  const model = await engine.open(folder, { threads: 1 });
  try {
    const chat = await openTextChat(folder);
    const call = (square: number) => [
      {
        role: "assistant",
        content: `<tool_call>{"name": "choose_square", "arguments": {"square": ${square}}}</tool_call>`,
      },
    ];
    const task: Task = {
      ...ticTacToe,
      solution: (row) => call(optimalSquares(toBoard(ticTacToe.parseRow(row)))[0]),
      preference: (row) => {
        const board = toBoard(ticTacToe.parseRow(row));
        return { chosen: call(optimalSquares(board)[0]), rejected: [{ role: "assistant", content: "I pass." }] };
      },
    };
    const some = ticTacToe.rows("validation").slice(0, 16);
    const { promptIds, ids } = trainedRow(chat, task, some[0]);
    expect(promptIds).toEqual(chat.renderPrompt(task.prompt(some[0]), task.tools));
    expect(chat.stopIds).toContain(ids.at(-1));
    const { loss, rows: scored } = await solutionLoss({ model, chat }, task, some, { seed: 1 });
    expect(scored).toBe(16);
    // It was taught the form of a call, with squares drawn at random: about ln 9 over some 20 tokens.
    expect(loss.mean).toBeGreaterThan(0.02);
    expect(loss.mean).toBeLessThan(1);
    expect(loss.lo).toBeLessThanOrEqual(loss.mean);
    const preference = await preferenceAccuracy({ model, chat }, task, some, { seed: 1 });
    expect(preference.accuracy.mean).toBeGreaterThan(0.9);
  } finally {
    await model.close();
  }
});
