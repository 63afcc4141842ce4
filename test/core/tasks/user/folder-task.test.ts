import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { usualSettings } from "../../../../core/app/evaluation/evaluate-model.ts";
import type { RunConfigInput } from "../../../../core/contract/config.ts";
import { splits } from "../../../../core/contract/eval.ts";
import type { DataTask, DataTaskRow } from "../../../../core/tasks/user/data-task.ts";
import { openTask } from "../../../../core/tasks/open-task.ts";
import { EnvironmentError, type Task } from "../../../../core/tasks/task.ts";
import { resolveNewRun } from "../../../../core/train/run.ts";
import { newHome } from "../../cli/hone.ts";
import { answer, folderWith } from "./user-files.ts";

const opened: Task[] = [];
afterEach(async () => {
  for (const task of opened.splice(0)) await task.close?.();
});

async function open(files: Record<string, unknown>): Promise<Task<DataTaskRow>> {
  const task = await openTask(folderWith(files));
  opened.push(task);
  return task as unknown as DataTask;
}

const rows = Array.from({ length: 20 }, (_, i) => ({ city: `City ${i}`, land: `Land ${i % 5}`, people: i * 1000 }));
const capital = {
  name: "capitals",
  title: "Capitals",
  rows,
  prompt: [
    { role: "system", content: "Answer with one word." },
    { role: "user", content: "Of which land is {{city}}, with {{people}} people, the capital?" },
  ],
  solution: "{{land}}",
  preference: { chosen: "{{land}}", rejected: "I do not know {{city}}." },
  reward: { parts: [{ type: "exact_match", column: "land" }] },
  failures: { wrong_land: { meaning: "names another land", group: "choice", part: "exact_match", below: 1 } },
  split: { group: "land", seed: 7, held_out: 0.2, validation: 0.2 },
  draw: "{{city}} → {{land}}",
  limits: { tokens: 16 },
};

test("rows, templates, reward, failures, split and drawing of a task file", async () => {
  const task = await open({ "task.json": capital });
  expect(task).toMatchObject({ name: "capitals", title: "Capitals", limits: { turns: 1, tokens: 16, seconds: 120 } });
  expect(task.failures).toEqual({
    truncated: expect.anything(),
    wrong_land: { meaning: "names another land", group: "choice" },
  });
  expect(splits.map((split) => new Set(task.rows(split).map((row) => task.problem(row))).size)).toEqual([3, 1, 1]);
  const row = splits.flatMap((split) => task.rows(split)).find(({ id }) => id === "row-8");
  if (row === undefined) throw new Error("no row 8");
  expect(task.prompt(row)).toEqual([
    { role: "system", content: "Answer with one word." },
    { role: "user", content: "Of which land is City 7, with 7000 people, the capital?" },
  ]);
  expect(task.solution?.(row)).toEqual([{ role: "assistant", content: "Land 2" }]);
  expect(task.preference?.(row)?.rejected).toEqual([{ role: "assistant", content: "I do not know City 7." }]);
  expect(task.draw(row)).toBe("City 7 → Land 2");
  expect(await task.start(row, 1).step(answer("Land 2"))).toMatchObject({ score: { reward: 1 } });
  expect(await task.start(row, 1).step(answer("Land 3"))).toMatchObject({
    score: { reward: 0, info: { failure: "wrong_land" } },
  });
});

test("the tokens of a task folder are a run's starting value, which a flag overrides", () => {
  const folder = folderWith({ "task.json": capital });
  const run = (given: RunConfigInput) => resolveNewRun({ model: "starter", task: folder, ...given });
  expect(run({}).max_completion_length).toBe(16);
  expect(run({ max_completion_length: 9 }).max_completion_length).toBe(9);
  expect(usualSettings("starter", folder).maxTokens).toBe(16);
});

test("what a row says is never a placeholder, and numbers stay numbers in arguments", async () => {
  const task = await open({
    "task.json": {
      name: "calls",
      rows: [{ said: "{{secret}}", secret: "x", order: { number: 7 }, list: [1, "a"] }],
      prompt: "{{said}} {{ order.number }} {{list}}",
      tools: [{ type: "function", function: { name: "look", parameters: { type: "object" } } }],
      tool_choice: "look",
      solution: [
        {
          role: "assistant",
          content: "{{order.number}}",
          tool_calls: [
            { name: "look", arguments: { order: "{{order.number}}", text: "no {{order.number}}", all: "{{list}}" } },
          ],
        },
      ],
    },
  });
  const [row] = task.rows("train");
  expect(task.prompt(row)).toEqual([{ role: "user", content: '{{secret}} 7 [1,"a"]' }]);
  expect(task.solution?.(row)).toEqual([
    {
      role: "assistant",
      content: "7",
      tool_calls: [{ name: "look", arguments: { order: 7, text: "no 7", all: [1, "a"] } }],
    },
  ]);
  expect(task.toolChoice).toBe("look");
  expect(task.rewardParts).toEqual([]);
});

