/** Statistics, near-duplicates, splitting and export. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { dataStatsSchema } from "../../../core/contract/data-json.ts";
import { isSetAside } from "../../../core/contract/data.ts";
import { Random } from "../../../core/contract/random.ts";
import { exportData, exportFormats } from "../../../core/data/export.ts";
import { NearDuplicates } from "../../../core/data/near-duplicates.ts";
import { openData } from "../../../core/data/open-data.ts";
import { exportShapes } from "../../../core/data/shapes.ts";
import { splitData } from "../../../core/data/split.ts";
import { dataStats } from "../../../core/data/statistics.ts";
import { all, assistant, check, entries, file, lines, user } from "./files.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-rows-"));

describe("statistics", () => {
  test("lengths, duplicates, empty answers, repeated prompts, leaked rows", async () => {
    const rows = [
      { prompt: "q one", completion: "a" },
      { prompt: "q  ONE", completion: "A " },
      { prompt: "q one", completion: "another" },
      { messages: [user("q two"), assistant(" ")] },
      "{",
    ];
    const train = await openData(file("train.jsonl", lines(rows)));
    const test = await openData(file("test.jsonl", lines([{ prompt: "other" }, { prompt: "q two" }])));
    const stats = await dataStats(train, { against: test });
    expect(dataStatsSchema.safeParse(stats).error).toBeUndefined();
    expect(stats).toMatchObject({
      rows: 5,
      ok: 4,
      set_aside_count: 1,
      shapes: { completion: 3, messages: 1 },
      unit: "characters",
      trained: null,
      longest_row: 3,
      duplicates: { count: 1, groups: [[1, 2]] },
      repeated_prompts: 1,
      empty_answers: { count: 1, rows: [4] },
      leaked: { count: 1, rows: [{ row: 4, other_row: 2 }] },
    });
    expect(stats.length.histogram.reduce((sum, { rows: count }) => sum + count, 0)).toBe(4);
  });

  test("with a measure, and rows that it refuses", async () => {
    const data = await openData(file("a.jsonl", lines([{ text: "abc" }, { text: "abcdefg" }])));
    const stats = await dataStats(data, {
      measure: (row) => ({ length: row.shape === "text" ? row.text.length : 0, trained: 2 }),
    });
    expect(stats).toMatchObject({
      unit: "tokens",
      trained: 4,
      longest_row: 2,
      length: { total: 10, mean: 5, min: 3, max: 7 },
    });
  });

  test("near-duplicates are found, and other texts are not taken for them", () => {
    const random = new Random(1);
    const words = (n: number) => Array.from({ length: n }, () => `w${random.integer(5000)}`);
    const originals = Array.from({ length: 300 }, () => words(60));
    const near = new NearDuplicates();
    for (const [i, text] of originals.entries()) expect(near.add(i, text.join(" "))).toBeUndefined();
    // Two words of sixty exchanged: about 54 of 62 triples are shared.
    const changed = originals.map((text) => text.map((word, i) => (i === 5 ? "other" : word)));
    const found = changed.filter((text, i) => near.add(1000 + i, text.join(" ")) === i).length;
    expect(found).toBeGreaterThan(285);
    const half = originals.map((text) => [...text.slice(0, 30), ...words(30)]);
    expect(half.filter((text, i) => near.add(2000 + i, text.join(" ")) !== undefined).length).toBe(0);
  });

  test("near-duplicates in a script without spaces, and short texts", () => {
    const near = new NearDuplicates();
    const text = "今天天气很好我们一起去公园散步然后吃午饭再回家看书写字画画唱歌跳舞";
    expect(near.add(1, text)).toBeUndefined();
    expect(near.add(2, `${text}吧`)).toBe(1);
    expect(near.add(3, "a b")).toBeUndefined();
    expect(near.add(4, "a b")).toBeUndefined();
  });
});

/** Values of any part that another part has, too. */
function inTwo(parts: readonly Set<string>[]): string[] {
  return parts.flatMap((part, i) => [...part].filter((value) => parts.some((other, j) => i !== j && other.has(value))));
}

