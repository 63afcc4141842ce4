/** Should I train?: every way in which one of the five conditions can come out, and where to begin. */

import { expect, test } from "vitest";
import type { AdviceVerdict } from "../../../core/contract/advice.ts";
import type { EvalItem } from "../../../core/contract/eval.ts";
import type { TaskCheck } from "../../../core/contract/task.ts";
import { conditionsOf, methodOf, verdictOf, type AdviceEvidence } from "../../../core/evaluate/advice.ts";
import { baselineOf, type Baseline } from "../../../core/evaluate/baseline.ts";
import { unseenFacts } from "../../../core/evaluate/unseen-facts.ts";
import { businessProcess } from "../../../core/tasks/business-process/business-process.ts";
import type { Task } from "../../../core/tasks/task.ts";
import { numberTask, type NumberRow } from "./number-task.ts";

const check: TaskCheck = {
  task: "t",
  ok: true,
  rows: { train: 500, validation: 50, "held-out": 100 },
  problems: 200,
  methods: ["sft", "dpo", "rl"],
  reward_parts: [{ name: "right", weight: 1, description: "", least: 0, greatest: 1 }],
  rewards: { solution: 1, rejected: 0, empty: 0, mutated: 0.1 },
  prompt_length: { unit: "characters", mean: 100, max: 200 },
  findings: [],
};

const baseline: Baseline = {
  rows: 32,
  samples: 4,
  error_rate: 0.7,
  greedy_error_rate: 0.6,
  same_error_rate: 0.8,
  top_error: { name: "no_call", share: 0.5 },
  faults: { call: 0.5, rules: 0.2, state: 0, choice: 0 },
  mean_reward: 0.3,
  lowest_reward: 0,
  highest_reward: 1,
  mixed_groups: 0.5,
  some_success: 0.5,
};

const good: AdviceEvidence = {
  check,
  judgedByModel: 0,
  trainProblems: 120,
  facts: { rows: 100, facts: 400, share: 0.05, examples: ["42"] },
  baseline,
};

function judge(change: Partial<AdviceEvidence>, name: string) {
  const found = conditionsOf({ ...good, ...change }).find((one) => one.name === name);
  if (found === undefined) throw new Error(name);
  return found;
}

test("when all five hold, training is the right tool", () => {
  const conditions = conditionsOf(good);
  expect(conditions.map(({ verdict }) => verdict)).toEqual(["yes", "yes", "yes", "yes", "yes"]);
  expect(conditions.every(({ why, instead }) => why !== "" && instead === null)).toBe(true);
  expect(verdictOf(conditions).verdict).toBe("train");
});

const withCheck = (change: Partial<TaskCheck>) => ({ check: { ...check, ...change } });
const withBaseline = (change: Partial<Baseline>) => ({ baseline: { ...baseline, ...change } });
const constant = {
  code: "constant-reward",
  severity: "error" as const,
  message: "every answer earns 1",
  fix: "mend it",
};

test.each<[string, Partial<AdviceEvidence>, string, AdviceVerdict, RegExp]>([
  ["a constant reward", withCheck({ findings: [constant] }), "rules", "no", /every answer earns 1.*mend it/s],
  [
    "no right answers to try",
    withCheck({ rewards: { ...check.rewards, solution: null } }),
    "rules",
    "yes",
    /hone reward try/,
  ],
  ["no reward", withCheck({ methods: ["sft"], reward_parts: [] }), "rules", "unclear", /write down/],
  ["hardly an error", withBaseline({ error_rate: 0.02, greedy_error_rate: 0 }), "reproducible", "no", /as it is/],
  ["errors by sampling only", withBaseline({ greedy_error_rate: 0.01 }), "reproducible", "no", /temperature/],
  ["errors that scatter", withBaseline({ same_error_rate: 0.2 }), "reproducible", "unclear", /scatter/],
  ["no model", { baseline: undefined }, "reproducible", "unclear", /--model/],
  ["only a model judges", { judgedByModel: 1 }, "judged", "unclear", /another model/],
  ["only pairs", withCheck({ methods: ["dpo"], reward_parts: [] }), "judged", "yes", /Persons/],
  ["nothing judges", withCheck({ methods: [], reward_parts: [] }), "judged", "no", /reward new/],
  ["five rows", withCheck({ rows: { train: 5, validation: 0, "held-out": 0 } }), "recurs", "no", /into the prompt/],
  ["few problems", { trainProblems: 4 }, "recurs", "unclear", /collect more/],
  ["nothing held out", withCheck({ rows: { ...check.rows, "held-out": 0 } }), "recurs", "unclear", /hard to prove/],
  ["facts that nobody shows", { facts: { ...good.facts!, share: 0.8 } }, "behaviour", "no", /80 %.*retrieval/s],
  ["some unseen facts", { facts: { ...good.facts!, share: 0.3 } }, "behaviour", "unclear", /retrieval/],
  ["no right answers", { facts: undefined }, "behaviour", "unclear", /careful person/],
])("%s", (_, change, name, verdict, says) => {
  const found = judge(change, name);
  expect(found.verdict).toBe(verdict);
  expect(`${found.why} ${found.instead ?? ""}`).toMatch(says);
  const overall = verdictOf(conditionsOf({ ...good, ...change }));
  if (verdict === "no") expect(overall.verdict).toBe("do_not_train");
  if (verdict === "unclear") expect(overall.verdict).toBe("not_yet");
  if (verdict !== "yes") expect(overall.sentence).toContain(found.question);
});

