/** What a person reads of an evaluation, and what a program does. */

import { expect, test } from "vitest";
import { demoVerdict } from "../../../../core/app/demo/demo-verdict.ts";
import { evalOutput } from "../../../../core/app/evaluation/eval-output.ts";
import {
  controlTable,
  evaluationHeading,
  failureSentence,
  failureTable,
  likelihoodTable,
  measureTable,
  referenceText,
} from "../../../../core/app/evaluation/evaluation-text.ts";
import { transcript } from "../../../../core/app/demo/sample-answers.ts";
import { evenly } from "../../../../core/contract/numbers.ts";
import { evalOutputSchema, type EvalItem, type EvalReport } from "../../../../core/contract/eval.ts";
import { evaluateTask } from "../../../../core/evaluate/evaluate-task.ts";
import { ticTacToe } from "../../../../core/tasks/tic-tac-toe/tic-tac-toe.ts";
import { fakePolicy } from "../../evaluate/fake-policy.ts";
import { numberTask } from "../../evaluate/number-task.ts";
import { textPolicy } from "../../evaluate/text-policy.ts";

const options = { model: "fake", seed: 1, splitSeed: 2026, greedy: false, games: false } as const;
const numbers = async (say: (prompt: string) => string) =>
  (await evaluateTask(numberTask, textPolicy(say), options)).report;

test("tables use the task's own words, and none of another task", async () => {
  const report = await numbers((prompt) => (prompt === "1" ? "1" : "hm"));
  const text = JSON.stringify([
    measureTable([{ label: "now", report }], "sampled"),
    failureTable([{ label: "now", report }]),
  ]);
  expect(text).toContain('["right digits","25.0 % [0.0, 50.0]"]');
  expect(text).toContain("no_digit: no digit at all");
  expect(text).toContain('["wrong call","75.0 %"]');
  expect(text).not.toMatch(/board|legal|square|mirror|turns|thinking|wrong: another digit/);
  expect(evaluationHeading(report)).toMatch(/4 rows of 2 problems/);
  expect(referenceText(report)).toBeUndefined();
  expect(likelihoodTable([{ label: "now", report }])).toEqual([]);
  expect(controlTable([{ label: "now", report }])).toEqual([]);
});

test("tic-tac-toe keeps its words and, for programs, its fields", async () => {
  const rows = ticTacToe.rows("held-out").slice(0, 40);
  const { report } = await evaluateTask(
    ticTacToe,
    fakePolicy(() => 5),
    { ...options, rows, greedy: true },
  );
  expect(evaluationHeading(report)).toContain("40 boards");
  expect(referenceText(report)).toMatch(/^on these boards: random legal play 0\.\d{3} · best possible/);
  const output = evalOutputSchema.parse(JSON.parse(JSON.stringify(evalOutput(report))));
  expect(output.boards).toBe(40);
  expect(output.legal_rate).toEqual(report.rates["legal"]);
  expect(output.immediate_win_rate).toEqual(report.rates["immediate_win"]);
  expect(output.threat_block_rate).toEqual(report.rates["threat_block"]);
  expect(output.optimal_rate).toEqual(report.rates["optimal"]);
  expect(output.reward_given_legal).toEqual(report.reward_given_allowed);
  expect(output.greedy?.legal_rate).toEqual(report.greedy?.rates["legal"]);
});

test("another task's rates stand under their own names, and its rows are no boards", async () => {
  const output = evalOutput(await numbers((prompt) => prompt));
  expect(output["right_rate"]).toEqual({ mean: 1, lo: 1, hi: 1 });
  expect(output.rows).toBe(4);
  expect(output).not.toHaveProperty("boards");
  expect(output).not.toHaveProperty("reward_given_legal");
});

test("what the errors say is one sentence about the most frequent kind", () => {
  const faults = (change: Partial<EvalReport["faults"]>) => ({
    faults: { call: 0, rules: 0, state: 0, choice: 0, ...change },
  });
  expect(failureSentence(faults({ call: 0.62, choice: 0.1 }))).toMatch(
    /^62 % of answers fail already at the form of the call/,
  );
  expect(failureSentence(faults({ rules: 0.5 }))).toMatch(/^50 % .*rules are misread/);
  expect(failureSentence(faults({ state: 0.5 }))).toMatch(/^50 % .*state is misread/);
  expect(failureSentence(faults({ choice: 0.5, state: 0.1 }))).toMatch(/^50 % .*judgement/);
  expect(failureSentence(faults({}))).toBe("No answer had an error.");
});

const flat = (mean: number) => ({ mean, lo: mean, hi: mean });
const change = {
  ...{ reward: null, reward_by_problem: null, rates: {}, response_length: flat(0), solution_loss: null },
  ...{ preference_accuracy: null, control: null },
};

test("the verdict is about what was measured", async () => {
  const report = { report: await numbers((prompt) => prompt) };
  const first = (more: object) => demoVerdict(report, report, { ...change, ...more })[0];
  expect(first({ reward: flat(0.1) })).toMatch(/better on rows it has never seen/);
  expect(first({ reward: flat(-0.1) })).toMatch(/worse on held-out rows/);
  expect(first({ reward: { mean: 0.1, lo: -0.1, hi: 0.3 } })).toMatch(/cannot be told from 0/);
  expect(first({ solution_loss: flat(-0.1) })).toMatch(/more likely to it than before/);
  expect(first({ solution_loss: flat(0.1) })).toMatch(/less likely/);
  expect(first({ solution_loss: { mean: 0, lo: -1, hi: 1 } })).toMatch(/not changed beyond doubt/);
  expect(first({ preference_accuracy: { mean: 0, lo: -0.1, hi: 0.1 } })).toMatch(/cannot be told from 0/);
  expect(first({})).toBeUndefined();
});

test("answers that shrink without a gain in reward are pointed at", async () => {
  const [long, short] = [
    { report: await numbers(() => "a long answer without end") },
    { report: await numbers(() => "a") },
  ];
  const says = (more: object) => demoVerdict(long, short, { ...change, ...more }).join(" ");
  expect(says({ preference_accuracy: flat(0.4) })).toMatch(/less than half as long/);
  expect(says({ preference_accuracy: flat(0.4), reward: flat(0) })).toMatch(/less than half as long/);
  expect(says({ reward: flat(0.5) })).not.toMatch(/half as long/);
});

test("samples are evenly spaced, and a transcript shows what was said on both sides", () => {
  expect(evenly([0, 1, 2, 3, 4, 5, 6, 7], 4)).toEqual([0, 2, 4, 6]);
  expect(evenly([1, 2], 8)).toEqual([1, 2]);
  const turn = { prompt_length: 1, tokens: [], logprobs: [], stop_reason: "eos", thinking_tokens: null };
  const turns = [
    { ...turn, text: "call 5", replies: [{ role: "tool", text: "lower" }] },
    { ...turn, text: "call 4", replies: [] },
  ];
  expect(transcript({ turns, invalid: "away" } as unknown as EvalItem)).toBe(
    "call 5\n[tool] lower\ncall 4\n[the environment failed: away]",
  );
});
