/** Which known word is suggested for a mistyped one. */

import { expect, test } from "vitest";
import { nearest } from "../../../core/contract/nearest.ts";

test.each<[string, string[], string | undefined]>([
  ["nope", ["e", "no", "pairs"], undefined],
  ["a", ["b"], undefined],
  ["ab", ["b", "ba"], "ba"],
  ["rwos", ["e", "rows"], "rows"],
  ["Rows", ["rows"], "rows"],
  ["batch", ["batch_size"], "batch_size"],
  ["my-pairs", ["pairs"], "pairs"],
  ["unlike", ["pairs", "rows"], undefined],
])("%s among %j: %s", (word, known, expected) => {
  expect(nearest(word, known)).toBe(expected);
});
