/** How a data file is read is an option of the run: kept, and used again when it goes on. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RunConfigInput } from "../../../core/contract/config.ts";
import { toJsonLines } from "../../../core/files/jsonl.ts";
import { RunFolder } from "../../../core/train/run-folder/run-folder.ts";
import { resumeTraining, startTraining } from "../../../core/train/run.ts";
import { comparableMetrics, toyModelFolder, toyRun } from "./toy-run.ts";

const file = join(mkdtempSync(join(tmpdir(), "hone-rows-")), "rows.jsonl");
const rows = Array.from({ length: 40 }, (_, i) => ({ question: `q${i}`, reply: `r${i}`, topic: `t${i % 4}` }));
writeFileSync(file, toJsonLines(rows));

const base: RunConfigInput = {
  model: toyModelFolder(),
  task: file,
  method: "sft",
  finetuning_type: "full",
  batch_size: 4,
  max_steps: 4,
  eval_steps: 2,
  save_steps: 2,
};
const mapped = { ...base, map: ["prompt=question", "completion=reply"], group: ["topic"] };

test("columns and groups are kept with the run, which goes on with them", async () => {
  const toy = toyRun();
  await startTraining(toy.context, { ...mapped, output_dir: toy.output });
  const { config, record } = RunFolder.open(toy.output).readConfig();
  expect(config).toMatchObject({ map: mapped.map, group: ["topic"] });
  // Four topics: one is held out, one validates.
  expect(record.data).toMatchObject({ train: 20, validation: 10, held_out: 10 });
  const more = toyRun();
  await resumeTraining(more.context, toy.output, { maxSteps: 6 });
  expect(comparableMetrics(toy.output).at(-1)).toMatchObject({ step: 6 });
});

test("without them the file says nothing; with a task that makes its own rows they are refused", async () => {
  const begin = (input: RunConfigInput) => startTraining(toyRun().context, { ...input, output_dir: toyRun().output });
  await expect(begin(base)).rejects.toMatchObject({
    code: "no-rows",
    message: expect.stringContaining("--map prompt=question"),
  });
  await expect(begin({ ...mapped, task: "tic-tac-toe" })).rejects.toMatchObject({
    code: "usage",
    message: "the task tic-tac-toe makes its own rows",
  });
  await expect(begin({ ...mapped, map: ["prompt"] })).rejects.toMatchObject({ message: '"prompt" is no mapping' });
  await expect(begin({ ...mapped, group: ["subject"] })).rejects.toMatchObject({ code: "no-such-column" });
});

test("a method takes the rows that it can use, and says how many it left out", async () => {
  const mixed = file.replace("rows.jsonl", "mixed.jsonl");
  const pairs = rows.slice(0, 20).map(({ question }) => ({ prompt: question, chosen: "yes", rejected: "no" }));
  const answers = rows.slice(20).map(({ question, reply }) => ({ prompt: question, completion: reply }));
  writeFileSync(mixed, toJsonLines([...answers, ...pairs]));
  const toy = toyRun();
  await startTraining(toy.context, { ...base, task: mixed, output_dir: toy.output });
  const notes = toy.events.flatMap((event) => (event.type === "note" ? [event.message] : []));
  expect(notes).toContainEqual(expect.stringContaining("20 rows with a pair of answers; a method takes those"));
  const { record } = RunFolder.open(toy.output).readConfig();
  expect(notes).toContain(
    `${32 - record.data.train} rows left out: without an answer to imitate, which method sft needs`,
  );
});

test("rows that are set aside or skipped are told in words when the run begins", async () => {
  const path = file.replace("rows.jsonl", "texts.jsonl");
  const texts = Array.from({ length: 30 }, (_, i) => ({ text: `${1 + (i % 9)} ${1 + (i % 7)} ${1 + (i % 5)}` }));
  const long = Array.from({ length: 30 }, (_, i) => ({ text: `1 2 3 4 5 6 ${1 + (i % 9)} ${i}` }));
  writeFileSync(path, toJsonLines([...texts, ...long, { text: 7 }]));
  const toy = toyRun();
  await startTraining(toy.context, { ...base, task: path, max_length: 6, eval_steps: 0, output_dir: toy.output });
  const begin = toy.events.findIndex(({ type }) => type === "begin");
  const notes = toy.events.slice(0, begin).flatMap((event) => (event.type === "note" ? [event.message] : []));
  expect(notes).toEqual([
    expect.stringMatching(/^1 row of .*texts\.jsonl was set aside; the first, on line 61: /),
    expect.stringMatching(/^\d\d rows skipped, longer than max_length; \d\d rows are trained on$/),
  ]);
});
