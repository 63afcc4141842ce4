import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { messageText } from "../../../../core/contract/chat.ts";
import { taskCheckOutputSchema, type TaskCheck } from "../../../../core/contract/task.ts";
import { checkTask, type CheckTaskOptions } from "../../../../core/tasks/check/check-task.ts";
import { openTask, type OpenTaskOptions } from "../../../../core/tasks/open-task.ts";
import { tasks } from "../../../../core/tasks/tasks.ts";
import type { Episode, Score, Task, TaskRow } from "../../../../core/tasks/task.ts";
import { folderWith } from "../user/user-files.ts";

const examples = fileURLToPath(new URL("../../../../examples/tasks", import.meta.url));

async function check(path: string, options: OpenTaskOptions = {}, how: CheckTaskOptions = {}): Promise<TaskCheck> {
  const task = await openTask(path, options);
  try {
    return taskCheckOutputSchema.parse(await checkTask(task, how));
  } finally {
    await task.close?.();
  }
}

/** `error code` of every finding. */
function codes({ findings }: TaskCheck): string[] {
  return findings.map(({ severity, code }) => `${severity} ${code}`);
}

function finding({ findings }: TaskCheck, code: string): string {
  const found = findings.find((one) => one.code === code);
  return found === undefined ? "" : `${found.message} → ${found.fix}`;
}

test.each(tasks.map((task) => [task.name, task] as const))("%s has no error", async (_, task) => {
  const report = taskCheckOutputSchema.parse(await checkTask(task, { tried: 20 }));
  expect(report.ok, JSON.stringify(report.findings, null, 1)).toBe(true);
  const { solution, empty, mutated } = report.rewards;
  for (const other of [empty, mutated]) expect(Number(other)).toBeLessThan(Number(solution));
});

test.each(readdirSync(examples).filter((name) => !name.includes(".")))(
  "the example %s has no finding but notes",
  async (name) => {
    const report = await check(join(examples, name), {}, { tried: 20 });
    expect(codes(report).filter((code) => !code.startsWith("note"))).toEqual([]);
    expect(report.methods).toContain("sft");
    expect(report.methods).toContain("rl");
    expect(report.rewards.empty).toBe(0);
  },
);

const rows = Array.from({ length: 200 }, (_, i) => ({
  prompt: `What is ${i} and 1?`,
  completion: String(i + 1),
  answer: i + 1,
}));
const exact = { parts: [{ type: "exact_match" }] };

function files(reward: unknown, more: Record<string, unknown> = {}): string {
  return folderWith({ "rows.jsonl": rows, "reward.json": reward, ...more });
}

test("a sound data file", async () => {
  const folder = files(exact);
  const report = await check(join(folder, "rows.jsonl"), { reward: join(folder, "reward.json") });
  expect(codes(report)).toEqual([]);
  expect(report).toMatchObject({
    task: "rows",
    ok: true,
    rows: { train: 160, validation: 20, "held-out": 20 },
    problems: 200,
    methods: ["sft", "rl"],
    reward_parts: [{ name: "exact_match", weight: 1, least: 0, greatest: 1 }],
    rewards: { solution: 1, rejected: null, empty: 0 },
    prompt_length: { unit: "characters" },
  });
});

test.each<[string, unknown, string, RegExp]>([
  [
    "a constant reward",
    { parts: [{ type: "regex", pattern: "" + ".*" }] },
    "error constant-reward",
    /every answer that was tried earns 1/,
  ],
  [
    "a constant part",
    { parts: [{ type: "exact_match" }, { type: "regex", pattern: ".*", name: "any" }] },
    "warning constant-part",
    /the part any was 1 for every answer/,
  ],
  [
    "a reward that pays something else more than the solution",
    { parts: [{ type: "length", unit: "characters", min: 5, max: 50 }] },
    "error solution-not-best",
    /on row .* earns 1, the solution 0/,
  ],
  [
    "a reward that pays silence",
    {
      parts: [
        { type: "length", unit: "characters", max: 4, weight: 1 },
        { type: "exact_match", weight: 0.2 },
      ],
    },
    "warning empty-pays",
    /empty answers earn 1 on average/,
  ],
  [
    "a reward that fails",
    { parts: [{ type: "exact_match", column: "reply" }] },
    "error reward-fails",
    /has no column "reply"/,
  ],
])("%s", async (_, reward, code, message) => {
  const folder = files(reward);
  const report = await check(join(folder, "rows.jsonl"), { reward: join(folder, "reward.json") });
  expect(codes(report)).toContain(code);
  expect(finding(report, code.split(" ")[1])).toMatch(message);
  expect(report.ok).toBe(!code.startsWith("error"));
});

test("leaks between given parts: the same prompt, and one that differs by its punctuation", async () => {
  const shared = folderWith({ "train.jsonl": rows.slice(0, 60), "test.jsonl": rows.slice(58, 80) });
  const report = await check(shared);
  expect(codes(report)).toEqual(expect.arrayContaining(["error shared-problem", "error shared-prompt"]));
  expect(finding(report, "shared-prompt")).toMatch(
    /^2 rows of the held-out part have the same prompts as rows of the (train|validation) part, such as validation|held-out-1/,
  );
  const near = folderWith({
    "train.jsonl": rows.slice(0, 60),
    "test.jsonl": rows.slice(60, 80).concat({ ...rows[0], prompt: "what is 0 AND 1" }),
  });
  expect(codes(await check(near))).toContain("warning near-prompt");
});

