/** Built-in parts that judge text: value by value. */

import { describe, expect, test } from "vitest";
import type { RewardFile } from "../../../core/contract/reward.ts";
import { failure, open, sample, value } from "./sample.ts";

type Part = RewardFile["parts"][number];

describe("exact_match", () => {
  const part: Part = { type: "exact_match" };
  test.each<[string, Part, string, unknown, number]>([
    ["the column", part, "Paris", "Paris", 1],
    ["another word", part, "Rome", "Paris", 0],
    ["space around it", part, " Paris\n", "Paris", 1],
    ["space, not trimmed", { ...part, trim: false }, " Paris", "Paris", 0],
    ["case", part, "paris", "Paris", 0],
    ["case ignored", { ...part, ignore_case: true }, "paris", "Paris", 1],
    ["a number column", part, "4", 4, 1],
    ["one of several", part, "Paris", ["paris", "Paris"], 1],
    ["a fixed value", { ...part, value: "yes" }, "yes", "no", 1],
  ])("%s", async (_, options, answer, right, worth) => {
    expect(await value(options, sample(answer, { answer: right }))).toBe(worth);
  });

  test("of the reasoning", async () => {
    const thought = sample("4", { answer: "two and two" }, { reasoning: "two and two" });
    expect(await value({ ...part, text: "reasoning" }, thought)).toBe(1);
  });

  test("a row without the column is named, with its columns", async () => {
    expect(await failure(value({ ...part, column: "solution" }, sample("x", { answer: 1, topic: 2 })))).toBe(
      'bad-reward: the reward part exact_match cannot score the answer "x" to row row-1: its row has no column "solution" → the row has the columns answer, topic',
    );
  });
});

describe("numeric", () => {
  test.each<[string, Partial<Part>, unknown, number]>([
    ["The answer is 42.", {}, 42, 1],
    ["It costs $1,234.50", {}, 1234.5, 1],
    ["1.2e3", {}, 1200, 1],
    ["−7 degrees", {}, -7, 1],
    ["9-4", {}, 4, 1],
    ["9-4", { pick: "first" }, 9, 1],
    ["4, then 5", { pick: "only" }, 5, 0],
    ["5", { pick: "only" }, 5, 1],
    ["see A1", {}, 1, 0],
    ["no number", {}, 1, 0],
    ["3.1", { abs: 0.05 }, 3.14, 1],
    ["3.0", { abs: 0.05 }, 3.14, 0],
    ["101", { rel: 0.01 }, 100, 1],
    ["102", { rel: 0.01 }, 100, 0],
    ["72", {}, "48 / 2 = 24, so 48 + 24 = 72\n#### 72", 1],
    ["7", {}, [6, 7], 1],
  ])("%s %o, right is %s: %d", async (answer, options, right, worth) => {
    expect(await value({ type: "numeric", ...options }, sample(answer, { answer: right }))).toBe(worth);
  });

  test("a column without a number is no right answer", async () => {
    expect(await failure(value({ type: "numeric" }, sample("4", { answer: "four" })))).toContain(
      "there is no number in the column answer: four",
    );
  });
});

describe("regex", () => {
  test.each<[string, Partial<Part>, number]>([
    ["the cat sat", { pattern: "c.t" }, 1],
    ["the cat sat", { pattern: "c.t", full: true }, 0],
    ["cat", { pattern: "c.t|dog", full: true }, 1],
    ["CAT", { pattern: "cat" }, 0],
    ["CAT", { pattern: "cat", flags: "i" }, 1],
    ["cat", { pattern: "cat", flags: "g" }, 1],
    ["cat", { pattern: "dog", negate: true }, 1],
    ["dog", { pattern: "dog", negate: true }, 0],
  ])("%s %o: %d", async (answer, options, worth) => {
    expect(await value({ type: "regex", ...options }, sample(answer))).toBe(worth);
  });

  test("an endless pattern is stopped, and the sample named", async () => {
    const text = await failure(value({ type: "regex", pattern: "^(a+)+$" }, sample(`${"a".repeat(40)}b`)));
    expect(text).toMatch(/^bad-reward: .*the pattern \/\^\(a\+\)\+\$\/ took longer than 1 s/);
  });

  test("a pattern that is none is refused when it is opened", async () => {
    expect(await failure(open({ parts: [{ type: "regex", pattern: "(" }] }))).toContain(
      "bad-reward-file: reward part regex",
    );
  });
});