test("a data file of any columns, a generator script, a script as reward that names a failure", async () => {
  const csv = await open({
    "task.json": { name: "csv", data: "rows.csv", prompt: "{{question}}", solution: "{{reply}}" },
    "rows.csv": "question,reply\nwhat?,that\nwho?,she\n",
  });
  expect(csv.rows("train").map((row) => csv.solution?.(row)?.[0].content)).toEqual(["that", "she"]);

  const made = await open({
    "task.json": {
      name: "made",
      generator: { file: "rows.ts", count: 12, seed: 3 },
      prompt: "{{a}} + {{b}}",
      reward: "reward.ts",
      failures: { too_small: { meaning: "below the sum", group: "choice" } },
    },
    "rows.ts": `export function rows(count: number, seed: number): object[] {
      return Array.from({ length: count }, (_, i) => ({ a: i, b: Math.floor(Math.random() * 1e6), seed }));
    }`,
    "reward.ts": `export default (sample) => {
      const short = sample.row.a + sample.row.b - Number(sample.answer);
      return { parts: { near: short === 0 ? 1 : 0 }, info: short > 0 ? { failure: "too_small" } : {} };
    };`,
  });
  const all = splits.flatMap((split) => made.rows(split));
  expect(all.length).toBe(12);
  expect(new Set(all.map((row) => made.prompt(row)[0].content)).size).toBe(12);
  expect(await made.start(all[0], 1).step(answer("-1"))).toMatchObject({
    score: { reward: 0, info: { failure: "too_small" } },
  });
});

const counter = `
/** Count up to the row's goal with the tool, then say so. */
export function start(row: { goal: number }, seed: number) {
  return { goal: row.goal, count: 0, seed };
}
export function step(state, action) {
  if (state.goal === 99) return { unavailable: "the counter is away" };
  if (action.problems.length > 0) return { state, messages: [{ role: "tool", content: "error: " + action.problems[0].message }], done: false };
  const [call] = action.tool_calls;
  if (call === undefined) return { state, done: true, score: score(state, action.content.includes(String(state.goal))) };
  if (call.name === "boom") throw new Error("boom");
  const count = state.count + call.arguments.by;
  return { state: { ...state, count }, messages: [{ role: "tool", content: \`now \${count}, \${state.seed}\` }], done: false };
}
export function end(state, reason) {
  return { ...score(state, false), failure: "not_said" };
}
export function solve(row) {
  return [{ tool_calls: [{ name: "add", arguments: { by: row.goal } }] }, \`It is \${row.goal}.\`];
}
function score({ count, goal }, said) {
  return { parts: { counted: count === goal ? 1 : 0, said: said ? 1 : 0 }, ...(count !== goal && { failure: "miscounted" }) };
}
`;
const counting = {
  name: "counting",
  rows: [{ goal: 3 }, { goal: 4 }, { goal: 5 }, { goal: 99 }],
  prompt: "Count to {{goal}}.",
  tools: [
    {
      type: "function",
      function: {
        name: "add",
        parameters: { type: "object", properties: { by: { type: "integer" } }, required: ["by"] },
      },
    },
  ],
  limits: { turns: 4, tokens: 50, seconds: 30 },
  environment: "counter.ts",
  parts: { counted: { weight: 0.6, description: "reached the goal" }, said: { weight: 0.4 } },
  reward: { parts: [{ type: "length", unit: "words", max: 4, weight: 0.1 }] },
  failures: {
    miscounted: { meaning: "another count than the goal", group: "state" },
    not_said: { meaning: "never said it", group: "choice" },
  },
};