test("too few rows, an empty part, a task without feedback, rows that were set aside", async () => {
  const few = await check(join(folderWith({ "few.jsonl": [...rows.slice(0, 2), { prompt: 7 }] }), "few.jsonl"));
  expect(codes(few)).toEqual(
    expect.arrayContaining(["warning few-rows", "warning empty-part", "warning set-aside", "note no-reward"]),
  );
  expect(finding(few, "set-aside")).toContain("on line 3");
  const prompts = await check(join(folderWith({ "p.jsonl": rows.map(({ prompt }) => ({ prompt })) }), "p.jsonl"));
  expect(codes(prompts)).toContain("error no-feedback");
  expect(prompts).toMatchObject({ ok: false, methods: [] });
});

test("long prompts, by characters and by a model's tokens", async () => {
  const long = { prompt: "word ".repeat(3000), completion: "x" };
  const path = join(folderWith({ "rows.jsonl": [...rows, long] }), "rows.jsonl");
  expect(finding(await check(path), "long-prompt")).toMatch(/row-201 has about \d+ tokens, and 2048 are the limit/);
  const counted = await check(path, {}, { promptTokens: (messages) => messageText(messages[0]).length / 5 });
  expect(codes(counted)).toContain("error long-prompt");
  expect(counted.prompt_length).toMatchObject({ unit: "tokens", max: 3000 });
  const small = await check(join(files(exact), "rows.jsonl"), {}, { promptTokens: () => 10, contextLength: 256 });
  expect(codes(small)).toContain("warning little-room");
});

test("a rejected answer that earns as much", async () => {
  const pairs = rows.map(({ prompt, completion }) => ({ prompt, chosen: completion, rejected: ` ${completion}` }));
  const folder = folderWith({
    "rows.jsonl": pairs.map((row, i) => ({ ...row, answer: i + 1 })),
    "reward.json": exact,
  });
  const report = await check(join(folder, "rows.jsonl"), { reward: join(folder, "reward.json") });
  expect(codes(report)).toContain("warning rejected-not-worse");
});

/** A task of several turns whose solution says "done". */
function turns(over: Partial<Task>): Task {
  const made: TaskRow[] = Array.from({ length: 120 }, (_, i) => ({ id: `r${i}` }));
  const score = (said: boolean): Score => ({
    reward: said ? 1 : 0,
    parts: { said: said ? 1 : 0 },
    info: { outcomes: {} },
  });
  return {
    name: "turns",
    title: "",
    description: "",
    tools: [],
    rewardParts: [{ name: "said", weight: 1, description: "" }],
    failures: {},
    outcomes: {},
    limits: { turns: 3, tokens: 10, seconds: 1 },
    rows: (split) =>
      split === "train" ? made.slice(0, 80) : split === "validation" ? made.slice(80, 100) : made.slice(100),
    parseRow: (value) => value as TaskRow,
    problem: ({ id }) => id,
    prompt: ({ id }) => [{ role: "user", content: `Say done, ${id}.` }],
    start: (): Episode => ({
      step: ({ parsed }) =>
        parsed.content === "done" ? { messages: [], done: true, score: score(true) } : { messages: [], done: false },
      end: () => score(false),
    }),
    solution: () => [{ role: "assistant", content: "done" }],
    reference: () => ({}),
    draw: () => "",
    ...over,
  };
}

test("several turns: a sound one, one that never ends, one whose solution does not end it", async () => {
  expect(codes(await checkTask(turns({})))).toEqual(["note idle-goes-on"]);
  const endless = turns({
    start: () => {
      let said = 0;
      const score = (): Score => ({ reward: said, parts: { said }, info: { outcomes: {} } });
      return {
        step: ({ parsed }) => {
          said = parsed.content === "done" ? 1 : said;
          return { messages: [], done: false };
        },
        end: score,
      };
    },
  });
  expect(codes(await checkTask(endless))).toEqual(["error solution-does-not-end", "error never-ends"]);
});

test("what is not the same twice: an episode, the rows, a prompt", async () => {
  let calls = 0;
  const episode = turns({
    start: () => ({
      step: () => ({
        messages: [],
        done: true,
        score: { reward: ++calls, parts: { said: 1 }, info: { outcomes: {} } },
      }),
      end: () => ({ reward: 0, parts: {}, info: { outcomes: {} } }),
    }),
  });
  expect(finding(await checkTask(episode), "not-repeatable")).toMatch(
    /played twice with the same seed, ended differently/,
  );
  const shuffled = turns({ rows: (split) => [{ id: `${split}-${calls++}` }] });
  expect(finding(await checkTask(shuffled), "not-repeatable")).toMatch(/the train part is another one/);
  const prompt = turns({ prompt: () => [{ role: "user", content: `${calls++}` }] });
  expect(finding(await checkTask(prompt), "not-repeatable")).toMatch(/the prompt of row r0/);
});

test("a failure that the task does not declare", async () => {
  const task = turns({
    start: () => ({
      step: ({ parsed }) => {
        const said = Number(parsed.content === "done");
        return {
          messages: [],
          done: true,
          score: { reward: said, parts: { said }, info: { failure: "odd", outcomes: {} } },
        };
      },
      end: () => ({ reward: 0, parts: {}, info: { outcomes: {} } }),
    }),
    failures: { silent: { meaning: "says nothing", group: "call" } },
  });
  const report = await checkTask(task);
  expect(finding(report, "unknown-failure")).toMatch(/"odd" is none that the task declares/);
  expect(finding(report, "unused-failures")).toMatch(/silent/);
});
