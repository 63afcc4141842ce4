import { expect, test } from "vitest";
import { EnvironmentError, type Task } from "../../../core/tasks/task.ts";
import type { Policy } from "../../../core/evaluate/policy-types.ts";
import { evaluationSchema } from "../../../core/contract/eval.ts";
import { evaluateTask, pickRows, type EvaluateOptions } from "../../../core/evaluate/evaluate-task.ts";
import { emptySquares, type Board } from "../../../core/tasks/tic-tac-toe/board.ts";
import { optimalSquares } from "../../../core/tasks/tic-tac-toe/minimax.ts";
import { referenceLines } from "../../../core/tasks/tic-tac-toe/reference.ts";
import { boardRewards } from "../../../core/tasks/tic-tac-toe/reward.ts";
import { splitBoards } from "../../../core/tasks/tic-tac-toe/split.ts";
import { canonicalSquare } from "../../../core/tasks/tic-tac-toe/symmetry.ts";
import { ticTacToe } from "../../../core/tasks/tic-tac-toe/tic-tac-toe.ts";
import { fakePolicy, type Choice } from "./fake-policy.ts";
import { guessTask } from "./guess-task.ts";
import { numberTask, type NumberRow } from "./number-task.ts";
import { textPolicy } from "./text-policy.ts";

const options: EvaluateOptions = { model: "fake", seed: 1, splitSeed: 2026, games: false };
const heldOut = splitBoards("held-out", 2026);

/** The best move; among equals the one that comes first on the canonical board, so mirror images get mirrored answers. */
function bestMove(board: Board): number {
  const { winning, optimal } = boardRewards(board);
  const candidates = winning.length > 0 ? winning : optimal;
  return [...candidates].sort((a, b) => canonicalSquare(board, a) - canonicalSquare(board, b))[0];
}

test("a perfect player scores the best possible line, with every rate at 1", async () => {
  const { report } = await evaluateTask(ticTacToe, fakePolicy(bestMove), options);
  expect(report.reward!.mean).toBeCloseTo(referenceLines(heldOut).best, 12);
  expect(report.reward_by_problem!.mean).toBeCloseTo(referenceLines(heldOut, { byClass: true }).best, 12);
  expect(report.reward!.lo).toBeLessThan(report.reward!.mean);
  expect(report.reward!.hi).toBeGreaterThan(report.reward!.mean);
  for (const rate of [report.rates.legal, report.rates.immediate_win, report.rates.optimal]) {
    expect(rate).toEqual({ mean: 1, lo: 1, hi: 1 });
  }
  expect(report.symmetry_agreement).toEqual({ mean: 1, lo: 1, hi: 1 });
  expect(report.reference.best).toBeCloseTo(report.reward!.mean, 12);
  expect([report.rows, report.problems, report.split]).toEqual([heldOut.length, 61, "held-out"]);
  expect(report.games).toEqual({});
});

test("a uniform legal player scores the uniform line within its interval, whose width fits the number of problems", async () => {
  const player = fakePolicy((board, random) => random.pick(emptySquares(board)));
  const { report, items } = await evaluateTask(ticTacToe, player, { ...options, samples: 8 });
  const { uniform_legal } = referenceLines(heldOut);
  expect(report.reward!.lo).toBeLessThan(uniform_legal);
  expect(report.reward!.hi).toBeGreaterThan(uniform_legal);
  // 61 problems whose mean rewards spread by about 0.3: a standard error near 0.04.
  expect(report.reward!.hi - report.reward!.lo).toBeGreaterThan(0.06);
  expect(report.reward!.hi - report.reward!.lo).toBeLessThan(0.3);
  expect(report.reward_given_allowed).toEqual(expect.objectContaining({ mean: report.reward!.mean }));
  expect(report.symmetry_agreement!.mean).toBeLessThan(0.9);
  expect(items.filter((item) => item.pass === "sampled")).toHaveLength(8 * heldOut.length);
});

