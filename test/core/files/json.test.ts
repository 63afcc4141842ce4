import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { readJson, readRows } from "../../../core/files/json.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-json-"));
const schema = z.object({ step: z.number() });

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

test("a whole file is read as its schema wants it", () => {
  expect(readJson(file("good.json", '{"step": 3, "more": 1}'), schema)).toEqual({ step: 3 });
  expect(readRows(file("good.jsonl", '{"step": 1}\n{"step": 2}\n'), schema)).toEqual([{ step: 1 }, { step: 2 }]);
  expect(readRows(join(folder, "none.jsonl"), schema)).toEqual([]);
});

test("a damaged one is named, with the place", () => {
  const broken = file("broken.json", "{");
  expect(() => readJson(broken, schema)).toThrow(`${broken} is not JSON`);
  const wrong = file("wrong.json", '{"step": "x"}');
  expect(() => readJson(wrong, schema)).toThrow(`${wrong}: step: Invalid input`);
  expect(() => readJson(file("null.json", "null"), schema)).toThrow(/null\.json: Invalid input/);
  const rows = file("wrong.jsonl", '{"step": 1}\n{}\n');
  expect(() => readRows(rows, schema)).toThrow(`${rows}, row 2: step: Invalid input`);
});