test.each<[string, Partial<AdviceEvidence>, string | undefined, RegExp]>([
  ["groups that differ", {}, "gspo", /50 % of 32 rows/],
  [
    "the reward is always zero",
    withBaseline({ mixed_groups: 0, some_success: 0 }),
    "sft",
    /Imitate right answers first/,
  ],
  [
    "… and nothing to imitate",
    { ...withCheck({ methods: ["rl"] }), ...withBaseline({ mixed_groups: 0, some_success: 0 }) },
    "gspo",
    /easier/,
  ],
  ["only preferences", withCheck({ methods: ["dpo"] }), "dpo", /pairs/],
  ["right answers and pairs, no reward", withCheck({ methods: ["sft", "dpo"] }), "sft", /then DPO/],
  ["a reward and no baseline", { ...withCheck({ methods: ["rl"] }), baseline: undefined }, "gspo", /--model/],
  ["nothing", withCheck({ methods: [] }), undefined, /undefined/],
])("where to begin with %s", (_, change, name, why) => {
  const method = methodOf({ ...good, ...change });
  expect(method?.name).toBe(name);
  expect(String(method?.why)).toMatch(why);
});

function item(
  row: string,
  pass: EvalItem["pass"],
  reward: number | null,
  failure: string | null,
  sample = 0,
): EvalItem {
  return {
    ...{ pass, row_id: row, problem: row, sample, seed: 0, turns: [], stop_reason: "eos", reward, reward_parts: {} },
    ...{
      outcomes: {},
      failure,
      fault: failure === null ? null : "call",
      choice: null,
      problem_choice: null,
      invalid: null,
    },
  };
}

test("a baseline counts errors, whether they come back, and groups that differ", () => {
  const measured = baselineOf(
    [
      item("a", "greedy", 0, "no_call"),
      item("a", "sampled", 0, "no_call"),
      item("a", "sampled", 0, "wrong_tool", 1),
      item("b", "greedy", 1, null),
      item("b", "sampled", 1, null),
      item("b", "sampled", 0, "no_call", 1),
    ],
    1,
  );
  expect(measured).toMatchObject({
    rows: 2,
    samples: 2,
    error_rate: 0.75,
    greedy_error_rate: 0.5,
    same_error_rate: 0.5,
    top_error: { name: "no_call", share: 0.5 },
    faults: { call: 0.75, choice: 0 },
    mean_reward: 0.25,
    mixed_groups: 0.5,
    some_success: 0.5,
  });
  expect(baselineOf([item("a", "sampled", null, null)], 1)).toBeUndefined();
});

test("without failure kinds an answer that earns less than a right one is an error", () => {
  const rewards = [0.2, 0.2].map((reward, sample) => item("a", "sampled", reward, null, sample));
  expect(baselineOf([item("a", "greedy", 0.2, null), ...rewards], 1)).toMatchObject({
    error_rate: 1,
    same_error_rate: 1,
    mixed_groups: 0,
  });
  expect(baselineOf(rewards, null)).toMatchObject({ error_rate: 0, same_error_rate: null });
});

/** A task whose prompt and answer are given per row. */
function asking(pairs: [prompt: string, answer: string][]): Task {
  const rows = pairs.map((_, i) => ({ id: String(i), digit: i }));
  return {
    ...numberTask,
    rows: () => rows,
    problem: ({ digit }: NumberRow) => String(digit),
    prompt: ({ digit }: NumberRow) => [{ role: "user", content: pairs[digit][0] }],
    solution: ({ digit }: NumberRow) => [{ role: "assistant", content: pairs[digit][1] }],
  };
}

const facts = (task: Task) => unseenFacts(task, task.rows("train"));

test("answers that repeat what the prompt shows are behaviour; those that add facts are knowledge", () => {
  const names = ["Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir"];
  const copied = asking(
    names.map((name, i) => [`Order ${700 + i} for Mr ${name}`, `{"number": ${700 + i}, "customer": "${name}"}`]),
  );
  expect(facts(copied)?.share).toBe(0);
  const recalled = asking(names.map((name, i) => [`Who won in the year before?`, `It was ${name} in ${1950 + i}.`]));
  expect(facts(recalled)).toMatchObject({ share: 1, facts: 12 });
  expect(facts(recalled)?.examples).toContain("1950");
});

test("words that come back in many answers are form", () => {
  const polite = asking(
    Array.from({ length: 12 }, (_, i) => [`Row ${i}`, `Certainly! Respectfully yours, Department ${i}`]),
  );
  expect(facts(polite)?.share).toBe(0);
});

test("what tools say is shown to the model; a task without right answers cannot be judged", () => {
  expect(unseenFacts(businessProcess as Task, businessProcess.rows("train").slice(0, 40))?.share).toBeLessThan(0.1);
  const without: Task = { ...numberTask };
  delete without.solution;
  expect(facts(without)).toBeUndefined();
});