describe("split", () => {
  const rows = Array.from({ length: 400 }, (_, i) => ({
    prompt: `q${i % 200}`,
    completion: `a${i}`,
    source: `doc${i % 37}`,
  }));
  const path = file("split.jsonl", lines([...rows, "{bad"]));
  const part = (out: string, name: string) =>
    readFileSync(join(out, name), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as (typeof rows)[number]);
  const splitTo = async (name: string, options: Partial<Parameters<typeof splitData>[2]> = {}) => {
    const out = join(folder, name);
    const counts = await splitData(await openData(path), out, { seed: 1, validation: 0.1, test: 0.2, ...options });
    return {
      out,
      counts,
      train: part(out, "train.jsonl"),
      valid: part(out, "valid.jsonl"),
      test: part(out, "test.jsonl"),
    };
  };

  test("every good row is in one part, and rows with the same prompt in the same one", async () => {
    const { counts, train, valid, test: held } = await splitTo("a");
    expect(counts).toEqual({ train: 280, validation: 40, test: 80, groups: 200, set_aside_count: 1 });
    expect([...train, ...valid, ...held].map(({ completion }) => completion).sort()).toEqual(
      rows.map(({ completion }) => completion).sort(),
    );
    const asked = [train, valid, held].map((part) => new Set(part.map(({ prompt }) => prompt)));
    expect(inTwo(asked)).toEqual([]);
  });

  test("the same seed divides the same way, another one another way, whatever the order of rows", async () => {
    const first = await splitTo("b");
    expect((await splitTo("c")).test).toEqual(first.test);
    expect((await splitTo("d", { seed: 2 })).test).not.toEqual(first.test);
    const shuffled = await openData(file("shuffled.jsonl", lines(new Random(3).shuffle(rows))));
    await splitData(shuffled, join(folder, "e"), { seed: 1, validation: 0.1, test: 0.2 });
    const names = (part: typeof rows) => part.map(({ completion }) => completion).sort();
    expect(names(part(join(folder, "e"), "test.jsonl"))).toEqual(names(first.test));
  });

  test("a group is never in two parts", async () => {
    const grouped = Array.from({ length: 300 }, (_, i) => ({
      prompt: `p${i}`,
      completion: "a",
      source: `doc${i % 30}`,
    }));
    const out = join(folder, "grouped");
    const data = await openData(file("grouped.jsonl", lines(grouped)));
    const counts = await splitData(data, out, { seed: 1, validation: 0.1, test: 0.1, group: "source" });
    expect(counts).toMatchObject({ train: 240, validation: 30, test: 30, groups: 30 });
    const sources = ["train.jsonl", "valid.jsonl", "test.jsonl"].map(
      (name) => new Set(part(out, name).map(({ source }) => source)),
    );
    expect(inTwo(sources)).toEqual([]);
  });

  test("groups that share a prompt stay together", async () => {
    const tied = [
      { prompt: "same", completion: "1", g: 1 },
      { prompt: "same", completion: "2", g: 2 },
      ...Array.from({ length: 20 }, (_, i) => ({ prompt: `q${i}`, completion: "a", g: i + 3 })),
    ];
    const data = await openData(file("tied.jsonl", lines(tied)));
    const { groups } = await splitData(data, join(folder, "tied"), { seed: 1, validation: 0.2, test: 0.2, group: "g" });
    expect(groups).toBe(21);
  });

  test("mapped columns are written under the names of their fields, so that the parts need no mapping", async () => {
    const asked = [1, 2, 3, 4].map((i) => ({ question: `q${i}`, answer: "a", prompt: "p" }));
    const data = await openData(file("qa.jsonl", lines(asked)), { map: { prompt: "question", completion: "answer" } });
    const out = join(folder, "mapped");
    await splitData(data, out, { seed: 1, validation: 0, test: 0.25 });
    expect(await check(join(out, "train.jsonl"))).toMatchObject({
      shape: "completion",
      rows: 3,
      ok: 3,
      columns: ["prompt", "completion", "prompt_column"],
    });
  });

  test("what cannot be divided is an error, and nothing is written", async () => {
    const out = join(folder, "none");
    await expect(splitTo("none", { validation: 0.6, test: 0.5 })).rejects.toMatchObject({ code: "bad-split" });
    await expect(splitTo("none", { group: "nowhere" })).rejects.toMatchObject({ code: "no-such-column" });
    expect(existsSync(out)).toBe(false);
    await splitTo("twice");
    await expect(splitTo("twice")).rejects.toMatchObject({ code: "folder-exists" });
  });
});

