import { expect, test } from "vitest";
import type { NoteRow } from "../../../../core/tasks/writing-format/notes.ts";
import { writingFormat } from "../../../../core/tasks/writing-format/writing-format.ts";
import { expectSoundAnswers, expectSoundRows, scoreText } from "../made-tasks.ts";

const row: NoteRow = {
  id: "one",
  area: "farm",
  project: "Meadow",
  note: "Hi all!! It is about Meadow. Ana repaired the tractor on April 15. On April 8 Ben harvested 20 acres! Next we want to sell the hay. Bye!",
  deeds: [
    { date: "2026-04-15", verb: "repaired", what: "the tractor", who: "Ana" },
    { date: "2026-04-08", verb: "harvested", what: "20 acres", who: "Ben" },
  ],
  next: "sell the hay",
};
const lines = [
  "STATUS: Meadow",
  "- 2026-04-08: Harvested 20 acres (Ben)",
  "- 2026-04-15: Repaired the tractor (Ana)",
  "NEXT: Sell the hay",
  "-- the desk",
];
const right = lines.join("\n");
const change = (from: string, to: string) => right.replace(from, to);

test("rows: a few dozen to learn from", () => {
  expectSoundRows(writingFormat, { train: 60, validation: 24, "held-out": 50 });
  expect(writingFormat.rows("train")).toHaveLength(63);
});

test("solutions and preferences on every row", () => expectSoundAnswers(writingFormat));

const rule = { heading: 0.1, bullets: 0.15, verb_first: 0.15, next_line: 0.15, sign_off: 0.1, calm: 0.05 };
const fact = 0.25 / 8;
const invented = 0.05;
test.each<[string, string, number, string | undefined]>([
  ["the house style", right, 1, undefined],
  ["blank lines between", lines.join("\n\n"), 1, undefined],
  ["another heading", change("STATUS: Meadow", "Status of Meadow"), 1 - rule.heading, "heading"],
  ["the project missing", change("STATUS: Meadow", "STATUS:"), 1 - rule.heading - fact, "heading"],
  ["not by date", [lines[0], lines[2], lines[1], lines[3], lines[4]].join("\n"), 1 - rule.bullets, "bullets"],
  ["a line too many", `${lines[0]}\nHere it is:\n${lines.slice(1).join("\n")}`, 1 - rule.bullets, "bullets"],
  ["dates in words", change("2026-04-08", "April 8"), 1 - rule.bullets - rule.verb_first, "bullets"],
  ["the name first", change("Harvested 20 acres (Ben)", "Ben harvested 20 acres"), 1 - rule.verb_first, "verb_first"],
  ["without next", change("NEXT: Sell", "Then sell"), 1 - rule.next_line, "next_line"],
  ["next at the top", [lines[0], lines[3], lines[1], lines[2], lines[4]].join("\n"), 1 - rule.next_line, "next_line"],
  ["without sign-off", change("\n-- the desk", ""), 1 - rule.sign_off, "sign_off"],
  ["excited", change("the hay", "the hay!"), 1 - rule.calm, "calm"],
  ["a name lost", change("(Ana)", "(Eva)"), 1 - fact, "lost"],
  ["a number made up", change("Sell the hay", "Sell the hay at 300"), 1 - invented, "invented"],
  ["a thing left out", right.replace(/\n.*tractor.*/, ""), 1 - 3 * fact - rule.bullets, "bullets"],
  ["the note as it is", row.note, 0.25 + invented, "heading"],
  ["something else", "I like cake.", rule.calm, "heading"],
  ["marks only", "!!!", 0, "empty"],
  ["nothing", "", 0, "empty"],
])("%s", async (_, text, reward, failure) => {
  const score = await scoreText(writingFormat, row, text);
  expect(score.info.failure).toBe(failure);
  expect(score.reward).toBeCloseTo(reward, 12);
});

test("style and kept facts are told apart", async () => {
  const copied = await scoreText(writingFormat, row, row.note);
  expect(copied.info.outcomes).toEqual({ styled: false, kept: true, faithful: true });
  const other = await scoreText(writingFormat, row, change("Sell the hay", "Clean 7 barns"));
  expect(other.info.outcomes).toEqual({ styled: true, kept: false, faithful: false });
});

test("an answer that was cut is none", async () => {
  expect((await scoreText(writingFormat, row, right, "length")).reward).toBe(0);
  expect(writingFormat.start(row, 1).end("timeout")).toMatchObject({ reward: 0 });
});

test("the style is not told in the prompt", () => {
  expect(JSON.stringify(writingFormat.prompt(row))).not.toMatch(/STATUS|NEXT|YYYY|bullet|-- /);
});

test("a row of a file that cannot be used is refused with the reason", () => {
  const bad = (wrong: Record<string, unknown>) => () => writingFormat.parseRow({ ...row, ...wrong });
  expect(bad({ deeds: [] })).toThrow(/row one: deeds is not a list/);
  expect(bad({ deeds: [{ ...row.deeds[0], date: "April 8" }] })).toThrow(/April 8 is not a date like/);
  expect(bad({ deeds: [{}] })).toThrow(/date is not a text/);
  expect(bad({ next: "" })).toThrow(/next is not a text/);
  expect(() => writingFormat.parseRow("x")).toThrow(/row without id/);
});

test("reference lines and drawing", () => {
  expect(writingFormat.reference([row])).toEqual({ empty: 0, note_as_it_is: expect.closeTo(0.3, 12), best: 1 });
  expect(writingFormat.draw(row)).toContain(right);
});