test("failures, lengths and the most frequent choice are counted", async () => {
  let turn = 0;
  const choices: Choice[] = [5, "no call at all", "cut", 5];
  const player = fakePolicy(() => choices[turn++ % 4]);
  const rows = ticTacToe
    .rows("train")
    .filter((row) => row.board[1][1] === ".")
    .slice(0, 40);
  const { report, items } = await evaluateTask(ticTacToe, player, { ...options, rows, greedy: false });
  expect(report.failures).toEqual({
    no_call: 10,
    several_calls: 0,
    wrong_tool: 0,
    bad_argument: 0,
    out_of_range: 0,
    occupied: 0,
    truncated: 10,
  });
  expect(report.rates.legal!.mean).toBe(0.5);
  expect(report.truncated_rate).toBe(0.25);
  expect(report.most_chosen).toEqual({ choice: "5", share: 0.5 });
  expect(report.response_length).toEqual({ mean: (6 + 14 + 3 + 6) / 4, max: 14 });
  expect(report.greedy).toBeNull();
  const legal = items.filter((item) => item.failure === null);
  expect(report.reward_given_allowed!.mean).toBeCloseTo(legal.reduce((sum, item) => sum + item.reward!, 0) / 20, 12);
  expect(items[2]).toMatchObject({ failure: "truncated", stop_reason: "length", reward: -1, choice: null });
});

test("a player who never calls has −1 everywhere and no rate that cannot be known", async () => {
  const { report } = await evaluateTask(
    ticTacToe,
    fakePolicy(() => "hm"),
    options,
  );
  expect(report.reward).toEqual({ mean: -1, lo: -1, hi: -1 });
  expect(report.reward_given_allowed).toBeNull();
  expect(report.most_chosen).toBeNull();
  expect(report.symmetry_agreement!.mean).toBe(0);
});

test("the same seed gives the same evaluation, however the answers are batched; the stored form is valid", async () => {
  const player = () => fakePolicy((board, random) => random.pick(emptySquares(board)));
  const whole = await evaluateTask(ticTacToe, player(), {
    ...options,
    samples: 2,
    games: { count: 3, temperature: 1 },
  });
  const again = await evaluateTask(ticTacToe, player(), {
    ...options,
    samples: 2,
    games: { count: 3, temperature: 1 },
  });
  expect(again).toEqual(whole);
  expect(evaluationSchema.parse(JSON.parse(JSON.stringify(whole)))).toEqual(whole);

  const rows = ticTacToe.rows("held-out", { seed: 2026 }).slice(100, 110);
  const part = await evaluateTask(ticTacToe, player(), { ...options, samples: 2, rows });
  const ids = new Set(rows.map((row) => row.id));
  const same = whole.items.filter((item) => ids.has(item.row_id));
  expect(part.items).toEqual(same);

  const other = await evaluateTask(ticTacToe, player(), { ...options, samples: 2, seed: 2 });
  expect(other.items.map((item) => item.choice)).not.toEqual(whole.items.map((item) => item.choice));
});

test("temperature and token limit reach the model; the second pass is greedy; progress ends complete", async () => {
  const player = fakePolicy(bestMove);
  const progress: string[] = [];
  await evaluateTask(ticTacToe, player, {
    ...options,
    temperature: 0.7,
    maxTokens: 40,
    onProgress: ({ stage, done, total }) => progress.push(`${stage} ${done}/${total}`),
  });
  expect(new Set(player.calls.map(({ settings }) => settings.temperature))).toEqual(new Set([0.7, 0]));
  expect(player.calls.every(({ settings, size }) => settings.maxTokens === 40 && size <= 256)).toBe(true);
  expect(progress).toContain(`sampled ${heldOut.length}/${heldOut.length}`);
  expect(progress.at(-1)).toBe(`greedy ${heldOut.length}/${heldOut.length}`);
});

test("cancelling ends the evaluation without a result", async () => {
  await expect(
    evaluateTask(
      ticTacToe,
      fakePolicy(() => "cancelled"),
      options,
    ),
  ).rejects.toThrow(/Cancelled/);
  const signal = AbortSignal.abort();
  await expect(evaluateTask(ticTacToe, fakePolicy(bestMove), { ...options, signal })).rejects.toThrow(/cancelled/i);
});

