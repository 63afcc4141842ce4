/** Built-in parts that judge JSON and tool calls. */

import { describe, expect, test } from "vitest";
import type { RewardFile } from "../../../core/contract/reward.ts";
import { failure, file, open, sample, value } from "./sample.ts";

type Part = RewardFile["parts"][number];

const schema = {
  type: "object",
  properties: { name: { type: "string", pattern: "^[A-Z]" }, age: { type: "integer", minimum: 0 } },
  required: ["name"],
  additionalProperties: false,
};

describe("json_schema", () => {
  test.each<[string, Partial<Part>, number]>([
    ['{"name": "Ann", "age": 3}', {}, 1],
    ['{"name": "ann"}', {}, 0],
    ['{"age": 3}', {}, 0],
    ['{"name": "Ann", "x": 1}', {}, 0],
    ['{"name": "Ann", "name": "Bob"}', {}, 0],
    ['Here: {"name": "Ann"}', {}, 0],
    ['Here:\n```json\n{"name": "Ann"}\n```\nDone.', {}, 1],
    ['Here:\n```json\n{"name": "Ann"}\n```', { where: "whole" }, 0],
    ["", {}, 0],
    ["no", {}, 0],
  ])("%s %o: %d", async (answer, options, worth) => {
    expect(await value({ type: "json_schema", schema, ...options }, sample(answer))).toBe(worth);
  });

  test("a schema in a file, by a path relative to the reward file", async () => {
    file("schema.json", JSON.stringify({ $schema: "http://json-schema.org/draft-07/schema#", ...schema }));
    expect(await value({ type: "json_schema", schema: "schema.json" }, sample('{"name": "Ann"}'))).toBe(1);
  });

  test.each([
    [{ type: "objekt" }, "must be equal to one of the allowed values"],
    [{ type: "object", requierd: ["x"] }, 'unknown keyword: "requierd"'],
    ["nowhere.json", "nowhere.json: there is no such file or folder"],
  ])("a schema that is none is refused: %o", async (wrong, words) => {
    expect(await failure(open({ parts: [{ type: "json_schema", schema: wrong }] }))).toContain(words);
  });

  test("an endless pattern of a schema is stopped", async () => {
    const slow = { type: "string", pattern: "^(a+)+$" };
    const text = await failure(value({ type: "json_schema", schema: slow }, sample(`"${"a".repeat(40)}b"`)));
    expect(text).toContain("the schema took longer than 1 s");
  });
});

describe("fields", () => {
  const right = { name: "Ann", address: { city: "Bonn", zip: "53111" }, tags: ["a", "b"] };
  test.each<[string, unknown, Partial<Part>, number]>([
    ["all", right, {}, 1],
    ["one of six wrong", { ...right, name: "Bob" }, {}, 5 / 6],
    ["a list one too long", { ...right, tags: ["a", "b", "c"] }, {}, 5 / 6],
    ["a branch missing", { name: "Ann", tags: ["a", "b"] }, {}, 4 / 6],
    ["extra ignored", { ...right, more: 1 }, {}, 1],
    ["extra counted", { ...right, more: 1 }, { extra: "count" }, 6 / 7],
    ["only some", { name: "Ann" }, { fields: ["name"] }, 1],
    ["only a branch", { address: { city: "Bonn" } }, { fields: ["address"] }, 1 / 2],
    ["case", { ...right, name: " ann " }, {}, 5 / 6],
    ["case ignored, space trimmed", { ...right, name: " ann " }, { ignore_case: true }, 1],
    ["a number as text", { ...right, address: { city: "Bonn", zip: 53111 } }, {}, 5 / 6],
  ])("%s", async (_, given, options, worth) => {
    const part = { type: "fields", column: "right", ...options } as const;
    expect(await value(part, sample(JSON.stringify(given), { right }))).toBeCloseTo(worth, 12);
    expect(await value(part, sample(JSON.stringify(given), { right: JSON.stringify(right) }))).toBeCloseTo(worth, 12);
  });

  test("no JSON is worth nothing", async () => {
    expect(await value({ type: "fields" }, sample("Ann", { answer: right }))).toBe(0);
  });

  test("a column that is no object is named", async () => {
    expect(await failure(value({ type: "fields" }, sample("{}", { answer: "Ann" })))).toContain(
      'what is expected is no JSON object: "Ann"',
    );
  });

  test("fields that the row does not expect are named", async () => {
    expect(await failure(value({ type: "fields", fields: ["x"] }, sample("{}", { answer: right })))).toContain(
      "none of the fields is expected",
    );
  });
});

describe("tool_call", () => {
  const book = { name: "book", arguments: { seats: 2, city: "Bonn" } };
  const find = { name: "find", arguments: {} };
  const calls = (...made: { name: string; arguments: Record<string, unknown> }[]) => ({ tool_calls: made });
  const turned = { name: "book", arguments: { city: "Bonn", seats: 2 } };
  const wrong = { name: "book", arguments: { seats: "2", city: "Bonn" } };
  test.each<[string, unknown, Parameters<typeof sample>[2], Partial<Part>, number]>([
    ["right", book, calls(book), {}, 1],
    ["keys in another order", book, calls(turned), {}, 1],
    ["text for a number", book, calls(wrong), {}, 0],
    ["half for the name", book, calls(wrong), { name_credit: 0.5 }, 0.5],
    ["another name", book, calls(find), { name_credit: 0.5 }, 0],
    ["none made", book, calls(), {}, 0],
    ["one too many", book, calls(book, find), {}, 0.5],
    ["one broken", book, { ...calls(book), problems: [{ code: "malformed", message: "" }] }, {}, 0.5],
    ["both", [find, book], calls(find, book), {}, 1],
    ["both, turned round", [find, book], calls(book, find), {}, 0],
    ["both, any order", [find, book], calls(book, find), { ordered: false }, 1],
    ["exact before half right", [book, wrong], calls(wrong, book), { ordered: false, name_credit: 0.5 }, 1],
    ["none wanted, none made", null, calls(), {}, 1],
    ["none wanted, prose", [], { problems: [{ code: "no_call", message: "" }] }, {}, 1],
    ["none wanted, one made", [], calls(find), {}, 0],
    ["none wanted, one broken", "", { problems: [{ code: "malformed", message: "" }] }, {}, 0],
    ["OpenAI's shape", { function: { name: "book", arguments: JSON.stringify(book.arguments) } }, calls(book), {}, 1],
    ["JSON text", JSON.stringify([book]), calls(book), {}, 1],
  ])("%s", async (_, right, more, options, worth) => {
    expect(await value({ type: "tool_call", column: "call", ...options }, sample("", { call: right }, more))).toBe(
      worth,
    );
  });

  test.each([5, "book()", { arguments: {} }, { name: "book", arguments: [1] }])("%o is no call", async (right) => {
    expect(await failure(value({ type: "tool_call" }, sample("", { answer: right })))).toContain(
      "what is expected is no tool call",
    );
  });
});
