/** Datasets: rows that can be edited, with a history that survives anything. */

import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { historyEntrySchema } from "../../../core/contract/data-json.ts";
import {
  createDataset,
  datasetsFolder,
  findDataset,
  listDatasets,
  openDataset,
  requireDataset,
  type Dataset,
} from "../../../core/data/dataset.ts";
import { openData } from "../../../core/data/open-data.ts";
import { all, file, lines } from "./files.ts";

const before = process.env["HONE_HOME"];
const home = mkdtempSync(join(tmpdir(), "hone-datasets-"));
beforeAll(() => {
  process.env["HONE_HOME"] = home;
});
afterAll(() => {
  if (before === undefined) delete process.env["HONE_HOME"];
  else process.env["HONE_HOME"] = before;
});

const qa = (prompt: string, completion = "a") => ({ prompt, completion });

function make(name: string, records: readonly Record<string, unknown>[]): Promise<Dataset> {
  return createDataset({
    name,
    source: "test",
    sourceSha256: "",
    fill: async ({ row }) => {
      for (const record of records) row(record);
    },
  });
}

/** The prompts of the rows of now, by a fresh look at the folder. */
async function prompts(name: string): Promise<unknown[]> {
  const data = await openData(name);
  const found: unknown[] = [];
  for await (const row of data.rows()) found.push(row.shape === "completion" && row.prompt[0].content);
  return found;
}

test("edit, add, delete, undo and redo, each seen by whoever opens the dataset next", async () => {
  const dataset = await make("edits", [qa("1"), qa("2"), qa("3")]);
  expect(await prompts("edits")).toEqual(["1", "2", "3"]);
  await dataset.edit(2, qa("two"));
  await dataset.add([qa("4"), qa("5")]);
  await dataset.delete([1, 4]);
  expect(await prompts("edits")).toEqual(["two", "3", "5"]);
  dataset.undo();
  expect(await prompts("edits")).toEqual(["1", "two", "3", "4", "5"]);
  dataset.undo();
  dataset.undo();
  expect(await prompts("edits")).toEqual(["1", "2", "3"]);
  expect(() => dataset.undo()).toThrow("edits has no change to undo");
  dataset.redo();
  dataset.redo();
  expect(await prompts("edits")).toEqual(["1", "two", "3", "4", "5"]);
  dataset.undo();
  await dataset.add([qa("new")]);
  expect(() => dataset.redo()).toThrow("edits has no undone change to redo");
  expect(await prompts("edits")).toEqual(["1", "two", "3", "new"]);
  expect((await dataset.page(2, 2)).map(({ id, row }) => [id, row])).toEqual([
    [2, 2],
    [3, 3],
  ]);
  for (const entry of dataset.history) expect(historyEntrySchema.safeParse(entry).success).toBe(true);
  expect(dataset.history.map(({ kind }) => kind).join()).toBe("edit,add,delete,undo,undo,undo,redo,redo,undo,add");
});

test("diff between any two points, restore, and what came after is still there", async () => {
  const dataset = await make("points", [qa("1"), qa("2")]);
  await dataset.edit(1, qa("one"));
  await dataset.edit(1, qa("uno"));
  await dataset.add([qa("3")]);
  await dataset.delete([3]);
  expect(dataset.diff(0, 4)).toEqual([{ id: 1, before: qa("1"), after: qa("uno") }]);
  expect(dataset.diff(1, 3)).toEqual([
    { id: 1, before: qa("one"), after: qa("uno") },
    { id: 3, before: null, after: qa("3") },
  ]);
  expect(dataset.diff(3, 1)).toEqual([
    { id: 1, before: qa("uno"), after: qa("one") },
    { id: 3, before: qa("3"), after: null },
  ]);
  dataset.restore(1);
  expect(await prompts("points")).toEqual(["one", "2"]);
  dataset.restore(3);
  expect(await prompts("points")).toEqual(["uno", "2", "3"]);
  dataset.undo();
  expect(await prompts("points")).toEqual(["one", "2"]);
  expect(() => dataset.restore(99)).toThrow("the history of points has no point 99");
});

test("any sequence of changes: what a fresh look sees is what was done", async () => {
  let state = 7;
  const draw = (n: number) => (state = (state * 48271) % 2147483647) % n;
  const dataset = await make("random", [qa("0"), qa("1"), qa("2")]);
  const states: string[] = [JSON.stringify(await prompts("random"))];
  for (let i = 0; i < 40; i++) {
    const action = draw(6);
    if (action === 0) await dataset.add([qa(`n${i}`)]);
    else if (action === 1 && dataset.size > 1) await dataset.delete([1 + draw(dataset.size)]);
    else if (action === 2 && i > 3) {
      const point = draw(dataset.point + 1);
      if (dataset.diff(dataset.point, point).length === 0) continue;
      dataset.restore(point);
      expect(JSON.stringify(await prompts("random"))).toBe(states[point]);
    } else await dataset.edit(1 + draw(dataset.size), qa(`e${i}`));
    states.push(JSON.stringify(await prompts("random")));
    expect(states.length).toBe(dataset.point + 1);
  }
  while (dataset.history.some(() => true)) {
    try {
      dataset.undo();
    } catch {
      break;
    }
  }
  expect(JSON.stringify(await prompts("random"))).toBe(states[0]);
});