test("picked rows keep mirror images together and are the same every time", () => {
  const rows = ticTacToe.rows("validation");
  const picked = pickRows(ticTacToe, rows, 64, 1);
  expect(picked.length).toBeGreaterThanOrEqual(64);
  expect(picked.length).toBeLessThan(64 + 8);
  const problems = new Set(picked.map((row) => ticTacToe.problem(row)));
  expect(rows.filter((row) => problems.has(ticTacToe.problem(row)))).toHaveLength(picked.length);
  expect(pickRows(ticTacToe, rows, 64, 1)).toEqual(picked);
  expect(pickRows(ticTacToe, rows, 1000, 1)).toHaveLength(rows.length);
});

test("picked rows of large problems are of many problems, and are all of them in the end", () => {
  const rows = Array.from({ length: 300 }, (_, i) => ({ id: String(i), of: i % 5 }));
  const task = { problem: (row: (typeof rows)[number]) => String(row.of) };
  const picked = pickRows(task, rows, 40, 1);
  expect(picked).toHaveLength(40);
  expect([...Map.groupBy(picked, ({ of }) => of).values()].map((group) => group.length)).toEqual([8, 8, 8, 8, 8]);
  expect(new Set(pickRows(task, rows, 1000, 1))).toEqual(new Set(rows));
});

test("rows of a task without mirror images are picked from as many problems as possible", () => {
  const rows = Array.from({ length: 40 }, (_, i) => ({ id: `row-${i}`, digit: i }));
  const task: Task<NumberRow> = { ...numberTask, problem: ({ digit }) => `group ${digit % 4}` };
  const picked = pickRows(task, rows, 6, 1);
  expect(picked).toHaveLength(6);
  expect(new Set(picked.map((row) => row.id)).size).toBe(6);
  expect(new Set(picked.map((row) => task.problem(row))).size).toBe(4);
  expect(pickRows(task, rows, 6, 1)).toEqual(picked);
  expect(pickRows(task, rows, 6, 2)).not.toEqual(picked);
  expect(pickRows(task, rows, 100, 1)).toHaveLength(40);
  const uneven = pickRows<NumberRow>({ ...task, problem: ({ digit }) => (digit === 0 ? "one" : "many") }, rows, 39, 1);
  expect(new Set(uneven.map((row) => row.id)).size).toBe(39);
});

test("evaluation shows each row of the split once per sample, and no row of another split", async () => {
  const player = fakePolicy((board) => optimalSquares(board)[0]);
  await evaluateTask(ticTacToe, player, { ...options, greedy: false, samples: 2 });
  expect(player.seen.toSorted()).toEqual([...heldOut, ...heldOut].sort());
});

/** Guesses 5, then as it is told; `thinking` tokens in every turn. */
const guesser: Policy = {
  answer: (items) =>
    Promise.resolve(
      items.map(({ messages }) => {
        const square = messages.reduce(
          (guess, { content }) => guess + (content === "higher" ? 1 : content === "lower" ? -1 : 0),
          5,
        );
        return {
          text: `call ${square}`,
          parsed: {
            content: "",
            reasoning: "",
            tool_calls: [{ name: "choose_square", arguments: { square } }],
            problems: [],
          },
          stopReason: "eos" as const,
          promptTokens: Int32Array.of(1),
          tokens: Int32Array.of(square, 0),
          logprobs: new Float32Array(2),
          thinkingTokens: 1,
        };
      }),
    ),
};

test("an episode of several turns is one answer: its turns, what it was told, and one score", async () => {
  const { report, items } = await evaluateTask(guessTask(), guesser, { ...options, greedy: false });
  // Squares 3 to 7 are found in at most three turns: for 1, 0.75 twice and 0.5 twice; the other four earn −0.5.
  expect(report.reward!.mean).toBeCloseTo((1 + 2 * 0.75 + 2 * 0.5 - 4 * 0.5) / 9, 12);
  expect(report.rates.found!.mean).toBeCloseTo(5 / 9, 12);
  expect(report.turns).toBeCloseTo((1 + 2 * 2 + 6 * 3) / 9, 12);
  expect(report.response_length).toEqual({ mean: (2 * (1 + 4 + 18)) / 9, max: 6 });
  expect(report.thinking_tokens).toBeCloseTo((1 + 4 + 18) / 9, 12);
  const four = items.find(({ row_id }) => row_id === "g4")!;
  expect(four).toMatchObject({ stop_reason: "terminal", reward: 0.75, invalid: null });
  expect(four.turns.map(({ text, replies }) => [text, replies])).toEqual([
    ["call 5", [{ role: "tool", text: "lower" }]],
    ["call 4", []],
  ]);
  expect(items.find(({ row_id }) => row_id === "g9")).toMatchObject({ stop_reason: "max_turns", reward: -0.5 });
  expect(report.symmetry_agreement).toBeNull();
});

