import { expect, test } from "vitest";
import { Random } from "../../../../core/contract/random.ts";
import { splits } from "../../../../core/contract/eval.ts";
import { TextColumn, TextNumbers } from "../../../../core/tasks/user/columns.ts";
import { RowStore } from "../../../../core/tasks/user/row-store.ts";
import { dealRows, TiedGroups } from "../../../../core/tasks/user/split-keys.ts";

const texts = Array.from({ length: 2000 }, (_, i) => `${i} ${"ä🙂x".repeat(i % 7)}`).concat("");

test("texts come back as they were, and are found", () => {
  const column = new TextColumn();
  for (const text of texts) column.push(text);
  expect(column.length).toBe(texts.length);
  expect(texts.map((_, i) => column.get(i))).toEqual(texts);
  expect(column.indexOf(texts[1234])).toBe(1234);
  expect(column.indexOf("")).toBe(2000);
  expect(column.indexOf("elsewhere")).toBe(-1);
});

test("different texts are numbered as they come, however many", () => {
  const numbers = new TextNumbers();
  expect(texts.map((text) => numbers.numberOf(text))).toEqual(texts.map((_, i) => i));
  expect(texts.map((text) => numbers.numberOf(text))).toEqual(texts.map((_, i) => i));
  expect(numbers.size).toBe(texts.length);
});

test.each([{ memoryBytes: 1 }, { memoryBytes: 100 }, { memoryBytes: 2 ** 20 }])(
  "rows in memory and in a file come back in any order: %o",
  (limit) => {
    const store = new RowStore(limit);
    for (const text of texts) store.append(text);
    const order = new Random(1).shuffle([...texts.keys()]);
    expect(order.map((i) => store.get(i))).toEqual(order.map((i) => texts[i]));
    expect(store.length).toBe(texts.length);
    store.close();
  },
);

test("the parts of keys are what they always were", () => {
  const keys = Array.from({ length: 12 }, (_, i) => `key ${i % 6}`);
  const deal = (order: readonly string[]) => {
    const dealt = dealRows(order.length, (i) => order[i], { heldOut: 0.2, validation: 0.2 }, 2026);
    return new Map(order.map((key, i) => [key, splits[dealt[i]]]));
  };
  const parts = deal(keys);
  expect(Object.fromEntries(parts)).toEqual({
    "key 0": "held-out",
    "key 1": "train",
    "key 2": "train",
    "key 3": "train",
    "key 4": "train",
    "key 5": "validation",
  });
  expect(deal(keys.toReversed())).toEqual(parts);
});

test("groups that share a prompt go by one name", () => {
  const tied = new TiedGroups();
  tied.add(0, "p", "a");
  tied.add(1, "q", "b");
  tied.add(2, "p", "c");
  tied.add(3, "r", "d");
  expect(tied.rowOf("a")).toBe(tied.rowOf("c"));
  expect(new Set(["a", "b", "d"].map((group) => tied.rowOf(group))).size).toBe(3);
});