test("a change that leaves a bad row is refused and changes nothing", async () => {
  const dataset = await make("strict", [qa("1"), qa("2")]);
  await expect(dataset.edit(1, { prompt: "only" })).rejects.toMatchObject({
    code: "bad-row",
    message: expect.stringMatching(/^row 1: completion is missing/) as string,
  });
  await expect(dataset.add([qa("3"), { prompt: 5, completion: "a" }])).rejects.toThrow("row 4: prompt is a number");
  await expect(dataset.edit(9, qa("x"))).rejects.toMatchObject({ code: "no-such-row" });
  expect([dataset.point, await prompts("strict")]).toEqual([0, ["1", "2"]]);
});

test("two rated answers become a pair", async () => {
  const dataset = await make("rated", []);
  await dataset.addPair("q", "good", "bad");
  await expect(dataset.addPair("q", "same", "same")).rejects.toThrow("are the same");
  const [row] = await all((await openData("rated")).rows());
  expect(row).toMatchObject({ shape: "preference", chosen: [{ content: "good" }], rejected: [{ content: "bad" }] });
});

test("a torn last line is no change, and the next one stands on a line of its own", async () => {
  await (await make("torn", [qa("1")])).edit(1, qa("one"));
  const history = join(datasetsFolder(), "torn", "history.jsonl");
  appendFileSync(history, '{"point":2,"time":1,"kind":"edit","note":"');
  const dataset = await openDataset(requireDataset("torn"));
  expect([dataset.point, await prompts("torn")]).toEqual([1, ["one"]]);
  await dataset.edit(1, qa("eins"));
  expect(await prompts("torn")).toEqual(["eins"]);
  expect(readFileSync(history, "utf8").split("\n")).toHaveLength(3);
});

test("a change on top of somebody else's is refused", async () => {
  const mine = await make("shared", [qa("1")]);
  const theirs = await openDataset(requireDataset("shared"));
  await theirs.edit(1, qa("theirs"));
  await expect(mine.edit(1, qa("mine"))).rejects.toMatchObject({ code: "dataset-changed" });
  expect(await prompts("shared")).toEqual(["theirs"]);
});

test("killed at any moment, every change is there whole or not at all", { timeout: 30_000 }, async () => {
  await make("killed", [qa("0")]);
  const source = new URL("../../../core/data/dataset.ts", import.meta.url).href;
  const script = file(
    "edit-forever.mjs",
    `import { openDataset, requireDataset } from ${JSON.stringify(source)};
     const dataset = await openDataset(requireDataset("killed"));
     for (let i = 0; ; i++) { await dataset.edit(1, { prompt: "x".repeat(50000) + i, completion: "a" }); process.stdout.write("."); }`,
  );
  for (let round = 0; round < 3; round++) {
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script], {
      env: { ...process.env, HONE_HOME: home },
    });
    let done = 0;
    await new Promise<void>((resolve) => {
      child.stdout.on("data", (data: Buffer) => {
        if ((done += data.length) >= 3 + 2 * round) child.kill("SIGKILL");
      });
      child.on("close", () => resolve());
    });
    const dataset = await openDataset(requireDataset("killed"));
    expect(dataset.point).toBeGreaterThanOrEqual(done);
    const { record } = await dataset.row(1);
    expect(record["prompt"]).toMatch(/^x{50000}\d+$/);
    await dataset.edit(1, qa("after"));
    expect(await prompts("killed")).toEqual(["after"]);
  }
});

test("making one: names, what is there already, and a failure that leaves nothing behind", async () => {
  await expect(make("../x", [])).rejects.toMatchObject({ code: "bad-name" });
  await make("once", [qa("1")]);
  await expect(make("once", [])).rejects.toMatchObject({ code: "dataset-exists" });
  const failing = createDataset({
    name: "failing",
    source: "",
    sourceSha256: "",
    fill: () => Promise.reject(new Error("stop")),
  });
  await expect(failing).rejects.toThrow("stop");
  expect(findDataset("failing")).toBeUndefined();
  expect(readdirSync(datasetsFolder()).filter((name) => name.includes("failing"))).toEqual([]);
});

test("the list tells rows and changes without opening the rows", async () => {
  const dataset = await make("listed", [qa("1"), qa("2")]);
  await dataset.add([qa("3")]);
  await dataset.delete([1, 2]);
  expect(listDatasets().find(({ name }) => name === "listed")).toEqual(dataset.summary());
  expect(dataset.summary()).toMatchObject({ rows: 1, point: 2, source: "test" });
});

test("an unknown name is an error with the nearest one, and a file is told apart", () => {
  expect(() => requireDataset("listd")).toThrow(
    expect.objectContaining({ fix: expect.stringContaining('"listed"') as string }) as Error,
  );
  const path = file("a.jsonl", lines([qa("1")]));
  expect(() => requireDataset(path)).toThrow(
    expect.objectContaining({ fix: expect.stringContaining("hone data import") as string }) as Error,
  );
  expect(existsSync(path)).toBe(true);
  writeFileSync(path, "");
});
