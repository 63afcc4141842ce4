import { expect, test } from "vitest";
import { trajectoryRows } from "../../../../core/train/rl/trajectory-rows.ts";

const turn = (promptTokens: number[], tokens: number[]) => ({
  promptTokens: Int32Array.from(promptTokens),
  tokens: Int32Array.from(tokens),
  logprobs: Float32Array.from(tokens, (token) => -token),
});

const plain = (rows: ReturnType<typeof trajectoryRows>) =>
  rows.map(({ promptIds, ids, mask, sampled }) => ({
    promptIds: [...promptIds],
    ids: [...ids],
    mask: [...mask],
    sampled: [...sampled],
  }));

test("prompts that go on exactly make one row, with the environment's text between the turns", () => {
  const turns = [turn([1, 2], [3, 4]), turn([1, 2, 3, 4, 50, 51], [6]), turn([1, 2, 3, 4, 50, 51, 6], [7])];
  expect(plain(trajectoryRows(turns))).toEqual([
    {
      promptIds: [1, 2],
      ids: [3, 4, 50, 51, 6, 7],
      mask: [1, 1, 0, 0, 1, 1],
      sampled: [-3, -4, NaN, NaN, -6, -7],
    },
  ]);
});

test("a rewritten history begins a row of its own, with that turn's own prompt", () => {
  const turns = [turn([1, 2], [3, 4]), turn([1, 2, 4, 50], [6]), turn([1, 2, 4, 50, 6, 51], [7, 8])];
  expect(plain(trajectoryRows(turns))).toEqual([
    { promptIds: [1, 2], ids: [3, 4], mask: [1, 1], sampled: [-3, -4] },
    { promptIds: [1, 2, 4, 50], ids: [6, 51, 7, 8], mask: [1, 0, 1, 1], sampled: [-6, NaN, -7, -8] },
  ]);
});

test("a prompt that is shorter, or another from its beginning, continues nothing", () => {
  expect(trajectoryRows([turn([1, 2], [3, 4]), turn([1, 2, 3], [6])])).toHaveLength(2);
  expect(trajectoryRows([turn([1, 2], [3, 4]), turn([9, 2, 3, 4, 5], [6])])).toHaveLength(2);
});

test("text of the environment can be trained (B13)", () => {
  const turns = [turn([1], [3]), turn([1, 3, 50, 51], [6])];
  expect(plain(trajectoryRows(turns, { trainEnvironment: true }))[0].mask).toEqual([1, 1, 1, 1]);
  expect(plain(trajectoryRows(turns))[0].mask).toEqual([1, 0, 0, 1]);
});
