/** `hone data` as a user types it. */

import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { main } from "../../../core/cli/program.ts";
import {
  dataReportSchema,
  dataStatsSchema,
  datasetChangeSchema,
  datasetDeletedSchema,
  datasetListSchema,
  datasetSummarySchema,
  diffOutputSchema,
  exportOutputSchema,
  historyOutputSchema,
  splitOutputSchema,
  tokenViewSchema,
} from "../../../core/contract/data-json.ts";
import { tinyModel } from "../train/tiny-model.ts";
import { hone, newHome } from "./hone.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-data-cli-"));
const home = newHome();
let model: string;

const path = (name: string) => join(folder, name);
const rows = [
  { prompt: "q <|im_end|> one", completion: "a", topic: "x" },
  { prompt: "only" },
  { prompt: "q two", completion: "b", topic: "y" },
];
writeFileSync(path("rows.jsonl"), rows.map((row) => JSON.stringify(row) + "\n").join(""));
writeFileSync(path("qa.csv"), "question,answer\nq,a\n");

/** In this process, which is quicker than a new one for each command. */
async function data(...args: string[]) {
  const said = { stdout: "", stderr: "" };
  const catchAll = (stream: "stdout" | "stderr") =>
    vi.spyOn(process[stream], "write").mockImplementation((text) => {
      said[stream] += String(text);
      return true;
    });
  const spies = [catchAll("stdout"), catchAll("stderr")];
  process.exitCode = undefined;
  try {
    const code = await main(["data", ...args]);
    return { code, ...said };
  } finally {
    for (const spy of spies) spy.mockRestore();
    process.exitCode = undefined;
  }
}

async function json(...args: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await data(...args, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

beforeAll(async () => {
  vi.stubEnv("HONE_HOME", home);
  model = await tinyModel();
});
afterAll(() => {
  vi.unstubAllEnvs();
});

test("check tells the shape, the bad rows and how to name columns", async () => {
  const report = dataReportSchema.parse(await json("check", path("rows.jsonl")));
  expect(report).toMatchObject({
    format: "jsonl",
    rows: 3,
    ok: 2,
    set_aside: [{ line: 2, row: 2, reason: "completion is missing; every completion row needs prompt, completion" }],
    columns: ["prompt", "completion", "topic"],
    mapping: { prompt: "prompt", completion: "completion" },
    warnings: [],
  });
  const { code, stdout } = await data("check", path("qa.csv"));
  expect([code, stdout]).toEqual([1, expect.stringContaining("try --map prompt=question,completion=answer")]);
  expect(await json("check", path("qa.csv"), "--map", "prompt=question,completion=answer")).toMatchObject({ ok: 1 });
});

test("what is piped in is read by what it is", async () => {
  for (const [input, format] of [
    ['{"text":"a"}\n{"text":"b"}\n', "jsonl"],
    ['[{"text":"a"}]', "json"],
    ["prompt\tcompletion\na\tb\n", "tsv"],
    ["prompt,completion\na,b\n", "csv"],
    ["Just some words, and a comma.\n", "text"],
  ]) {
    const { code, stdout } = await hone(["data", "check", "-", "--json"], { home, input });
    expect([code, (JSON.parse(stdout) as { format: string }).format]).toEqual([0, format]);
  }
});

test.each([
  [["check", "nowhere.jsonl"], 1, "there is no file nowhere.jsonl"],
  [["check", "rows", "--map", "prompt"], 2, '"prompt" is no mapping'],
  [["check", "FILE", "--map", "promt=prompt"], 1, 'there is no field "promt"'],
  [["show", "FILE", "--row", "9"], 1, "has no row 9"],
  [["tokens", "FILE", "--row", "2", "--model", "MODEL"], 2, "row 2 (line 2) is set aside: completion is missing"],
  [["split", "FILE", "--out", "OUT", "--test", "0.9", "--validation", "0.1"], 1, "leave nothing to train on"],
  [["split", "FILE", "--out", "OUT", "--group", "topci"], 1, 'row 1 (line 1) has no "topci" to group by'],
  [["export", "FILE", "--to", "csv", "--out", "/no/such/folder/x.csv"], 2, "there is no folder /no/such/folder"],
  [["edit", "FILE", "--delete", "1"], 1, "there is no dataset"],
  [["keep", "norun", "--min-reward", "0", "--name", "x"], 1, 'there is no run "norun"'],
  [["import", "FILE", "--name", "a/b"], 1, '"a/b" cannot be the name of a dataset'],
  [
    ["import", path("qa.csv"), "--name", "none"],
    1,
    "qa.csv has no row that could be used; the first, on line 2: none of",
  ],
  [["export", "none", "--to", "csv", "--out", "OUT"], 1, "there is no file none"],
])("hone data %j fails with %i and says: %s", async (args, expected, message) => {
  const values: Record<string, string> = { FILE: path("rows.jsonl"), MODEL: model, OUT: path("out-failed") };
  const { code, stderr, stdout } = await data(...args.map((word) => values[word] ?? word));
  expect([code, stdout]).toEqual([expected, ""]);
  expect(stderr).toContain(message);
});

test("two answers of a model are drawn, shown and rated; what is not asked for is skipped", async () => {
  writeFileSync(
    path("prompts.jsonl"),
    ["one", "two", "three"].map((prompt) => JSON.stringify({ prompt }) + "\n").join(""),
  );
  const args = ["rate", "drawn", "--model", model, "--from", path("prompts.jsonl"), "--max-tokens", "8", "--json"];
  const { code, stdout, stderr } = await hone(["data", ...args], { home, input: "what\nb\ns\nq\n" });
  expect(code, stderr).toBe(0);
  const { rows: count, changes } = datasetChangeSchema.parse(JSON.parse(stdout));
  expect(count).toBe(1);
  const { prompt, chosen, rejected } = changes[0].after as Record<string, unknown>;
  expect(prompt).toEqual([{ role: "user", content: "one" }]);
  expect(stderr).toContain(`a: ${String(rejected)}\nb: ${String(chosen)}`);
  const refused = await data("rate", "drawn", "--prompt", "q", "--a", "x");
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("which answers?")]);
});