test("several turns: the script answers, keeps its state, and scores; the reward judges the whole conversation", async () => {
  const task = await open({
    "task.json": { ...counting, rows: counting.rows.slice(0, 3) },
    "counter.ts": counter,
  });
  expect(task.rewardParts.map(({ name, weight }) => [name, weight])).toEqual([
    ["counted", 0.6],
    ["said", 0.4],
    ["length", 0.1],
  ]);
  const row = splits.flatMap((split) => task.rows(split)).find(({ id }) => id === "row-1");
  if (row === undefined) throw new Error("no row 1");
  expect(task.solution?.(row)).toEqual([
    {
      role: "assistant",
      content: "",
      tool_calls: [{ type: "function", function: { name: "add", arguments: { by: 3 } } }],
    },
    { role: "tool", content: "now 3, 0" },
    { role: "assistant", content: "It is 3." },
  ]);
  const add = (by: number) => answer("", { tool_calls: [{ name: "add", arguments: { by } }] });

  const right = task.start(row, 5);
  expect(await right.step(add(2))).toEqual({ done: false, messages: [{ role: "tool", content: "now 2, 5" }] });
  expect(await right.step(add(1))).toMatchObject({ messages: [{ content: "now 3, 5" }] });
  const { score, done } = await right.step(answer("It is 3."));
  expect(done).toBe(true);
  expect(score?.reward).toBeCloseTo(1.1, 10);
  expect(score).toMatchObject({
    parts: { counted: 1, said: 1, length: 1 },
    info: { outcomes: { counted: true, said: true } },
  });
  expect(score?.info.failure).toBeUndefined();

  const wrong = await task.start(row, 5).step(answer("It is 3."));
  expect(wrong.score?.reward).toBeCloseTo(0.5, 10);
  expect(wrong.score?.info.failure).toBe("miscounted");

  const open_ = task.start(row, 5);
  await open_.step(add(3));
  expect(await open_.end("max_turns")).toMatchObject({ parts: { counted: 1, said: 0 }, info: { failure: "not_said" } });

  const malformed = answer("", { problems: [{ code: "malformed", message: "not JSON" }] });
  expect(await task.start(row, 5).step(malformed)).toMatchObject({
    done: false,
    messages: [{ content: "error: not JSON" }],
  });
  expect(await task.start(row, 5).step({ ...add(3), stopReason: "length" })).toMatchObject({
    done: true,
    score: { parts: { counted: 0 } },
  });
});

test("an environment that is away counts for nothing; one that throws is told with its line", async () => {
  const { parts: _, failures: __, ...plain } = counting;
  const task = await open({
    "task.json": { ...plain, rows: [{ goal: 99 }, { goal: 1 }] },
    "counter.ts": counter.replaceAll("export function solve", "function unused"),
  });
  const row = (goal: number) =>
    splits.flatMap((split) => task.rows(split)).find((one) => task.prompt(one)[0].content === `Count to ${goal}.`);
  const [away, here] = [row(99), row(1)];
  if (away === undefined || here === undefined) throw new Error("no such rows");
  expect("solution" in task).toBe(false);
  await expect(task.start(away, 1).step(answer("hello"))).rejects.toThrow(EnvironmentError);
  const boom = answer("", { tool_calls: [{ name: "boom", arguments: {} }] });
  await expect(task.start(here, 1).step(boom)).rejects.toMatchObject({
    code: "bad-task",
    message: expect.stringMatching(/counter\.ts:11:\d+: Error: boom/),
  });
  // The task declares no parts, and the script scores with some.
  await expect(task.start(here, 1).step(answer("1"))).rejects.toMatchObject({
    message: expect.stringContaining('the score has a part "counted"'),
    fix: expect.stringContaining("parts in task.json"),
  });
});

test("a task is found by its path, by its file, and by its name in the library or beside the caller", async () => {
  const folder = folderWith({ "task.json": capital });
  const home = newHome();
  mkdirSync(join(home, "tasks"));
  cpSync(folder, join(home, "tasks", "shared"), { recursive: true });
  const before = process.env["HONE_HOME"];
  process.env["HONE_HOME"] = home;
  try {
    for (const reference of [folder, join(folder, "task.json"), "shared"]) {
      const task = await openTask(reference);
      expect(task.name).toBe("capitals");
      await task.close?.();
    }
    await expect(openTask("share")).rejects.toMatchObject({
      code: "unknown-task",
      fix: expect.stringMatching(/did you mean "shared"\?.*tic-tac-toe.*task folder.*data file/),
    });
    await expect(openTask("tic-tac-to")).rejects.toMatchObject({ fix: expect.stringContaining('"tic-tac-toe"') });
    await expect(openTask("tic-tac-toe", { reward: "r.json" })).rejects.toMatchObject({ code: "no-such-file" });
    await expect(openTask(folder, { map: { prompt: "x" } })).rejects.toMatchObject({ code: "usage" });
    await expect(openTask(folder, { group: ["x"] })).rejects.toMatchObject({ code: "usage" });
  } finally {
    if (before === undefined) delete process.env["HONE_HOME"];
    else process.env["HONE_HOME"] = before;
  }
});

