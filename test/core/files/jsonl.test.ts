import { appendFileSync, existsSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { appendJsonLine, readJsonLines, repairJsonLines } from "../../../core/files/jsonl.ts";

const folder = () => mkdtempSync(join(tmpdir(), "hone-jsonl-"));

describe("JSON lines", () => {
  test("rows come back in order, a missing file has none", () => {
    const path = join(folder(), "a.jsonl");
    expect(readJsonLines(path).rows).toEqual([]);
    appendJsonLine(path, { step: 1 });
    appendJsonLine(path, { step: 2, text: "line\nbreak" });
    expect(readJsonLines(path)).toMatchObject({ rows: [{ step: 1 }, { step: 2, text: "line\nbreak" }], torn: false });
  });

  test("a torn last line is no row, also when it happens to be valid JSON, and is cut off by a repair", () => {
    for (const torn of ['{"step":2,"rew', "12"]) {
      const path = join(folder(), "a.jsonl");
      appendJsonLine(path, { step: 1 });
      appendFileSync(path, torn);
      expect(readJsonLines(path)).toMatchObject({ rows: [{ step: 1 }], torn: true });
      repairJsonLines(path);
      appendJsonLine(path, { step: 2 });
      expect(readFileSync(path, "utf8")).toBe('{"step":1}\n{"step":2}\n');
    }
  });

  test("a broken line in the middle is an error with its number", () => {
    const path = join(folder(), "a.jsonl");
    writeFileSync(path, '{"a":1}\n{"a":\n{"a":3}\n');
    expect(() => readJsonLines(path)).toThrow(/a\.jsonl, line 2 is not JSON/);
  });

  test.skipIf(!existsSync("/dev/full"))("a full disk is told as such", () => {
    const path = join(folder(), "full.jsonl");
    symlinkSync("/dev/full", path);
    expect(() => appendJsonLine(path, { step: 1 })).toThrow(
      expect.objectContaining({ code: "disk-full", fix: expect.stringContaining("hone resume") }),
    );
  });
});
