import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { messageText } from "../../../../core/contract/chat.ts";
import { splits } from "../../../../core/contract/eval.ts";
import { createDataset } from "../../../../core/data/dataset.ts";
import { openData } from "../../../../core/data/open-data.ts";
import { dataTask, type DataTask, type DataTaskRow } from "../../../../core/tasks/user/data-task.ts";
import { openTask, type OpenTaskOptions } from "../../../../core/tasks/open-task.ts";
import { rowsFor, type RowUse, type Task } from "../../../../core/tasks/task.ts";
import { answer, folderWith } from "./user-files.ts";

const opened: Task[] = [];
afterEach(async () => {
  for (const task of opened.splice(0)) await task.close?.();
});

async function open(path: string, options?: OpenTaskOptions): Promise<Task<DataTaskRow>> {
  const task = await openTask(path, options);
  opened.push(task);
  return task as unknown as DataTask;
}

const sums = Array.from({ length: 60 }, (_, i) => ({ prompt: `What is ${i} + 1?`, answer: i + 1, topic: `t${i % 6}` }));
const exact = { parts: [{ type: "exact_match" }, { type: "length", unit: "words", max: 3, weight: 0.5 }] };

test("prompts with columns and a reward: scores, parts, failures, outcomes", async () => {
  const folder = folderWith({ "sums.jsonl": sums, "reward.json": exact });
  const task = await open(join(folder, "sums.jsonl"), { reward: join(folder, "reward.json") });
  expect(task).toMatchObject({ name: "sums", limits: { turns: 1 }, tools: [] });
  expect(task.rewardParts.map(({ name, weight }) => [name, weight])).toEqual([
    ["exact_match", 1],
    ["length", 0.5],
  ]);
  expect(Object.keys(task.failures)).toEqual(["truncated", "length", "exact_match"]);
  const [row] = task.rows("train");
  expect(task.prompt(row)).toEqual([{ role: "user", content: expect.stringMatching(/^What is \d+ \+ 1\?$/) }]);
  const right = String(Number(/\d+/.exec(messageText(task.prompt(row)[0]))?.[0]) + 1);

  const score = async (text: string, stop?: "length") => {
    const { score: got } = await task.start(row, 1).step(answer(text, {}, stop));
    return got;
  };
  expect(await score(right)).toMatchObject({
    reward: 1.5,
    parts: { exact_match: 1, length: 1 },
    info: { choice: right, outcomes: { exact_match: true, length: true } },
  });
  expect((await score(right))?.info.failure).toBeUndefined();
  expect(await score("I think it is seven")).toMatchObject({
    info: { failure: "length", outcomes: { length: false } },
  });
  expect(await score("seven")).toMatchObject({ reward: 0.5, info: { failure: "exact_match" } });
  expect(await score(right, "length")).toMatchObject({ info: { failure: "truncated" } });
  expect(await task.start(row, 1).end("timeout")).toMatchObject({ parts: { exact_match: 0 } });
  expect(task.parseRow({ id: row.id })).toEqual(row);
  expect(() => task.parseRow({ id: "elsewhere" })).toThrow('no row "elsewhere"');
});

test("a reward is told which sample of which prompt it sees", async () => {
  const script = "export default ({ prompt_index, sample_index }) => 10 * prompt_index + sample_index;";
  const folder = folderWith({ "sums.jsonl": sums, "place.ts": script });
  const task = await open(join(folder, "sums.jsonl"), { reward: join(folder, "place.ts") });
  const [row] = task.rows("train");
  const step = await task.start(row, 1, { prompt: 3, sample: 2 }).step(answer("x"));
  expect(step.score?.reward).toBe(32);
});

test("without a reward there are no parts, and an answer cannot be scored", async () => {
  const folder = folderWith({ "sums.jsonl": sums });
  const task = await open(join(folder, "sums.jsonl"));
  expect(task.rewardParts).toEqual([]);
  const [row] = task.rows("train");
  await expect(task.start(row, 1).step(answer("1"))).rejects.toMatchObject({
    code: "no-reward",
    fix: expect.stringContaining("--reward FILE"),
  });
});