test("show and tokens: what was understood, and what is trained, marked without colour", async () => {
  expect(await json("show", path("rows.jsonl"), "--row", "2")).toEqual({
    place: { row: 2, line: 2 },
    reason: "completion is missing; every completion row needs prompt, completion",
  });
  expect(await json("show", path("rows.jsonl"), "--row", "3")).toMatchObject({
    shape: "completion",
    prompt: [{ role: "user", content: "q two" }],
    columns: { topic: "y" },
  });
  const view = tokenViewSchema.parse(await json("tokens", path("rows.jsonl"), "--row", "1", "--model", model));
  expect(view.pieces.filter((_, i) => view.trained[i]).join("")).toBe("a<|im_end|>");
  const { stdout } = await data("tokens", path("rows.jsonl"), "--row", "1", "--model", model);
  expect(stdout).toContain("q <|im_end|> one<|im_end|>\n<|im_start|>assistant\n⟦a<|im_end|>⟧");
  expect(
    await json("tokens", path("rows.jsonl"), "--row", "1", "--model", model, "--loss-mask", "all_tokens"),
  ).toMatchObject({
    trained: view.ids.map((_, i) => i > 0).concat(true),
  });
});

test("stats, split and export", async () => {
  const stats = dataStatsSchema.parse(
    await json("stats", path("rows.jsonl"), "--model", model, "--against", path("rows.jsonl")),
  );
  expect(stats).toMatchObject({ rows: 3, ok: 2, unit: "tokens", leaked: { count: 2 } });
  const out = path("parts");
  expect(
    splitOutputSchema.parse(
      await json("split", path("rows.jsonl"), "--out", out, "--test", "0.5", "--validation", "0"),
    ),
  ).toMatchObject({
    train: 1,
    validation: 0,
    test: 1,
    set_aside_count: 1,
  });
  const file = path("out.json");
  const written = exportOutputSchema.parse(
    await json("export", path("rows.jsonl"), "--to", "json", "--shape", "messages", "--out", file),
  );
  expect(written).toMatchObject({ rows: 2, set_aside_count: 1 });
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject([
    { messages: [{ role: "user" }, { role: "assistant" }] },
    {},
  ]);
});

test(
  "a dataset: import, edit, undo, redo, diff, restore, and its name where a file can stand",
  { timeout: 60_000 },
  async () => {
    expect(datasetSummarySchema.parse(await json("import", path("rows.jsonl"), "--name", "mine"))).toMatchObject({
      rows: 2,
      set_aside_count: 1,
      point: 0,
    });
    const change = async (...args: string[]) => datasetChangeSchema.parse(await json(...args));
    expect(await change("edit", "mine", "--row", "1", "--set", "completion=better", "--set", "topic=")).toMatchObject({
      kind: "edit",
      changes: [{ before: rows[0], after: { prompt: rows[0].prompt, completion: "better" } }],
    });
    expect(await change("edit", "mine", "--add", '[{"prompt":"new","completion":"row"}]')).toMatchObject({
      rows: 3,
      point: 2,
    });
    expect(await change("edit", "mine", "--delete", "2")).toMatchObject({ rows: 2 });
    expect(await change("undo", "mine")).toMatchObject({ rows: 3, kind: "undo" });
    expect(await change("redo", "mine")).toMatchObject({ rows: 2, kind: "redo" });
    expect(historyOutputSchema.parse(await json("history", "mine")).history.map(({ kind }) => kind)).toEqual([
      "edit",
      "add",
      "delete",
      "undo",
      "redo",
    ]);
    expect(
      diffOutputSchema.parse(await json("diff", "mine", "--from", "1", "--to", "3")).changes.map(({ id }) => id),
    ).toEqual([2, 3]);
    expect(await json("check", "mine")).toMatchObject({ format: "dataset", rows: 2, ok: 2 });
    expect(await change("restore", "mine", "--to", "0")).toMatchObject({ rows: 2, kind: "restore" });
    const refused = await data("edit", "mine", "--row", "1", "--set", "completion=");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("row 1: completion is missing")]);
    expect(datasetListSchema.parse(await json("list")).datasets).toContainEqual(
      expect.objectContaining({ name: "mine", rows: 2 }),
    );
    const rated = await change("rate", "pairs", "--prompt", "q", "--a", "no", "--b", "yes", "--better", "b");
    expect(rated.changes[0].after).toEqual({ prompt: "q", chosen: "yes", rejected: "no" });
    const gone = datasetDeletedSchema.parse(await json("delete", "pairs"));
    expect(gone).toMatchObject({ name: "pairs", rows: 1 });
    expect(gone.bytes).toBeGreaterThan(100);
    expect(existsSync(gone.path)).toBe(false);
    const again = await data("delete", "pairs");
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('there is no dataset "pairs"')]);
  },
);
