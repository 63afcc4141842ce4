/** A dataset that was downloaded stands wherever a data file can. */

import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parquetRevision } from "../../../core/hub/dataset-files.ts";
import { cacheTarget } from "../../../core/hub/storage/snapshot-target.ts";
import { openData } from "../../../core/data/open-data.ts";
import { openTask } from "../../../core/tasks/open-task.ts";
import { writeFileSync } from "node:fs";
import { commitOf, download, madeFile, madeRef, newFolder, plain } from "../hub/storage/made-repo.ts";

const before = { ...process.env };
const hub = newFolder();
const rows = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) =>
    JSON.stringify({ prompt: `${from + i} + 1?`, completion: `${from + i + 1}` }),
  ).join("\n") + "\n";
const dataset = (id: string, more = {}) => madeRef(id, { kind: "dataset", ...more });

beforeAll(() => {
  Object.assign(process.env, { HF_HUB_CACHE: hub, MODELSCOPE_CACHE: join(hub, "ms"), HONE_HOME: newFolder() });
  download(
    hub,
    [
      madeFile("data/train-00000-of-00002.jsonl", rows(0, 3)),
      madeFile("data/train-00001-of-00002.jsonl", rows(3, 5)),
      madeFile("data/test-00000-of-00001.jsonl", rows(5, 6)),
      madeFile("README.md", "# Rows"),
    ],
    { ref: dataset("acme/rows") },
  );
  download(hub, [madeFile("data/a.csv", "prompt,completion\nHi,Ho\n")], {
    ref: dataset("acme/one"),
    commit: commitOf("two"),
  });
  download(hub, [madeFile("easy/train/0.jsonl", rows(0, 1)), madeFile("hard/train/0.jsonl", rows(1, 2))], {
    ref: dataset("acme/two", { revision: parquetRevision }),
  });
});
afterAll(() => {
  process.env = before;
});

test("all files of a split, counted through", async () => {
  const data = await openData("datasets/acme/rows");
  expect([data.name, data.format, data.size, data.shape]).toEqual(["datasets/acme/rows", "jsonl", 5, "completion"]);
  const seen: number[] = [];
  for await (const { place } of data.rows()) seen.push(place.row);
  expect(seen).toEqual([1, 2, 3, 4, 5]);
  expect(await data.raw(4)).toMatchObject({ record: { prompt: "3 + 1?" }, place: { row: 4, line: 1 } });
  await expect(data.row(6)).rejects.toMatchObject({ code: "no-such-row" });
  expect(await data.sha256()).toMatch(/^[0-9a-f]{64}$/);
});

test("a split by its name, with its configuration where there are several", async () => {
  expect((await openData("datasets/acme/rows:test")).size).toBe(1);
  expect((await openData("datasets/acme/one")).size).toBe(1);
  expect((await openData("datasets/acme/two:hard/train")).size).toBe(1);
  await expect(openData("datasets/acme/two")).rejects.toMatchObject({
    code: "no-such-split",
    fix: "name one of datasets/acme/two:easy/train, datasets/acme/two:hard/train",
  });
  await expect(openData("datasets/acme/rows:dev")).rejects.toMatchObject({ code: "no-such-split" });
});

test("as a task", async () => {
  const task = await openTask("datasets/acme/rows:train");
  expect(task.name).toContain("rows");
});

test("what is not here says how it comes", async () => {
  await expect(openData("datasets/acme/none")).rejects.toMatchObject({
    code: "no-such-dataset",
    fix: "`hone get acme/none --dataset` downloads it",
  });
  const file = madeFile("train.parquet", "PAR1");
  const target = cacheTarget({ ref: dataset("acme/half"), commit: commitOf("one") }, [plain(file)], { root: hub });
  target.open();
  writeFileSync(target.incomplete(file).data, "PA");
  writeFileSync(target.incomplete(file).state, "[[0, 2]]");
  target.close();
  await expect(openData("datasets/acme/half")).rejects.toMatchObject({ code: "incomplete-model" });
});