test("the answer of a completion is a column for the reward", async () => {
  const rows = sums.map(({ prompt, answer: right }) => ({ prompt, completion: String(right) }));
  const reward = { parts: [{ type: "exact_match", column: "completion" }] };
  const folder = folderWith({ "sums.jsonl": rows, "reward.json": reward });
  const task = await open(join(folder, "sums.jsonl"), { reward: join(folder, "reward.json") });
  const [row] = task.rows("train");
  const [solution] = task.solution?.(row) ?? [];
  expect(await task.start(row, 1).step(answer(messageText(solution)))).toMatchObject({ score: { reward: 1 } });
});

test.each([
  ["a completion", { prompt: "Hi", completion: "Hello" }, { solution: [{ role: "assistant", content: "Hello" }] }],
  [
    "a conversation: the last answer is the solution, all of it the example",
    {
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
        { role: "user", content: "c" },
        { role: "assistant", content: "d" },
      ],
    },
    {
      prompt: [{ content: "a" }, { content: "b" }, { content: "c" }],
      solution: [{ role: "assistant", content: "d" }],
      example: { messages: [{ content: "a" }, { content: "b" }, { content: "c" }, { content: "d" }] },
    },
  ],
  [
    "calls: everything behind the user's message is the solution",
    {
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: "", tool_calls: [{ function: { name: "f", arguments: { x: 1 } } }] },
        { role: "tool", content: "7" },
        { role: "assistant", content: "seven" },
      ],
      tools: [{ type: "function", function: { name: "f" } }],
    },
    { prompt: [{ content: "a" }], solution: [{ role: "assistant" }, { role: "tool" }, { content: "seven" }] },
  ],
  [
    "a pair",
    { prompt: "Hi", chosen: "Hello", rejected: "Go away" },
    {
      preference: {
        chosen: [{ role: "assistant", content: "Hello" }],
        rejected: [{ role: "assistant", content: "Go away" }],
      },
    },
  ],
  ["plain text", { text: "Once." }, { prompt: [], example: { text: "Once." } }],
  ["token ids", { tokens: [1, 2], loss_mask: [0, 1] }, { example: { tokens: [1, 2], loss_mask: [0, 1] } }],
])("%s", async (_, record, expected) => {
  const folder = folderWith({ "rows.jsonl": [record] });
  const task = await open(join(folder, "rows.jsonl"));
  const [row] = task.rows("train");
  expect({
    prompt: task.prompt(row),
    solution: task.solution?.(row),
    example: task.example?.(row),
    preference: task.preference?.(row),
  }).toMatchObject(expected);
  expect(task.draw(row)).not.toBe("");
});

test("tools of a row reach the model", async () => {
  const tool = { type: "function", function: { name: "f" } };
  const folder = folderWith({ "rows.jsonl": [{ prompt: "a", tools: [tool] }, { prompt: "b" }] });
  const task = await open(join(folder, "rows.jsonl"));
  const tools = task.rows("train").map((row) => task.toolsFor?.(row));
  expect(tools).toEqual([[tool], []]);
});

test("parts: seeded, by prompt, duplicates together, the same for any order of the file", async () => {
  const doubled = [...sums, ...sums.slice(0, 20).map((row) => ({ ...row, note: "again" }))];
  const folder = folderWith({ "a.jsonl": doubled, "b.jsonl": [...doubled].reverse() });
  const [a, b] = [await open(join(folder, "a.jsonl")), await open(join(folder, "b.jsonl"))];
  const prompts = (task: Task<DataTaskRow>, split: (typeof splits)[number], seed?: number) =>
    [...new Set(task.rows(split, seed === undefined ? {} : { seed }).map((row) => task.prompt(row)[0].content))].sort();
  for (const split of splits) expect(prompts(a, split)).toEqual(prompts(b, split));
  expect(splits.map((split) => prompts(a, split).length)).toEqual([48, 6, 6]);
  expect(new Set(splits.flatMap((split) => prompts(a, split))).size).toBe(60);
  expect(splits.reduce((sum, split) => sum + a.rows(split).length, 0)).toBe(80);
  expect(prompts(a, "held-out", 1)).toEqual(prompts(a, "held-out", 1));
  expect(prompts(a, "held-out", 1)).not.toEqual(prompts(a, "held-out", 2));
});

