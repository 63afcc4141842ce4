/** Files as they occur: how records are found, what is wrong with bad ones, and where. */

import { existsSync, writeFileSync } from "node:fs";
import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, test } from "vitest";
import { isSetAside } from "../../../core/contract/data.ts";
import { HoneError } from "../../../core/contract/errors.ts";
import { Random } from "../../../core/contract/random.ts";
import { exportData } from "../../../core/data/export.ts";
import { openData } from "../../../core/data/open-data.ts";
import { dataStats } from "../../../core/data/statistics.ts";
import { all, assistant, check, entries, file, lines, user } from "./files.ts";

const good = { prompt: "a", completion: "b" };

describe("JSON Lines", () => {
  test("byte-order mark, CRLF, blank lines and a last line without end", async () => {
    const path = file("a.jsonl", '\ufeff{"text":"a"}\r\n\r\n  \r\n{"text":"b"}\r\n\n{"text":"c"}');
    const report = await check(path);
    expect(report).toMatchObject({ format: "jsonl", shape: "text", rows: 3, ok: 3, warnings: [] });
    expect((await entries(path)).map(({ place }) => place)).toEqual([
      { row: 1, line: 1 },
      { row: 2, line: 4 },
      { row: 3, line: 6 },
    ]);
  });

  test("one bad row in a thousand is set aside with its line, its row and the way out", async () => {
    const rows: unknown[] = Array.from({ length: 1000 }, (_, i) => ({ prompt: `q${i}`, completion: "a" }));
    rows[499] = { prompt: "no answer" };
    const report = await check(file("thousand.jsonl", `\n${lines(rows)}`));
    expect(report).toMatchObject({ rows: 1000, ok: 999, set_aside_count: 1 });
    expect(report.set_aside).toEqual([
      { line: 501, row: 500, reason: "completion is missing; every completion row needs prompt, completion" },
    ]);
  });

  test.each([
    ['{"prompt":"a","completion":"b",}', /a comma too many before } at character 32: take it out/],
    ['{"prompt":"a","completion":["b",]}', /^completion\[1\]: a comma too many before \]/],
    ['{"prompt":"a","completion":"b"', /the row ends in the middle/],
    ['{"prompt":"a","completion":"b', /^completion: the row ends in the middle/],
    ['{"prompt":"a","completion":NaN}', /^completion: NaN is not JSON: write null, or leave the field out/],
    ['{"prompt":"a","completion":"b","score":-Infinity}', /^score: -Infinity is not JSON/],
    ['{"prompt":"a","completion":"b","ok":True}', /^ok: True is not JSON: write null, true or false/],
    ["{'prompt':'a','completion':'b'}", /Python text, not JSON .*: write rows with json.dumps/],
    ['{"prompt":"a\tb","completion":"c"}', /^prompt: text with an unescaped control character/],
    ['{"prompt":"a","prompt":"b","completion":"c"}', /the key "prompt" stands twice .*; keep one of them/],
    ['{"prompt":"a","completion":"\\ud83d"}', /^completion: half a character/],
    ['{"prompt":"a","completion":"b","x":{"y":["\\udc00"]}}', /^x.y\[0\]: half a character/],
    ['{"prompt":"a","completion":"b","n":1e999}', /^n: the number is too large/],
    ['["a","b"]', /the row is a list; a row is an object/],
    ["null", /the row is null/],
    ["hello", /not JSON/],
    ["{}", /missing/],
  ])("%s is set aside", async (line, expected) => {
    const [entry, next] = await entries(file("bad.jsonl", lines([line, good])));
    expect(entry).toMatchObject({ place: { row: 1, line: 1 }, reason: expect.stringMatching(expected) as string });
    expect(isSetAside(next)).toBe(false);
  });

  test("what is nested too deeply to be walked is set aside", async () => {
    const nested = `{"text":"a","x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    const [entry, next] = await entries(file("deep.jsonl", lines([nested, { text: "b" }])));
    expect(entry).toMatchObject({ reason: expect.stringContaining("nested deeper than 500") as string });
    expect(next).toMatchObject({ text: "b" });
    expect(await check(file("deep.json", "[".repeat(100_000)))).toMatchObject({ rows: 1, ok: 0 });
  });

  test("escapes that only look alike are no faults", async () => {
    const rows = ['{"prompt":"\\\\ud83d","completion":"\\ud83d\\ude00","k\\"":": {\\"a\\":1}"}'];
    expect(await entries(file("a.jsonl", lines(rows)))).toMatchObject([
      { completion: [{ content: "😀" }], columns: { 'k"': ': {"a":1}' } },
    ]);
  });

  test("a comma behind a row, as in a list, is told and does no harm", async () => {
    const report = await check(file("a.jsonl", '{"text":"a"},\n{"text":"b"},\n'));
    expect(report).toMatchObject({
      ok: 2,
      warnings: ["a comma behind the row, which JSON Lines has not (2 rows, first on line 1)"],
    });
  });

  test("whole numbers beyond 2^53 stay exact as text, with a warning; where a model would see them the row is set aside", async () => {
    const big = "12345678901234567890";
    const call = `{"role":"assistant","content":null,"tool_calls":[{"name":"f","arguments":{"id":${big}}}]}`;
    const path = file(
      "big.jsonl",
      lines([
        `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"id":${big},"n":{"m":-9007199254740993,"safe":9007199254740991}}`,
        `{"messages":[{"role":"user","content":"a"},${call}]}`,
        `{"messages":[{"role":"user","content":"a"},${call.replace(`{"id":${big}}`, `"{\\"id\\": ${big}}"`)}]}`,
      ]),
    );
    const [first, second, third] = await entries(path);
    expect(first).toMatchObject({ columns: { id: big, n: { m: "-9007199254740993", safe: 9007199254740991 } } });
    expect(second).toMatchObject({
      reason: `messages[1].tool_calls[0].arguments.id: ${big} is beyond 2^53 and would be rounded; write it as text in quotes`,
    });
    expect(third).toMatchObject({ reason: expect.stringContaining(`${big} is beyond 2^53`) as string });
    expect((await check(path)).warnings).toContain(
      "id: a whole number beyond 2^53, kept exactly as text (1 row, first on line 1)",
    );
  });

  test("columns that change their type are told with their lines", async () => {
    const rows = [
      { ...good, answer: 1 },
      { ...good, answer: 2 },
      { ...good, answer: "3" },
      { ...good, answer: null },
    ];
    const { ok, warnings } = await check(file("types.jsonl", lines(rows)));
    expect(ok).toBe(4);
    expect(warnings).toEqual([
      "the column answer changes its type: a number in 2 rows (first on line 1), text in 1 row (first on line 3)",
    ]);
  });

  test("bytes that are not UTF-8 are told with their field", async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"id":1,"text":"na'),
      Buffer.from([0xef]),
      Buffer.from('ve"}\n{"text":"naïve"}\n'),
    ]);
    const [bad, fine] = await entries(file("latin1.jsonl", bytes));
    expect(bad).toMatchObject({
      reason: "text: byte 0xEF at place 19 of the row is not UTF-8: save the file as UTF-8",
    });
    expect(fine).toMatchObject({ text: "naïve" });
  });

  test("lines that end in a carriage return alone are told", async () => {
    expect(await check(file("mac.jsonl", '{"text":"a"}\r{"text":"b"}\r'))).toMatchObject({
      ok: 0,
      set_aside: [
        {
          line: 1,
          row: 1,
          reason: "its lines end in a carriage return alone, as on old Macs: save the file with line feeds",
        },
      ],
    });
  });

  test("an interrupt is heard while rows are read, by whatever reads them", async () => {
    const path = file("many.jsonl", '{"text":"a"}\n'.repeat(400_000));
    const interrupt = new AbortController();
    const data = await openData(path, { signal: interrupt.signal });
    setTimeout(() => interrupt.abort(), 1);
    await expect(data.check()).rejects.toMatchObject({ name: "AbortError" });
    await expect(exportData(data, `${path}.csv`, "csv")).rejects.toMatchObject({ name: "AbortError" });
    expect(existsSync(`${path}.csv`)).toBe(false);
    await expect(dataStats(data)).rejects.toMatchObject({ name: "AbortError" });
  });

  test("the list of set-aside rows is cut off, their count is not", async () => {
    const report = await check(file("many.jsonl", lines([{ text: "x" }, ...Array.from({ length: 1500 }, () => "{")])));
    expect([report.set_aside.length, report.set_aside_count, report.rows]).toEqual([1000, 1500, 1501]);
  });
});

describe("JSON", () => {
  const both = [{ text: "a" }, { text: "b" }];

  test.each([
    ["a list", JSON.stringify(both, null, 2)],
    ["a list on one line", JSON.stringify(both)],
    ["a list under data", JSON.stringify({ version: { data: 1 }, data: both, more: [[{}]] })],
    ["pretty objects one after the other", both.map((row) => JSON.stringify(row, null, 1)).join("\n")],
    ["JSON Lines named .json", lines(both)],
  ])("%s", async (_, text) => {
    const rows = await entries(file("a.json", text));
    expect(rows.map((row) => "text" in row && row.text)).toEqual(["a", "b"]);
  });

  test("a single object is one row; an empty list none", async () => {
    expect(await check(file("a.json", '{\n"text": "a"\n}'))).toMatchObject({ format: "json", rows: 1, ok: 1 });
    expect(await check(file("a.json", '{"text": "a"}'))).toMatchObject({ format: "json", rows: 1, ok: 1 });
    expect(await check(file("a.json", "[]"))).toMatchObject({ rows: 0, shape: null, warnings: ["there are no rows"] });
    expect(await check(file("a.jsonl", ""))).toMatchObject({ rows: 0, warnings: ["there are no rows"] });
  });

  test("commas too many or too few between rows do no harm", async () => {
    const report = await check(file("a.json", '[\n{"text":"a"},\n,{"text":"b"}\n{"text":"c"},\n]'));
    expect(report).toMatchObject({ ok: 3, set_aside: [] });
    expect(report.warnings).toEqual([
      "commas without a row between them",
      "a comma is missing between two rows",
      "a comma behind the last row",
    ]);
  });

  test.each([
    ["an object that never closes", '  {"text": "b", "x": {"y": 1},'],
    ["a list that never closes", '  {"text": "b", "x": [1, 2},'],
    ["text that never closes", '  {"text": "b, "x": 1},'],
    ["brackets that do not match", '  {"text": ["b"}],'],
  ])("%s costs its own row only", async (_, bad) => {
    const path = file("a.json", `[\n  {"text": "a"},\n${bad}\n  {"text": "c"},\n  {"text": "d"}\n]\n`);
    const rows = await entries(path);
    expect(rows.map((row) => (isSetAside(row) ? "bad" : "text" in row && row.text))).toEqual(["a", "bad", "c", "d"]);
    expect(rows.map(({ place }) => place.line)).toEqual([2, 3, 4, 5]);
  });

  test("lines are physical ones, also in pretty JSON", async () => {
    const path = file("a.json", JSON.stringify([{ text: "a\nb" }, { x: 1 }], null, 2));
    expect((await check(path)).set_aside).toMatchObject([{ line: 5, row: 2 }]);
  });
});

describe("CSV and TSV", () => {
  test("quotes, doubled quotes, line breaks in cells, CRLF and a byte-order mark", async () => {
    const path = file("a.csv", '\ufeffprompt,completion,n\r\n"a, ""b""","line\r\nline",1\r\n\r\n5" disk,x,2\r\n');
    expect(await entries(path)).toEqual([
      {
        place: { row: 1, line: 2 },
        shape: "completion",
        prompt: [user('a, "b"')],
        completion: [assistant("line\r\nline")],
        columns: { n: "1" },
      },
      {
        place: { row: 2, line: 5 },
        shape: "completion",
        prompt: [user('5" disk')],
        completion: [assistant("x")],
        columns: { n: "2" },
      },
    ]);
  });

  test("a stray quote, a missing and an extra cell cost their own rows", async () => {
    const path = file("a.csv", 'prompt,completion\n"open,a\nb,c\nd\ne,f,g\n"h"i,j\n"k","l"\n,m\n');
    const report = await check(path);
    expect(report).toMatchObject({ rows: 7, ok: 2 });
    expect(report.set_aside).toEqual([
      { line: 2, row: 1, reason: "cell 1: its opening quote is never closed; close it" },
      {
        line: 4,
        row: 3,
        reason: "1 cell where the header has 2; put a cell that holds a comma or a line break in quotes",
      },
      {
        line: 5,
        row: 4,
        reason: "3 cells where the header has 2; put a cell that holds a comma or a line break in quotes",
      },
      { line: 6, row: 5, reason: 'cell 1: text stands behind its closing quote; write a quote inside a cell as ""' },
      { line: 8, row: 7, reason: "prompt is missing; every completion row needs prompt, completion" },
    ]);
  });

  test("TSV needs a real tab; semicolons and tabs are seen", async () => {
    expect(await check(file("a.tsv", "prompt\tcompletion\na\tb, c\n"))).toMatchObject({
      format: "tsv",
      ok: 1,
      warnings: [],
    });
    expect(await check(file("a.csv", "prompt;completion\na;b\n"))).toMatchObject({
      ok: 1,
      warnings: ["the cells are separated by semicolons, not by commas; read so"],
    });
    const { ok, warnings } = await check(file("a.tsv", "prompt\\tcompletion\na\\tb\n"));
    expect(ok).toBe(0);
    expect(warnings).toContain("the header has \\t as two characters; TSV needs a real tab");
  });

  test("lists of messages stand as JSON text; Python text is refused with the way out", async () => {
    const messages = JSON.stringify([user("q"), assistant("a")]).replaceAll('"', '""');
    const path = file("a.csv", `messages,tools\n"${messages}",\n"[{'role': 'user', 'content': 'q'}]",\n`);
    const [first, second] = await entries(path);
    expect(first).toMatchObject({ shape: "messages", messages: [user("q"), assistant("a")] });
    expect(second).toMatchObject({ reason: expect.stringContaining("Python text, not JSON") as string });
  });

  test("a header that names a column twice is an error", async () => {
    const path = file("a.csv", "prompt,prompt\na,b\n");
    await expect(openData(path)).rejects.toMatchObject({
      code: "bad-header",
      message: `the header of ${path} names the column "prompt" twice`,
    });
  });
});

describe("Parquet", () => {
  const data = [
    [
      { role: "user", content: "weather?", tool_calls: null, name: null },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ function: { name: "get", arguments: { city: "Rom", day: null } } }],
        name: null,
      },
      { role: "tool", content: "sun", tool_calls: null, name: "get" },
      { role: "assistant", content: "Sunny.", tool_calls: null, name: null },
    ],
    [
      { role: "user", content: "hi" },
      { role: "assistant", content: [{ type: "text", text: "ho" }] },
    ],
  ];

  test("nested messages, and nulls that Parquet filled in are gone", async () => {
    const columnData = [
      { name: "messages", data },
      { name: "id", data: [1n, 9007199254740993n], type: "INT64" as const },
      { name: "score", data: [Number.NaN, 0.5], type: "DOUBLE" as const },
    ];
    const path = file("a.parquet", new Uint8Array(parquetWriteBuffer({ columnData })));
    const [first, second] = await entries(path);
    expect(first).toEqual({
      place: { row: 1, line: 1 },
      shape: "messages",
      messages: [
        user("weather?"),
        {
          role: "assistant",
          content: null,
          tool_calls: [{ type: "function", function: { name: "get", arguments: { city: "Rom" } } }],
        },
        { role: "tool", content: "sun", name: "get" },
        assistant("Sunny."),
      ],
      columns: { id: 1 },
    });
    expect(second).toMatchObject({
      messages: [user("hi"), assistant("ho")],
      columns: { id: "9007199254740993", score: 0.5 },
    });
    expect((await check(path)).warnings).toEqual([
      "the column id changes its type: a number in 1 row (first on line 1), text in 1 row (first on line 2)",
      "score: NaN, read as missing (1 row, first on line 1)",
      "id: a whole number beyond 2^53, kept exactly as text (1 row, first on line 2)",
    ]);
  });

  test("rows by number, over several stretches", async () => {
    const columnData = [{ name: "text", data: Array.from({ length: 5000 }, (_, i) => `t${i + 1}`) }];
    const opened = await openData(file("b.parquet", new Uint8Array(parquetWriteBuffer({ columnData }))));
    for (const row of [5000, 1, 2001])
      expect(await opened.row(row)).toMatchObject({ text: `t${row}`, place: { row, line: row } });
    expect((await all(opened.rows())).length).toBe(5000);
  });

  test("a damaged file is an error that names it", async () => {
    await expect(openData(file("c.parquet", "PAR1 and nothing else"))).rejects.toMatchObject({ code: "bad-parquet" });
    await expect(openData(file("d.parquet", "text"))).rejects.toMatchObject({ code: "bad-parquet" });
  });
});

describe("other files", () => {
  test.each([
    ["UTF-16 with a mark", Buffer.from('\ufeff{"text":"a"}\n', "utf16le"), "bad-encoding"],
    ["UTF-16 without one", Buffer.from('{"text":"a"}\n', "utf16le"), "bad-encoding"],
    ["gzip", Buffer.from([0x1f, 0x8b, 8, 0, 0]), "unknown-format"],
    ["zip", Buffer.from("PK\u0003\u0004rest"), "unknown-format"],
    ["Arrow", Buffer.from("ARROW1\u0000\u0000"), "unknown-format"],
    ["bytes", Buffer.from([1, 2, 0, 0, 0, 9, 9]), "unknown-format"],
  ])("%s is refused with the way out", async (_, bytes, code) => {
    await expect(openData(file("a.jsonl", bytes))).rejects.toMatchObject({ code, fix: expect.any(String) as string });
  });

  test("plain text is a row for each block", async () => {
    const rows = await entries(file("a.txt", "One\ntwo\n\n\nThree\n"));
    expect(rows).toMatchObject([
      { text: "One\ntwo", place: { row: 1, line: 1 } },
      { text: "Three", place: { row: 2, line: 5 } },
    ]);
  });

  test("nothing there, and a folder", async () => {
    await expect(openData("/no/such.jsonl")).rejects.toMatchObject({ code: "no-such-file" });
    await expect(openData("/tmp")).rejects.toMatchObject({ code: "no-such-file" });
  });
});

test("a thousand damaged files: each is read or refused, and no row is lost", async () => {
  const random = new Random("damage");
  const rows = Array.from({ length: 8 }, (_, i) => ({ prompt: `q "${i}"\n`, completion: "a, b", n: [{ k: i }] }));
  const csv = rows.map(({ completion }, i) => `"q ""${i}""\nx","${completion}",${i}\n`).join("");
  const whole = [
    lines(rows),
    JSON.stringify(rows, null, 1),
    JSON.stringify({ data: rows }),
    `prompt,completion,n\n${csv}`,
  ];
  const junk = ['"', "{", "}", "[", "]", ",", ":", "\\", "\n", "\r", "\u0000", "é", "", "\t", "data", "NaN"];
  for (let i = 0; i < 1000; i++) {
    let text = whole[i % whole.length];
    for (let damage = random.integer(4); damage >= 0; damage--) {
      const at = random.integer(text.length);
      text = text.slice(0, at) + random.pick(junk) + text.slice(at + random.integer(3));
    }
    const path = file(["a.jsonl", "a.json", "a", "a.csv"][i % whole.length], text);
    try {
      const report = await check(path);
      expect(report.ok + report.set_aside_count).toBe(report.rows);
      for (const entry of await entries(path)) expect(entry.place.row).toBeGreaterThan(0);
    } catch (error) {
      if (!(error instanceof HoneError)) throw new Error(`${JSON.stringify(text)}: ${String(error)}`, { cause: error });
    }
  }
});

describe("an opened file", () => {
  test("gives rows by number, the same as in order, and its hash", async () => {
    const path = file("a.jsonl", lines(Array.from({ length: 50 }, (_, i) => ({ text: "x".repeat(i) + i }))));
    const opened = await openData(path);
    const all = await entries(path);
    for (const row of [50, 1, 25]) expect(await opened.row(row)).toEqual(all[row - 1]);
    await expect(opened.row(51)).rejects.toMatchObject({ code: "no-such-row", fix: "its rows are 1 to 50" });
    expect(await opened.sha256()).toMatch(/^[0-9a-f]{64}$/);
  });

  test("notices that the file was changed under it", async () => {
    const path = file("a.jsonl", lines([{ text: "a" }]));
    const opened = await openData(path);
    writeFileSync(path, lines([{ text: "a" }, { text: "b" }]));
    await expect(opened.row(1)).rejects.toMatchObject({ code: "data-changed" });
  });

  test("a row of 50 MB, and one that is longer than the window", async () => {
    const long = "lorem ipsum ".repeat(4_400_000);
    const path = file("long.jsonl", lines([{ text: "a" }, { text: long }, { text: "b" }]));
    const report = await check(path);
    expect(report).toMatchObject({ rows: 3, ok: 3 });
    expect(report.warnings).toEqual(["a row of more than 1 MB (1 row, first on line 2)"]);
    const opened = await openData(path);
    expect(await opened.row(3)).toMatchObject({ text: "b", place: { line: 3 } });
    const json = file("long.json", `[{"text":"a"},\n{"text":${JSON.stringify(long)}},\n{"text":"b"}]`);
    expect(await check(json)).toMatchObject({ rows: 3, ok: 3 });
  });
});
