/** The logic behind the Datasets page: windows of rows, changes at a point, what was set aside, dividing. */

import { appendFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  listDatasetsWithShapes,
  rowWindow,
  setAsideOf,
  viewDataset,
  viewRow,
} from "../../../../core/app/data/dataset-views.ts";
import { dedupe } from "../../../../core/app/data/dedupe.ts";
import { checkFile, importFile, inspectFile, keepPasted } from "../../../../core/app/data/import-data.ts";
import { changeDataset, useData, useDataset } from "../../../../core/app/data/open-datasets.ts";
import { setAsideView } from "../../../../core/app/data/set-aside-view.ts";
import { splitDataset } from "../../../../core/app/data/split-dataset.ts";
import { openDataset } from "../../../../core/data/dataset.ts";

let home: string;
const signal = new AbortController().signal;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "hone-data-"));
  vi.stubEnv("HONE_HOME", home);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

function file(name: string, lines: readonly unknown[]): string {
  const path = join(home, name);
  writeFileSync(path, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  return path;
}

const row = (i: number) => ({ prompt: `question ${i}`, completion: `answer ${i}` });

async function imported(name: string, lines: readonly unknown[]) {
  const path = file(`${name}.jsonl`, lines);
  const { version } = await inspectFile(path, {});
  return importFile(path, name, version, {});
}

test("a file is told by its columns, and a mapping is suggested where they have other names", async () => {
  const path = file("qa.csv", ["Question,Answer", "a,b", "c,"]);
  const seen = await inspectFile(path, {});
  expect(seen).toMatchObject({ format: "csv", rows: 2, shape: null, methods: [], name: "qa" });
  expect(seen.suggestion).toEqual({ prompt: "Question", completion: "Answer" });
  const map = seen.suggestion ?? {};
  expect(await inspectFile(path, map)).toMatchObject({
    shape: "completion",
    methods: ["sft", "grpo"],
    suggestion: null,
  });
  const progress: number[] = [];
  const check = await checkFile(path, { map, onProgress: (done) => progress.push(done) });
  expect(check).toMatchObject({ ok: 1, set_aside_count: 1 });
  expect(check.set_aside[0]).toMatchObject({ line: 3, row: 2, field: "Answer", record: { Question: "c", Answer: "" } });
  await expect(inspectFile(path, { prompt: "Quetsion" })).rejects.toMatchObject({ code: "bad-map" });
});

test("only what was looked at is imported", async () => {
  const path = file("rows.jsonl", [row(1)]);
  const { version } = await inspectFile(path, {});
  appendFileSync(path, `\n${JSON.stringify(row(2))}`);
  utimesSync(path, 1, 1);
  await expect(importFile(path, "rows", version, {})).rejects.toMatchObject({ code: "file-changed" });
  rmSync(path);
  await expect(importFile(path, "rows", version, {})).rejects.toMatchObject({ code: "no-such-file" });
  expect(listDatasetsWithShapes().datasets).toEqual([]);
});

test("pasted text is told by what is in it", async () => {
  const seen = await inspectFile(keepPasted("prompt\tcompletion\na\tb\n"), {});
  expect(seen).toMatchObject({ format: "tsv", shape: "completion", rows: 1, name: "pasted" });
});

test("windows of rows, all and found, at a point of the history", async () => {
  await imported(
    "many",
    Array.from({ length: 250 }, (_, i) => row(i + 1)),
  );
  const all = { name: "many", filter: null, from: 100, limit: 3 };
  const page = await rowWindow(all, signal);
  expect(page).toMatchObject({ point: 0, total: 250 });
  expect(page.rows.map((one) => [one.row, one.cells["prompt"].text])).toEqual([
    [101, "question 101"],
    [102, "question 102"],
    [103, "question 103"],
  ]);
  const text = { text: "ANSWER 24", column: null, rows: null };
  const found = await rowWindow({ ...all, filter: text, from: 1, limit: 2 }, signal);
  expect(found).toMatchObject({ total: 11, rows: [{ row: 240 }, { row: 241 }] });
  const elsewhere = await rowWindow({ ...all, filter: { ...text, column: "prompt" }, from: 0 }, signal);
  expect(elsewhere.total).toBe(0);
  const listed = await rowWindow({ ...all, filter: { text: "", column: null, rows: [9, 3, 999] }, from: 0 }, signal);
  expect(listed).toMatchObject({ total: 2, rows: [{ row: 3 }, { row: 9 }] });
  await changeDataset("many", 0, (dataset) => dataset.edit(7, { prompt: "x", completion: "answer 24!" }));
  expect(await rowWindow({ ...all, filter: text, from: 0, limit: 1 }, signal)).toMatchObject({
    point: 1,
    total: 12,
    rows: [{ row: 7 }],
  });
  expect(await viewRow("many", 7)).toMatchObject({
    record: { prompt: "x" },
    shape: "completion",
    prompt: [{ role: "user", content: "x" }],
  });
});

test("a change is refused when the rows are no longer those that were seen, also by another program", async () => {
  const dataset = await imported("shared", [row(1), row(2)]);
  await changeDataset("shared", 0, (one) => one.delete([1]));
  await expect(changeDataset("shared", 0, (one) => one.delete([1]))).rejects.toMatchObject({ code: "dataset-changed" });
  const other = await openDataset(dataset.path);
  await other.add([row(3)]);
  expect((await useDataset("shared")).point).toBe(2);
  expect(await viewDataset("shared")).toMatchObject({ rows: 2, undo: "1 added", redo: null, shape: "completion" });
  await changeDataset("shared", 2, (one) => one.undo());
  expect(await viewDataset("shared")).toMatchObject({ rows: 1, undo: "row 1 deleted", redo: "1 added" });
});

test("what is no row is refused by a change", async () => {
  await imported("strict", [row(1)]);
  const change = changeDataset("strict", 0, (one) => one.edit(1, { prompt: "a" }));
  await expect(change).rejects.toMatchObject({ code: "bad-row" });
  expect((await useDataset("strict")).point).toBe(0);
});

test("a damaged dataset does not hide the others", async () => {
  await imported("good", [{ prompt: "a", chosen: "b", rejected: "c" }]);
  mkdirSync(join(home, "datasets", "bad"));
  writeFileSync(join(home, "datasets", "bad", "dataset.json"), "{");
  const { datasets, damaged } = listDatasetsWithShapes();
  expect(datasets).toMatchObject([{ name: "good", shape: "preference", methods: ["dpo"], rows: 1 }]);
  expect(damaged).toMatchObject([{ name: "bad" }]);
  expect(datasets[0].bytes).toBeGreaterThan(0);
});

test("what was set aside stays with the dataset, in its parts", async () => {
  await imported("partly", [
    row(0),
    row(1),
    { prompt: "b", source: "x" },
    "no json",
    { messages: [{ role: "robot", content: "" }] },
  ]);
  const { total, entries } = await setAsideOf("partly");
  expect(total).toBe(3);
  expect(entries[0]).toMatchObject({ row: 3, line: 3, field: "completion", record: { prompt: "b" } });
  expect(entries[1]).toMatchObject({ row: 4, record: null });
  expect(entries[2].field).toBe("messages[0].role");
});

test("a reason falls into the field, what is wrong and the way out", () => {
  const at = { line: 2, row: 1 };
  expect(setAsideView({ ...at, reason: "prompt is empty; give it text" }, ["prompt", "prom"])).toMatchObject({
    field: "prompt",
    what: "prompt is empty",
    fix: "give it text",
  });
  expect(setAsideView({ ...at, reason: "the row is a list" }, [])).toMatchObject({ field: null, fix: null });
});

test("repeated rows go in one change, nearly repeated ones when asked", async () => {
  const long = "the quick brown fox jumps over the lazy dog again and again until the sun goes down behind the hill";
  const rows = [
    row(1),
    row(2),
    row(1),
    { prompt: long, completion: "yes" },
    { prompt: `${long} .`, completion: "yes" },
  ];
  const dataset = await imported("twice", rows);
  expect(await dedupe(dataset)).toMatchObject({
    deleted: 1,
    entry: { kind: "delete", note: "1 repeated row deleted" },
  });
  expect(dataset.size).toBe(4);
  expect(await dedupe(dataset, { near: true })).toMatchObject({ deleted: 1 });
  expect(dataset.size).toBe(3);
  await expect(dedupe(dataset, { near: true })).rejects.toMatchObject({ code: "nothing-to-delete" });
  dataset.undo();
  dataset.undo();
  expect(dataset.size).toBe(5);
});

test("a dataset is divided into new ones, all or none", async () => {
  await imported(
    "whole",
    Array.from({ length: 60 }, (_, i) => row(i)),
  );
  const shares = { seed: 1, validation: 0.2, test: 0.2 };
  const { parts } = await splitDataset(await useData("whole"), "whole", shares);
  expect(parts.map(({ name }) => name)).toEqual(["whole-train", "whole-valid", "whole-test"]);
  expect(parts.reduce((sum, { size }) => sum + size, 0)).toBe(60);
  const again = splitDataset(await useData("whole"), "whole", shares);
  await expect(again).rejects.toMatchObject({ code: "dataset-exists" });
});