test("a new row moves no other row into another part, but for the border", async () => {
  const folder = folderWith({ "a.jsonl": sums, "b.jsonl": [...sums, { prompt: "What is new?", answer: 0 }] });
  const ids = async (file: string) => {
    const task = await open(join(folder, file));
    return new Set(task.rows("held-out").map((row) => task.prompt(row)[0].content));
  };
  const [before, after] = [await ids("a.jsonl"), await ids("b.jsonl")];
  expect([...before].filter((prompt) => !after.has(prompt)).length).toBeLessThanOrEqual(1);
});

test("groups stay together, and the same prompt ties groups to one part", async () => {
  const tied = [...sums, { ...sums[0], topic: "t99" }];
  const folder = folderWith({ "sums.jsonl": tied });
  const task = await open(join(folder, "sums.jsonl"), { group: ["topic"] });
  const topics = splits.map((split) => new Set(task.rows(split).map((row) => task.problem(row))));
  expect(topics.flatMap((set) => [...set]).sort()).toEqual(["t0", "t1", "t2", "t3", "t4", "t5", "t99"]);
  expect(topics.some((set) => set.has("t0") && set.has("t99"))).toBe(true);
  await expect(openTask(join(folder, "sums.jsonl"), { group: ["topci"] })).rejects.toMatchObject({
    code: "no-such-column",
    message: expect.stringContaining('no column "topci"'),
    fix: expect.stringContaining("topic"),
  });
});

test.each([
  [
    "a folder of parts",
    { "train.jsonl": sums.slice(0, 40), "valid.jsonl": sums.slice(40, 45), "test.jsonl": sums.slice(45) },
    "",
  ],
  [
    "a train file with sisters",
    { "train.jsonl": sums.slice(0, 40), "valid.jsonl": sums.slice(40, 45), "test.jsonl": sums.slice(45) },
    "train.jsonl",
  ],
  [
    "Hugging Face's names",
    {
      "data/train-00000-of-00002.jsonl": sums.slice(0, 20),
      "data/train-00001-of-00002.jsonl": sums.slice(20, 40),
      "data/validation-00000-of-00001.jsonl": sums.slice(40, 45),
      "data/test-00000-of-00001.jsonl": sums.slice(45),
    },
    "",
  ],
])("%s: the given parts are kept, whatever the seed", async (_, files, path) => {
  const folder = folderWith(files);
  const task = await open(join(folder, path));
  for (const seed of [1, 2]) expect(splits.map((split) => task.rows(split, { seed }).length)).toEqual([40, 5, 15]);
});

test("a part that no file gives is dealt from the training rows", async () => {
  const folder = folderWith({ "train.jsonl": sums.slice(0, 40), "test.jsonl": sums.slice(40) });
  const task = await open(folder);
  expect(splits.map((split) => task.rows(split).length)).toEqual([36, 4, 20]);
});

test("rows that were set aside are told; a file of none but such is refused", async () => {
  const folder = folderWith({
    "some.jsonl": [...sums, { prompt: 7 }],
    "none.jsonl": [{ question: "?", reply: "!" }],
    "label.jsonl": [{ prompt: "a", completion: "b", label: true }],
  });
  const task = await open(join(folder, "some.jsonl"));
  expect(task.notes).toEqual([expect.stringMatching(/^1 row of .*some\.jsonl was set aside; the first, on line 61: /)]);
  await expect(openTask(join(folder, "none.jsonl"))).rejects.toMatchObject({
    code: "no-rows",
    message: expect.stringContaining("--map prompt=question"),
  });
  await expect(openTask(join(folder, "label.jsonl"))).rejects.toMatchObject({
    code: "no-rows",
    message: expect.stringContaining("a label (KTO) train no method yet"),
  });
  const mapped = await open(join(folder, "none.jsonl"), { map: { prompt: "question", completion: "reply" } });
  expect(mapped.solution?.(mapped.rows("train")[0])).toEqual([{ role: "assistant", content: "!" }]);
});

