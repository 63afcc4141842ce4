import { describe, expect, it, test } from "vitest";
import { JsonFault, jsonIn, readJson } from "../../../core/text/strict-json.ts";

function fault(text: string): JsonFault {
  try {
    readJson(text);
  } catch (error) {
    if (error instanceof JsonFault) return error;
    throw error;
  }
  throw new Error(`accepted ${text}`);
}

describe("readJson", () => {
  it.each([
    '{"a": [1, -2.5e3, 0, true, false, null, "x\\u00e9\\n\\"", {}, []], "": {"b": "c"}}',
    " \t\r\n[ ] ",
    '"text"',
    "-0.5",
    '{"__proto__": {"a": 1}, "constructor": 2}',
    `${"[".repeat(60)}${"]".repeat(60)}`,
  ])("reads %s as JSON.parse does", (text) => {
    expect(readJson(text).value).toEqual(JSON.parse(text));
  });

  it("ends behind the value", () => {
    const text = 'a {"b": [1]} c';
    expect(readJson(text, 2)).toEqual({ value: { b: [1] }, end: 12, unplainIntegers: [] });
  });

  it("remembers whole numbers that are not plain digits", () => {
    expect(readJson('{"a": 5.0, "b": [5e0, 5, -0, 5.5, -3, 10]}').unplainIntegers).toEqual([["a"], ["b", 0], ["b", 2]]);
  });

  it.each<[string, "value" | "syntax" | "end", (string | number)[]]>([
    ['{"a": five}', "value", ["a"]],
    ['{"a": 05}', "value", ["a"]],
    ['{"a": +5}', "value", ["a"]],
    ['{"a": 5.}', "value", ["a"]],
    ['{"a": .5}', "value", ["a"]],
    ['{"a": 5x}', "value", ["a"]],
    ['{"a": 1e999}', "value", ["a"]],
    ['{"a": NaN}', "value", ["a"]],
    ['{"a": True}', "value", ["a"]],
    ['{"a": truex}', "value", ["a"]],
    ["{\"a\": 'x'}", "value", ["a"]],
    ['{"a": "line\nbreak"}', "value", ["a"]],
    ['{"a": "\\x"}', "value", ["a"]],
    ['{"a": }', "value", ["a"]],
    ['{"a": [1, ,2]}', "value", ["a", 1]],
    ['{"a": 1,}', "syntax", []],
    ['{"a": 1 "b": 2}', "syntax", []],
    ["{a: 1}", "syntax", []],
    ['{"a": 1, "a": 2}', "syntax", []],
    ['{"a": [1}', "syntax", ["a"]],
    ['{"a": 1', "end", []],
    ['{"a": "x', "end", ["a"]],
    ['{"a": [1, ', "end", ["a", 1]],
    ["{", "end", []],
    ["", "end", []],
    ["[".repeat(70) + "]".repeat(70), "syntax", Array.from({ length: 65 }, () => 0)],
  ])("refuses %s, saying where", (text, kind, path) => {
    expect(fault(text)).toMatchObject({ kind, path });
  });

  it("keeps the finished members of the outermost object", () => {
    expect(fault('{"name": "f", "arguments": {"a": 1, "b": x}}').members).toEqual({ name: "f" });
  });
});

test.each([
  ['{"a": 1}', 0, { value: { a: 1 }, around: false }],
  [" [1]\n", 0, { value: [1], around: false }],
  ["1 2", 0, { value: 1, around: true }],
  ["Here: {} !", 6, { value: {}, around: true }],
  ['{"a": 1, "a": 2}', 0, undefined],
  ["none", -1, undefined],
])("a value in a text, and whether it stands alone: %j from %i", (text, start, expected) => {
  expect(jsonIn(text, start)).toEqual(expected);
});