describe("length", () => {
  const five = "one two three four five";
  test.each<[Partial<Part>, number]>([
    [{ unit: "words", max: 5 }, 1],
    [{ unit: "words", max: 4 }, 0],
    [{ unit: "words", min: 6, max: 9 }, 0],
    [{ unit: "words", max: 3, soft: 4 }, 0.5],
    [{ unit: "words", min: 7, max: 9, soft: 8 }, 0.75],
    [{ unit: "words", max: 1, soft: 2 }, 0],
    [{ unit: "characters", max: 23 }, 1],
    [{ unit: "characters", max: 22 }, 0],
    [{ max: 2 }, 1],
    [{ max: 1 }, 0],
  ])("%o: %d", async (options, worth) => {
    // Three ids, of which the model wrote two.
    expect(await value({ type: "length", ...options }, sample(five, {}, { loss_mask: [1, 0, 1] }))).toBe(worth);
  });

  test("an empty answer has no words", async () => {
    expect(await value({ type: "length", unit: "words", min: 1, max: 9 }, sample(""))).toBe(0);
  });

  test("min above max is refused", async () => {
    expect(await failure(open({ parts: [{ type: "length", min: 9, max: 3 }] }))).toContain("min 9 is above max 3");
  });
});

describe("format_tags", () => {
  const right = "<think>hm</think>\n<answer>4</answer>";
  test.each<[string, Partial<Part>, number]>([
    [right, {}, 1],
    ["<answer>4</answer><think>hm</think>", {}, 0],
    ["<think>hm</think><answer>4", {}, 0],
    ["<think>a</think><think>b</think><answer>4</answer>", {}, 0],
    [`So: ${right}`, {}, 0],
    [`So: ${right}`, { outside: true }, 1],
    ["hm</think><answer>4</answer>", {}, 0],
    ["hm</think><answer>4</answer>", { opened: true }, 1],
    ["<answer>4</answer>", { partial: true }, 2 / 3],
    ["4", { partial: true, outside: true }, 0],
    ["", { partial: true }, 0],
    ["<x>1</x>", { tags: ["x"] }, 1],
  ])("%s %o: %d", async (text, options, worth) => {
    // The parser has taken the thinking out of `answer`; the tags are looked for in what the model wrote.
    expect(await value({ type: "format_tags", ...options }, sample("4", {}, { completion: text }))).toBe(worth);
  });
});

describe("similarity", () => {
  test.each<[string, string, Partial<Part>, number]>([
    ["kitten", "sitting", {}, 1 - 3 / 7],
    ["", "", {}, 1],
    ["", "abc", {}, 0],
    ["ABC", "abc", {}, 0],
    ["ABC", "abc", { ignore_case: true }, 1],
    ["a big dog", "a small dog", { unit: "words" }, 2 / 3],
    ["👍", "👎", {}, 0],
  ])("%s, %s %o: %d", async (answer, right, options, worth) => {
    expect(await value({ type: "similarity", ...options }, sample(answer, { answer: right }))).toBeCloseTo(worth, 12);
  });

  test("texts too long to compare are refused, not waited for", async () => {
    const text = await failure(value({ type: "similarity" }, sample("x".repeat(9000), { answer: "y" })));
    expect(text).toContain('9000 characters are too many to compare (at most 8192) → "unit": "words"');
  });
});

describe("words", () => {
  test.each<[string, Partial<Part>, number]>([
    ["red and blue", { required: ["red", "blue"] }, 1],
    ["red", { required: ["red", "blue"] }, 0.5],
    ["Red", { required: ["red"] }, 1],
    ["Red", { required: ["red"], ignore_case: false }, 0],
    ["reddish", { required: ["red"] }, 0],
    ["reddish", { required: ["red"], whole: false }, 1],
    ["C++ it is", { required: ["C++"] }, 1],
    ["I am sorry", { forbidden: ["sorry"] }, 0],
    ["fine", { forbidden: ["sorry"] }, 1],
    ["red, sorry", { required: ["red"], forbidden: ["sorry"] }, 0],
    ["green grass", { column: "list" }, 0.5],
    ["green grass", { column: "text" }, 0.5],
  ])("%s %o: %d", async (answer, options, worth) => {
    const row = { list: ["green", "tree"], text: "green, tree" };
    expect(await value({ type: "words", ...options }, sample(answer, row))).toBe(worth);
  });
});