test("rows of several kinds: each method's are known, and the others are told", async () => {
  const mixed = [
    { prompt: "a", completion: "b" },
    { prompt: "c", chosen: "d", rejected: "e" },
    { text: "Once." },
    { prompt: "f", completion: "g", label: true },
  ];
  const folder = folderWith({ "mixed.jsonl": mixed });
  const task = await open(join(folder, "mixed.jsonl"));
  expect(task.notes).toEqual([
    expect.stringContaining("1 row of"),
    "rows of several kinds: 2 rows with a prompt, 2 rows with an answer, 1 row with a pair of answers; a method takes those that it can use",
  ]);
  const rows = splits.flatMap((split) => task.rows(split)).toSorted((a, b) => a.index - b.index);
  const ids = (use: RowUse) => rowsFor(task, rows, use).map(({ id }) => id);
  expect(ids("prompt")).toEqual(["row-1", "row-2"]);
  expect(ids("solution")).toEqual(["row-1", "row-3"]);
  expect(ids("preference")).toEqual(["row-2"]);
  expect(rows.map((row) => task.preference?.(row)?.chosen)).toEqual([
    undefined,
    [{ role: "assistant", content: "d" }],
    undefined,
  ]);
  const data = await openData(join(folder, "mixed.jsonl"));
  expect((await data.check()).warnings.join()).toContain("a method takes those that it can use");
});

test("a dataset of the library is a task by its name", async () => {
  const before = process.env["HONE_HOME"];
  process.env["HONE_HOME"] = folderWith({});
  try {
    await createDataset({
      name: "sums",
      source: "sums.jsonl",
      sourceSha256: "",
      fill: async ({ row }) => sums.forEach(({ prompt }) => row({ prompt, completion: "x" })),
    });
    const task = await open("sums");
    expect(splits.map((split) => task.rows(split).length)).toEqual([48, 6, 6]);
    await expect(openTask("summs")).rejects.toMatchObject({ fix: expect.stringContaining('did you mean "sums"?') });
  } finally {
    if (before === undefined) delete process.env["HONE_HOME"];
    else process.env["HONE_HOME"] = before;
  }
});

test("rows keep ids of their own, made different where they are not", async () => {
  const folder = folderWith({
    "rows.jsonl": [{ id: "a", prompt: "1" }, { id: "a", prompt: "2" }, { id: 7, prompt: "3" }, { prompt: "4" }],
  });
  const task = await open(join(folder, "rows.jsonl"));
  expect(
    splits
      .flatMap((split) => task.rows(split))
      .map(({ id }) => id)
      .sort(),
  ).toEqual(["7", "a", "a (row-2)", "row-4"]);
});

test("many rows are read when they are needed, and closing takes the temporary file away", async () => {
  const big = "x".repeat(2000);
  function* rows() {
    for (let i = 0; i < 40_000; i++) {
      yield { data: { id: String(i), columns: { i }, prompt: [{ role: "user", content: `${i} ${big}` }] } };
    }
  }
  const before = process.memoryUsage().rss;
  const task = await dataTask(rows(), { name: "big", title: "", description: "" });
  const grown = process.memoryUsage().rss - before;
  const all = task.rows("train");
  expect(all.length).toBe(32_000);
  for (const i of [0, 1, 15_000, 31_999]) {
    expect(task.read(all[i]).columns.i).toBe(Number(all[i].id));
    expect(task.prompt(all[i])[0].content).toBe(`${all[i].id} ${big}`);
  }
  // 80 MB of rows: without the file they would all be here.
  expect(grown).toBeLessThan(200 * 2 ** 20);
  await task.close();
  expect(() => task.prompt(all[0])).toThrow("closed");
});