const { environment: _, parts: __, failures: ___, ...oneTurn } = counting;
test.each<[string, Record<string, unknown>, RegExp, RegExp?]>([
  ["no JSON", { "task.json": "{" }, /task\.json: it is not JSON/],
  ["an unknown key", { "task.json": { ...capital, promt: "x" } }, /there is no key "promt"/, /did you mean "prompt"/],
  ["an unknown key further in", { "task.json": { ...capital, limits: { turn: 1 } } }, /limits: there is no key "turn"/],
  ["a bad name", { "task.json": { ...capital, name: "My Task" } }, /name: a name has small letters/],
  ["no rows", { "task.json": { ...capital, rows: undefined } }, /it has no rows/, /exactly one of data/],
  ["two kinds of rows", { "task.json": { ...capital, data: "x.csv" } }, /data and rows both give rows/],
  [
    "a missing data file",
    { "task.json": { ...capital, rows: undefined, data: "x.csv" } },
    /data: there is no file .*x\.csv/,
  ],
  [
    "a missing column",
    { "task.json": { ...capital, prompt: "{{citi}}" } },
    /row row-1 has no column "citi"/,
    /did you mean \{\{city\}\}/,
  ],
  [
    "a missing reward",
    { "task.json": { ...capital, reward: "r.json" } },
    /reward: there is no file/,
    /relative to the task/,
  ],
  ["a bad reward", { "task.json": { ...capital, reward: { parts: [{ type: "exact" }] } } }, /there is no type "exact"/],
  [
    "a failure of no part",
    { "task.json": { ...capital, failures: { a: { meaning: "m", group: "call", part: "b" } } } },
    /failures\.a: there is no part "b"/,
    /parts are exact_match/,
  ],
  [
    "a bad group",
    { "task.json": { ...capital, failures: { a: { meaning: "m", group: "bad" } } } },
    /failures\.a\.group/,
  ],
  ["an unknown group column", { "task.json": { ...capital, split: { group: "country" } } }, /no column "country"/],
  ["an unknown tool", { "task.json": { ...capital, tool_choice: "x" } }, /tool_choice: there is no tool "x"/],
  ["turns without an environment", { "task.json": oneTurn }, /several turns need an environment/],
  [
    "parts without an environment",
    { "task.json": { ...capital, parts: { a: {} } } },
    /parts are those of an environment/,
  ],
  ["no environment file", { "task.json": counting }, /environment: there is no file/],
  [
    "an environment without step",
    { "task.json": counting, "counter.ts": "export const start = () => 1;" },
    /has no function step/,
    /export function step/,
  ],
  [
    "an environment that does not load",
    { "task.json": counting, "counter.ts": "export function start( {" },
    /counter\.ts/,
  ],
  [
    "an environment that imports",
    { "task.json": counting, "counter.ts": 'import "node:fs";\nexport function start() {} export function step() {}' },
    /cannot import node:fs|cannot import/,
  ],
  [
    "a part that is named twice",
    { "task.json": { ...counting, parts: { length: {} } }, "counter.ts": counter },
    /the part "length" is the environment's and the reward's/,
  ],
  [
    "a solve that returns nonsense",
    { "task.json": counting, "counter.ts": counter.replace("return [{ tool_calls", "return 7; [{ tool_calls") },
    /solve returned something else/,
    /list of answers/,
  ],
  [
    "a generator without rows",
    {
      "task.json": { ...capital, rows: undefined, generator: { file: "g.js", count: 2 } },
      "g.js": "export const row = 1;",
    },
    /has no function rows/,
  ],
  [
    "a generator of too few",
    {
      "task.json": { ...capital, rows: undefined, generator: { file: "g.js", count: 2 } },
      "g.js": "export const rows = () => [{}];",
    },
    /rows\(2, 0\) returned 1 values, not 2 objects/,
  ],
])("%s is refused", async (_, files, message, fix) => {
  await expect(openTask(folderWith(files))).rejects.toMatchObject({
    name: "HoneError",
    message: expect.stringMatching(message),
    ...(fix !== undefined && { fix: expect.stringMatching(fix) }),
  });
});

test.each<[string, Record<string, unknown>, string]>([
  ["a wrong type", { title: 5 }, "title: it must be text, not 5"],
  ["a wrong type inside", { limits: { tokens: "many" } }, 'limits.tokens: it must be a number, not "many"'],
  ["no whole number", { limits: { turns: 1.5 } }, "limits.turns: it must be a whole number, not 1.5"],
  ["too small", { limits: { tokens: 0 } }, "limits.tokens: it must be at least 1, not 0"],
  ["too large", { split: { seed: 1, held_out: 2 } }, "split.held_out: it must be "],
  ["an empty text", { title: "" }, "title: it must not be empty"],
  ["a list of another kind", { rows: "x" }, 'rows: it must be a list, not "x"'],
  ["another group", { failures: { a: { meaning: "b", group: "c" } } }, "failures.a.group: it must be "],
  ["a key missing", { name: undefined }, "name: it is missing"],
])("%s in a task file is told with field and way out", async (_, wrong, message) => {
  await expect(open({ "task.json": { ...capital, ...wrong } })).rejects.toMatchObject({
    message: expect.stringContaining(`task.json: ${message}`) as string,
    fix: "examples/tasks/README.md explains every key",
  });
});
