import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { dataColumns, newDataTask, newTask } from "../../../../core/app/tasks/new-task.ts";
import {
  deleteTaskFile,
  listTaskFiles,
  readTaskText,
  writeTaskText,
} from "../../../../core/app/tasks/task-folder-files.ts";
import {
  checkAnyTask,
  editableFolder,
  listAllTasks,
  openTaskFolder,
  readTask,
  removeTask,
  taskRows,
} from "../../../../core/app/tasks/task-library.ts";

let home: string;
const before = process.env["HONE_HOME"];
const { signal } = new AbortController();
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "hone-tasks-"));
  process.env["HONE_HOME"] = home;
});
afterEach(() => {
  if (before === undefined) delete process.env["HONE_HOME"];
  else process.env["HONE_HOME"] = before;
  rmSync(home, { recursive: true, force: true });
});

test("a task that comes with Hone is told with rows, rules and players", async () => {
  const task = await readTask("tic-tac-toe");
  expect(task).toMatchObject({ picture: "board", methods: ["sft", "dpo", "rl"], game: true, path: null });
  expect(task.reference_players["never_legal"]).toBe(-1);
  const { rows, total } = await taskRows("tic-tac-toe", { split: "held-out", offset: 1, limit: 2 });
  expect(total).toBe(task.rows["held-out"]);
  expect(rows).toHaveLength(2);
  expect(rows[0].board).toMatch(/^[XO.]{9}$/);
  expect(rows[0].solution).not.toBeNull();
});

test("a template is made, broken, told with its place, and mended", async () => {
  const { path } = await newTask("my-task", { template: "qa" });
  expect(listAllTasks().at(-1)).toMatchObject({
    reference: "my-task",
    place: "library",
    picture: "text",
    problem: null,
  });
  expect((await checkAnyTask("my-task", signal)).ok).toBe(true);
  const good = readTaskText(path, "task.json");
  const broken = writeTaskText(path, "task.json", good.text.replace('"prompt"', '"promt"'), good.version);
  const check = await checkAnyTask("my-task", signal);
  expect(check.ok).toBe(false);
  expect(check.findings[0]).toMatchObject({ code: "bad-task", fix: 'did you mean "prompt"?' });
  expect(listAllTasks().at(-1)?.problem).toContain("promt");
  expect(() => writeTaskText(path, "task.json", good.text, good.version)).toThrow("another program");
  writeTaskText(path, "task.json", good.text, broken.version);
  expect((await checkAnyTask("my-task", signal)).ok).toBe(true);
  removeTask("my-task");
  expect(existsSync(path)).toBe(false);
});

test("an environment that throws is told with its line", async () => {
  const { path } = await newTask("my-agent", { template: "agent" });
  const { version } = readTaskText(path, "environment.ts");
  writeTaskText(path, "environment.ts", "export function start( {\n", version);
  const [finding] = (await checkAnyTask("my-agent", signal)).findings;
  expect(finding.message).toMatch(/environment\.ts:\d+/);
});

test("one's own data becomes a task in a folder of its own", async () => {
  const source = join(home, "questions.csv");
  writeFileSync(
    source,
    `question,answer\n${Array.from({ length: 60 }, (_, i) => `${i} plus 1?,${i + 1}`).join("\n")}\n`,
  );
  expect(await dataColumns(source)).toEqual({
    rows: 60,
    columns: [
      { name: "question", sample: "0 plus 1?" },
      { name: "answer", sample: "1" },
    ],
    has_prompt: false,
  });
  const { path } = await newDataTask("sums", { source, prompt: "{{question}}", answer: "answer" });
  rmSync(source);
  const task = await readTask("sums");
  expect(task.methods).toEqual(["sft", "rl"]);
  expect(Object.values(task.rows).reduce((sum, count) => sum + count)).toBe(60);
  expect((await checkAnyTask("sums", signal)).rewards.solution).toBe(1);
  expect(readFileSync(join(path, "rows.jsonl"), "utf8").split("\n")).toHaveLength(61);
});

test("a folder elsewhere is opened, stays on the list, and is only forgotten", async () => {
  const elsewhere = join(home, "elsewhere", "theirs");
  const { path } = await newTask("theirs", { template: "qa", out: elsewhere });
  expect(openTaskFolder(join(path, "task.json"))).toEqual({ reference: elsewhere });
  expect(listAllTasks().at(-1)).toMatchObject({ reference: elsewhere, place: "opened" });
  removeTask(elsewhere);
  expect(existsSync(path)).toBe(true);
  expect(listAllTasks().every(({ place }) => place === "built-in")).toBe(true);
  mkdirSync(join(home, "empty"));
  expect(() => openTaskFolder(join(home, "empty"))).toThrow("no task.json");
  expect(() => removeTask(elsewhere)).toThrow("not deleted here");
  expect(() => editableFolder("tic-tac-toe")).toThrow("comes with Hone");
});

test("an editor stays within the folder", async () => {
  const { path } = await newTask("mine", { template: "extraction" });
  expect(listTaskFiles(path).map(({ name }) => name)).toEqual(["task.json", "reward.json", "rows.jsonl"]);
  expect(() => readTaskText(path, "../../settings.json")).toThrow("not a file of this task");
  expect(() => writeTaskText(path, "x.exe", "", null)).toThrow("no text file");
  expect(() => deleteTaskFile(path, "task.json")).toThrow("no task");
  writeTaskText(path, "notes.md", "a", null);
  expect(() => writeTaskText(path, "notes.md", "b", null)).toThrow("another program");
  deleteTaskFile(path, "notes.md");
  writeFileSync(join(path, "odd.txt"), Uint8Array.of(0xff, 0xfe, 0xfd));
  expect(() => readTaskText(path, "odd.txt")).toThrow("no text in UTF-8");
});
