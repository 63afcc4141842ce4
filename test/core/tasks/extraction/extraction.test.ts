import { expect, test } from "vitest";
import { splits } from "../../../../core/contract/eval.ts";
import { documents } from "../../../../core/tasks/extraction/documents.ts";
import { extraction, type ExtractionRow } from "../../../../core/tasks/extraction/extraction.ts";
import { expectSoundAnswers, expectSoundRows, scoreText } from "../made-tasks.ts";

const row: ExtractionRow = {
  id: "one",
  document: "order",
  wording: "order-1",
  text: "Ana Costa orders 3 pieces of the kettle. Order number A1234.",
  answer: { customer: "Ana Costa", item: "kettle", quantity: 3, due: null },
};
const right = '{"customer": "Ana Costa", "item": "kettle", "quantity": 3, "due": null}';

test("rows", () => {
  expectSoundRows(extraction);
  for (const split of splits) {
    const rows = extraction.rows(split);
    expect(new Set(rows.map(({ document }) => document))).toEqual(new Set(Object.keys(documents)));
    const open = rows.filter(({ answer }) => Object.values(answer).includes(null));
    expect(open.length / rows.length).toBeGreaterThan(0.2);
    for (const { id, text } of rows) expect(text, id).not.toMatch(/[{}[\]]/);
  }
});

test("every wording says every field, and can leave one out", () => {
  for (const { fields, others, texts } of Object.values(documents)) {
    for (const text of texts) {
      const said = [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(said, text).toEqual([...new Set(said)]);
      expect(said.filter((name) => Object.hasOwn(fields, name)).length, text).toBeGreaterThanOrEqual(
        Object.keys(fields).length - 1,
      );
      expect(
        said.every((name) => Object.hasOwn(fields, name) || Object.hasOwn(others, name)),
        text,
      ).toBe(true);
      expect(text).toMatch(/\[[^\]]*\{\w+\}[^\]]*\]/);
    }
  }
});

test("solutions and preferences on every row", () => expectSoundAnswers(extraction));

const schema = 0.2;
test.each<[string, string, number, string | undefined]>([
  ["the right object", right, 1, undefined],
  ["spelled otherwise", right.replaceAll(" ", "").replace("AnaCosta", "Ana Costa") + "\n", 1, undefined],
  ["fields in another order", '{"due":null,"quantity":3,"item":"kettle","customer":"Ana Costa"}', 1, undefined],
  ["one field wrong", right.replace("3", "4"), 0.3 + 0.7 * 0.75, "misplaced"],
  ["a value that is nowhere", right.replace("3", "77"), 0.3 + 0.7 * 0.75, "wrong_value"],
  ["a value of another field", right.replace('"kettle"', '"Ana Costa"'), 0.3 + 0.7 * 0.75, "misplaced"],
  ["null for what is given", right.replace("3", "null"), 0.3 + 0.7 * 0.75, "overlooked"],
  ["a date that nobody gave", right.replace('"due": null', '"due": "2026-01-01"'), 0.3 + 0.7 * 0.75, "invented"],
  ["two fields wrong", right.replace("3", "99").replace("kettle", "lamp"), 0.3 + 0.7 * 0.5, "wrong_value"],
  [
    "three fields wrong",
    right.replace(/"A.*3/, '"customer": "B", "item": "lamp", "quantity": 99').replace('{"customer": ', "{"),
    0.3 + 0.7 * 0.25,
    "wrong_value",
  ],
  ["nothing right", '{"customer": "B", "item": "lamp", "quantity": 99, "due": "2026-01-01"}', 0.3, "wrong_value"],
  ["a number as text", right.replace("3", '"3"'), 1 - schema - 0.7 / 4, "wrong_form"],
  ["a date of another form", right.replace('"due": null', '"due": "May 3"'), 1 - schema - 0.7 / 4, "wrong_form"],
  ["a field left out", right.replace(', "due": null', ""), 1 - schema - 0.7 / 4, "wrong_fields"],
  ["a field too many", right.replace("}", ', "number": "A1234"}'), 1 - schema - 0.7 / 5, "wrong_fields"],
  ["an empty object", "{}", 0.1, "wrong_fields"],
  ["a code fence", "```json\n" + right + "\n```", 0, "text_around"],
  ["an introduction", `Here it is: ${right}`, 0, "text_around"],
  ["two objects", right + right, 0, "text_around"],
  ["a list", `[${right}]`, 0, "text_around"],
  ["a trailing comma", right.replace("}", ",}"), 0, "no_json"],
  ["single quotes", right.replaceAll('"', "'"), 0, "no_json"],
  ["a field twice", right.replace("{", '{"due": null, '), 0, "no_json"],
  ["prose", "The customer is Ana Costa.", 0, "no_json"],
  ["nothing", "", 0, "no_json"],
])("%s", async (_, text, reward, failure) => {
  const score = await scoreText(extraction, row, text);
  expect(score.reward).toBeCloseTo(reward, 12);
  expect(score.info.failure).toBe(failure);
});

test("an answer that was cut is none", async () => {
  expect((await scoreText(extraction, row, right, "length")).info.failure).toBe("truncated");
  expect(extraction.start(row, 1).end("timeout")).toMatchObject({ reward: 0 });
});

test("outcomes", async () => {
  const invented = await scoreText(extraction, row, right.replace('"due": null', '"due": "2026-01-01"'));
  expect(invented.info.outcomes).toEqual({ exact: false, json: true, schema: true, left_open: false });
  const full = { ...row, answer: { ...row.answer, due: "2026-05-03" } };
  expect((await scoreText(extraction, full, right)).info.outcomes["left_open"]).toBeUndefined();
});

test("a row of a file that cannot be used is refused with the reason", () => {
  const bad = (change: Record<string, unknown>) => () => extraction.parseRow({ ...row, ...change });
  expect(bad({ document: "poem" })).toThrow(/document is none of order, /);
  expect(bad({ answer: { ...row.answer, due: "May 3" } })).toThrow(/answer does not fit the schema: data\/due/);
  expect(bad({ text: 3 })).toThrow(/row one: text is not a text/);
  expect(() => extraction.parseRow([])).toThrow(/row without id/);
});

test("reference lines and drawing", () => {
  expect(extraction.reference([row])).toEqual({ no_json: 0, all_null: expect.closeTo(0.3 + 0.7 / 4, 12), best: 1 });
  expect(extraction.draw(row)).toContain("quantity   3");
});
