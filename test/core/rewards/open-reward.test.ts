/** Reward files: what is read, what is refused and how, and how parts make a reward. */

import { expect, test } from "vitest";
import type { RewardFile } from "../../../core/contract/reward.ts";
import { failure, file, open, sample } from "./sample.ts";

test("the reward is the sum of weight × value", async () => {
  const path = file(
    "sum.json",
    JSON.stringify({
      parts: [
        { name: "right", type: "exact_match", weight: 2 },
        { name: "short", type: "length", unit: "words", max: 3, weight: -0.5 },
      ],
    }),
  );
  const reward = await open(path);
  expect(reward.parts).toEqual([
    { name: "right", weight: 2, description: "1 when the answer is the column answer, else 0" },
    { name: "short", weight: -0.5, description: "1 when the answer has 0 to 3 words, else 0" },
  ]);
  expect(await reward.score(sample("4", { answer: 4 }))).toEqual({ reward: 1.5, parts: { right: 1, short: 1 } });
  expect(reward.usage()).toBeUndefined();
});

test("a name is the type unless it is given; a byte-order mark is no mistake", async () => {
  const reward = await open(file("mark.json", '\uFEFF{"parts": [{"type": "exact_match"}]}'));
  expect(reward.parts.map(({ name, weight }) => [name, weight])).toEqual([["exact_match", 1]]);
});

const part = { type: "exact_match" } as const;

test.each<[string, unknown, string]>([
  ["no object", [], 'it must be an object with a list "parts"'],
  ["no list", { parts: {} }, 'it must be an object with a list "parts"'],
  ["no parts", { parts: [] }, "it has no parts → types are exact_match, numeric"],
  ["a stray key", { parts: [part], weights: [] }, 'there is no key "weights" → the only key is "parts"'],
  ["no type", { parts: [{ name: "x" }] }, "part 1: it has no type"],
  [
    "a mistyped type",
    { parts: [part, { type: "exactmatch" }] },
    'part 2: there is no type "exactmatch" → did you mean "exact_match"?',
  ],
  ["a built-in of objects", { parts: [{ type: "constructor" }] }, 'there is no type "constructor"'],
  [
    "a mistyped option",
    { parts: [{ ...part, ignorecase: true }] },
    'there is no option "ignorecase" → did you mean "ignore_case"?',
  ],
  [
    "a wrong value",
    { parts: [{ ...part, weight: "2" }] },
    "part 1 (exact_match): weight: Invalid input: expected number",
  ],
  ["an option missing", { parts: [{ type: "length" }] }, "part 1 (length): max is missing"],
  ["a union missing", { parts: [{ type: "command" }] }, "part 1 (command): command is missing"],
  [
    "a union of the wrong type",
    { parts: [{ type: "command", command: 5 }] },
    "part 1 (command): command: it must be a command as text, or a list of its words",
  ],
  ["a bad name", { parts: [{ ...part, name: "a b" }] }, "name: a name has letters, digits"],
  ["a name twice", { parts: [part, part] }, 'part 2: the name "exact_match" stands twice'],
  ["two sources", { parts: [{ ...part, column: "a", value: 1 }] }, "column and value contradict each other"],
  ["no object as part", { parts: [5] }, "part 1: a part must be an object"],
  ["words without words", { parts: [{ type: "words" }] }, "give required, forbidden or column"],
])("%s is refused", async (_, content, words) => {
  expect(await failure(open(content as RewardFile))).toMatch(/^bad-reward-file: /);
  expect(await failure(open(file("wrong.json", JSON.stringify(content))))).toContain(words);
});

test("a file that is not there, is no JSON, or is of no kind", async () => {
  expect(await failure(open("nowhere.json"))).toMatch(/no-such-file: .*nowhere.json → `hone reward new/);
  expect(await failure(open("nowhere.ts"))).toMatch(/no-such-file: /);
  expect(await failure(open(file("broken.json", "{parts}")))).toMatch(/bad-reward-file: .*broken.json: it is not JSON/);
  expect(await failure(open(file("reward.txt", "x")))).toContain("a reward is a .json, .ts, .js or .py file");
});

test("a part that cannot be opened ends those before it", async () => {
  file("good.js", "export default () => 1");
  const parts: RewardFile["parts"] = [
    { type: "script", file: "good.js" },
    { type: "regex", pattern: "(" },
  ];
  // A sandbox that was left open would keep this process from ending; here only the error can be seen.
  expect(await failure(open({ parts }))).toContain("bad-reward-file");
});

test("a part that fails names itself, while others are under way", async () => {
  file("slow.js", "export default () => { throw new Error('late') }");
  const reward = await open({ parts: [{ type: "script", file: "slow.js" }, { type: "exact_match" }] });
  expect(await failure(reward.score(sample("x")))).toContain("the reward part exact_match cannot score");
});

test("what is wrong when a part is opened is told with the reward file's name", async () => {
  const path = file("opened.json", '{"parts": [{"type": "length", "min": 10, "max": 5}]}');
  expect(await failure(open(path))).toContain(`bad-reward-file: ${path}: reward part length: min 10 is above max 5`);
});