test("episodes that the environment fails are told apart from those that the model fails", async () => {
  const task = guessTask({
    beforeStep: ({ secret }) => {
      if (secret === 5) throw new EnvironmentError("the service is away");
    },
  });
  const { report, items } = await evaluateTask(task, guesser, { ...options, greedy: false });
  expect(report.invalid).toBe(1);
  expect(report.rates.found!.mean).toBeCloseTo(4 / 8, 12);
  expect(items.find(({ row_id }) => row_id === "g5")).toMatchObject({ reward: null, invalid: "the service is away" });
});

test("every failure has a basic kind: its own, or the one that the score names", async () => {
  const policy = textPolicy((prompt) => (prompt === "1" ? "1" : prompt === "2" ? "7" : "hm"));
  const { report, items } = await evaluateTask(numberTask, policy, { ...options, greedy: false });
  expect(report.failures).toEqual({ no_digit: 2, wrong: 1 });
  expect(report.faults).toEqual({ call: 0.5, rules: 0, state: 0, choice: 0.25 });
  expect(items.map(({ fault }) => fault)).toEqual([null, "choice", "call", "call"]);
  expect(report.labels.failures.no_digit).toEqual({ meaning: "no digit at all", group: "call" });
  expect(report.row_name).toBe("row");
  const legal = await evaluateTask(
    ticTacToe,
    fakePolicy((board) => emptySquares(board)[0]),
    { ...options, greedy: false },
  );
  expect(legal.report.faults.choice).toBeCloseTo(1 - legal.report.rates.optimal!.mean, 12);
});

test("a task without a reward is answered all the same, and has no reward", async () => {
  const task: Task = {
    ...(numberTask as Task),
    rewardParts: [],
    start: () => {
      throw new Error("there is nothing to score with");
    },
  };
  const { report, items } = await evaluateTask(
    task,
    textPolicy(() => "four"),
    { ...options, greedy: false },
  );
  expect(report).toMatchObject({
    reward: null,
    reward_given_allowed: null,
    response_length: { mean: 4 },
    most_chosen: null,
  });
  expect(items[0]).toMatchObject({ reward: null, failure: null, turns: [{ text: "four" }] });
});

test("rows whose prompt leaves no room are counted and left out; when none is left that is an error", async () => {
  const short = (most: number): Policy => ({
    ...textPolicy((prompt) => prompt),
    promptRoom: ({ messages }, { maxLength = 99 }) => ({
      tokens: Number(messages[0].content),
      limit: Math.min(most, maxLength) + 1,
    }),
  });
  const settings = { ...options, greedy: false };
  const { report, items } = await evaluateTask(numberTask, short(3), settings);
  expect(report).toMatchObject({ rows: 3, skipped: 1 });
  expect(items.map(({ row_id }) => row_id)).toEqual(["row-1", "row-2", "row-3"]);
  const limited = await evaluateTask(numberTask, short(9), { ...settings, episodes: { maxLength: 2 } });
  expect(limited.report.skipped).toBe(2);
  await expect(evaluateTask(numberTask, short(0), settings)).rejects.toMatchObject({
    code: "prompt-too-long",
    message: expect.stringMatching(/the shortest has \d+ tokens, and prompt and answer together may have 1$/),
  });
  const empty = evaluateTask({ ...numberTask, rows: () => [] }, short(9), settings);
  await expect(empty).rejects.toThrow(/held-out part of task numbers has no rows/);
});