describe("export", () => {
  const tools = [{ type: "function", function: { name: "get", parameters: { type: "object" } } }];
  const called = {
    role: "assistant",
    content: null,
    tool_calls: [{ type: "function", function: { name: "get", arguments: { "a,b": 'x"y' } } }],
  };
  const rows = [
    { prompt: 'a "quoted"\nline, and more', completion: " spaced ", n: 1, ok: true },
    { messages: [user("q"), called, { role: "tool", content: "r" }, assistant("é😀")], tools, n: 2.5 },
    { prompt: [{ role: "system", content: "s" }, user("q")], completion: "a", extra: { deep: [1, null] } },
  ];

  test.each(exportFormats)("to %s and back: the same rows", async (format) => {
    const data = await openData(file("rows.jsonl", lines([...rows, "{"])));
    const out = join(folder, `out.${format}`);
    const { rows: written, setAside } = await exportData(data, out, format);
    expect([written, setAside.length]).toEqual([3, 1]);
    const said = (row: Awaited<ReturnType<typeof entries>>[number]) => {
      if (isSetAside(row)) throw new Error(row.reason);
      const { place: _, columns: __, ...rest } = row;
      return rest;
    };
    const original = (await all(data.rows())).map(said);
    expect((await entries(out)).map(said)).toEqual(original);
  });

  test("Parquet holds numbers, flags and messages in its own types", async () => {
    const data = await openData(
      file("typed.jsonl", lines([{ messages: [user("q"), assistant("a")], n: 3, x: 0.5, ok: true }])),
    );
    const out = join(folder, "typed.parquet");
    await exportData(data, out, "parquet");
    const [entry] = await entries(out);
    expect(entry).toMatchObject({ messages: [user("q"), assistant("a")], columns: { n: 3, x: 0.5, ok: true } });
    const { parquetMetadataAsync, asyncBufferFromFile } = await import("hyparquet");
    const { schema } = await parquetMetadataAsync(await asyncBufferFromFile(out));
    expect(schema.map(({ name }) => name)).toEqual([
      "root",
      "messages",
      "list",
      "element",
      "role",
      "content",
      "n",
      "x",
      "ok",
    ]);
  });

  test.each(exportShapes)(
    "as %s: rows that can have that shape keep what they say, others are set aside",
    async (shape) => {
      const given = [
        { prompt: "q", completion: "a", k: 1 },
        { prompt: "p", chosen: "good", rejected: "bad" },
        { messages: [user("q"), called, { role: "tool", content: "r" }, assistant("end")], tools },
        { text: "plain" },
        { prompt: "alone" },
      ];
      const data = await openData(file("shapes.jsonl", lines(given)));
      const out = join(folder, `as-${shape}.jsonl`);
      const { rows: written, setAside } = await exportData(data, out, "jsonl", shape);
      expect(written + setAside.length).toBe(5);
      for (const { reason } of setAside) expect(reason).toMatch(/cannot be written as|are missing/);
      const report = await check(out);
      expect(report.ok).toBe(written);
      const expected = { messages: 3, completion: 3, prompt: 3, text: 1, preference: 1, alpaca: 2, sharegpt: 3 };
      expect(written).toBe(expected[shape]);
    },
  );

  test("alpaca and sharegpt under their own keys", async () => {
    const data = await openData(
      file("one.jsonl", lines([{ messages: [{ role: "system", content: "s" }, user("q"), assistant("a")], k: 1 }])),
    );
    const written = async (shape: "alpaca" | "sharegpt") => {
      const out = join(folder, `keys-${shape}.json`);
      await exportData(data, out, "json", shape);
      return JSON.parse(readFileSync(out, "utf8")) as unknown;
    };
    expect(await written("alpaca")).toEqual([{ system: "s", instruction: "q", input: "", output: "a", k: 1 }]);
    expect(await written("sharegpt")).toEqual([
      {
        conversations: [
          { from: "system", value: "s" },
          { from: "human", value: "q" },
          { from: "gpt", value: "a" },
        ],
        k: 1,
      },
    ]);
  });

  test.each(exportFormats)("to %s: without a row that can be written the old file is as it was", async (format) => {
    const out = join(folder, `kept.${format}`);
    writeFileSync(out, "old");
    const data = await openData(file("text.jsonl", lines([{ text: "a" }, { text: "b" }])));
    await expect(exportData(data, out, format, "messages")).rejects.toMatchObject({
      code: "no-rows",
      message: `${data.name} has no row that could be used; the first, on line 1: a text row cannot be written as messages; choose another --shape, or none`,
    });
    expect(readFileSync(out, "utf8")).toBe("old");
    expect(readdirSync(folder).filter((name) => name.includes(".partial"))).toEqual([]);
  });
});
