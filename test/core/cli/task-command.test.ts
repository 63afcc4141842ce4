import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newTask, taskTemplates, type TaskTemplate } from "../../../core/app/tasks/new-task.ts";
import { listTasks, showTask } from "../../../core/app/tasks/task-views.ts";
import {
  taskCheckOutputSchema,
  taskFileName,
  taskListOutputSchema,
  taskNewOutputSchema,
  taskShowOutputSchema,
} from "../../../core/contract/task.ts";
import { checkTask } from "../../../core/tasks/check/check-task.ts";
import { openTask } from "../../../core/tasks/open-task.ts";
import { ticTacToe } from "../../../core/tasks/tic-tac-toe/tic-tac-toe.ts";
import { folderWith } from "../tasks/user/user-files.ts";
import { hone, newHome } from "./hone.ts";

const home = newHome();
const json = async (args: string[]): Promise<unknown> => {
  const { stdout, stderr } = await hone([...args, "--json"], { home });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout);
};

test.each(Object.keys(taskTemplates) as TaskTemplate[])("a task of the template %s works at once", async (template) => {
  const name = `my-${template}`;
  const made = await newTask(name, { template, out: join(folderWith({}), name) });
  expect(JSON.parse(readFileSync(join(made.path, taskFileName), "utf8"))).toMatchObject({ name });
  expect(made.files).toContain(taskFileName);
  const task = await openTask(made.path);
  try {
    const { findings } = await checkTask(task, { tried: 6 });
    expect(findings.filter(({ severity }) => severity !== "note")).toEqual([]);
    const shown = taskShowOutputSchema.parse(showTask(task, { split: "held-out", row: 2 }));
    expect(shown).toMatchObject({ name, row: { split: "held-out" } });
    expect(shown.row.solution?.length).toBeGreaterThan(0);
  } finally {
    await task.close?.();
  }
});

test("new, ls, show and check of one's own task", async () => {
  const made = taskNewOutputSchema.parse(await json(["task", "new", "mine", "--template", "extraction"]));
  expect(made.path).toBe(join(home, "tasks", "mine"));
  const { tasks } = taskListOutputSchema.parse(await json(["task", "ls"]));
  expect(tasks.find(({ name }) => name === "mine")).toMatchObject({ path: made.path, problem: null });
  expect(tasks.find(({ name }) => name === "tic-tac-toe")).toMatchObject({ path: null });
  taskShowOutputSchema.parse(await json(["task", "show", "mine"]));
  const check = await hone(["task", "check", "mine"], { home });
  expect(check.code, check.stderr).toBe(0);
  expect(check.stdout).toContain("nothing is wrong");
});

test("a task with an error: the check ends with 1, and its document is whole", async () => {
  const reward = { parts: [{ type: "regex", pattern: ".*" }] };
  const folder = folderWith({ [taskFileName]: { name: "broken", rows: [{ a: 1 }], prompt: "{{a}}", reward } });
  const { code, stdout } = await hone(["task", "check", folder, "--json"], { home });
  expect(code).toBe(1);
  const report = taskCheckOutputSchema.parse(JSON.parse(stdout));
  expect(report).toMatchObject({ task: "broken", ok: false });
  expect(report.findings.map((finding) => finding.code)).toContain("constant-reward");
});

test("a data file with a mapping, a group and a reward", async () => {
  const rows = Array.from({ length: 40 }, (_, i) => ({
    question: `${i}?`,
    reply: `${i}`,
    topic: `t${i % 12}`,
    answer: i,
  }));
  const folder = folderWith({ "rows.jsonl": rows, "reward.json": { parts: [{ type: "exact_match" }] } });
  const args = [
    "--map",
    "prompt=question,completion=reply",
    "--group",
    "topic",
    "--reward",
    join(folder, "reward.json"),
  ];
  const report = taskCheckOutputSchema.parse(await json(["task", "check", join(folder, "rows.jsonl"), ...args]));
  expect(report).toMatchObject({ ok: true, problems: 12, methods: ["sft", "rl"], rewards: { solution: 1 } });
});

test.each([
  ["an unknown task", ["task", "show", "tic-tac-to"], 1, 'did you mean "tic-tac-toe"?'],
  ["an unknown template", ["task", "new", "x", "--template", "y"], 2, "qa or extraction or agent"],
  ["a bad mapping", ["task", "check", "x", "--map", "prompt"], 2, "write field=column"],
])("%s is refused", async (_, args, code, said) => {
  const result = await hone(args, { home });
  expect(result.code, result.stderr).toBe(code);
  expect(result.stderr).toContain(said);
});

test("a bad name, a built-in name, and a folder that is not empty are refused", async () => {
  const qa = { template: "qa" as const };
  await expect(newTask("My Task", qa)).rejects.toMatchObject({
    code: "bad-name",
    fix: expect.stringContaining("small"),
  });
  await expect(newTask("tic-tac-toe", qa)).rejects.toMatchObject({ code: "bad-name", fix: "choose another name" });
  const out = folderWith({ "notes.txt": "mine" });
  await expect(newTask("taken", { ...qa, out })).rejects.toMatchObject({ code: "folder-exists" });
  expect(existsSync(join(out, taskFileName))).toBe(false);
});

test("a row that is not there is refused, and a broken task folder is listed with its problem", () => {
  const show = (row: number) => showTask(ticTacToe, { split: "train", row });
  expect(() => show(99_999)).toThrow("has no row 99999");
  const before = process.env["HONE_HOME"];
  process.env["HONE_HOME"] = folderWith({ [`tasks/bad/${taskFileName}`]: "{" });
  try {
    expect(listTasks().tasks.find(({ name }) => name === "bad")?.problem).toContain("it is not JSON");
  } finally {
    if (before === undefined) delete process.env["HONE_HOME"];
    else process.env["HONE_HOME"] = before;
  }
});

test("a check with a model goes by what that model can read", async () => {
  const long = { prompt: "word ".repeat(1100), completion: "yes" };
  const rows = Array.from({ length: 20 }, (_, i) => ({ prompt: `question ${i}?`, completion: "yes" }));
  const folder = folderWith({ "rows.jsonl": [...rows, long] });
  const checked = await hone(["task", "check", join(folder, "rows.jsonl"), "--model", "starter", "--json"], {
    home: newHome(),
  });
  const { findings } = taskCheckOutputSchema.parse(JSON.parse(checked.stdout));
  expect(findings.find(({ code }) => code === "long-prompt")?.message).toMatch(
    /^the prompt of row row-21 has \d+ tokens, and 1024 are the limit with the answer$/,
  );
});
