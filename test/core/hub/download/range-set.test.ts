import { describe, expect, it } from "vitest";
import { Random } from "../../../../core/contract/random.ts";
import { RangeSet } from "../../../../core/hub/download/range-set.ts";

describe("RangeSet", () => {
  it("knows what is there, what is missing, and how far the beginning reaches", () => {
    const set = RangeSet.from([
      [10, 20],
      [0, 5],
    ]);
    expect(set.size).toBe(15);
    expect(set.prefix).toBe(5);
    expect(set.missing(0, 30)).toEqual([
      [5, 10],
      [20, 30],
    ]);
    set.add(5, 10);
    expect(set.intervals()).toEqual([[0, 20]]);
    expect(set.missing(3, 20)).toEqual([]);
    set.remove(2, 4);
    expect(set.intervals()).toEqual([
      [0, 2],
      [4, 20],
    ]);
  });

  it("agrees with a plain list of bytes under random changes", () => {
    const random = new Random("ranges");
    for (let round = 0; round < 50; round++) {
      const set = new RangeSet();
      const bytes = new Array<boolean>(60).fill(false);
      for (let step = 0; step < 30; step++) {
        const start = random.integer(60);
        const end = start + random.integer(61 - start);
        const isAdded = random.next() < 0.7;
        if (isAdded) set.add(start, end);
        else set.remove(start, end);
        bytes.fill(isAdded, start, end);
        expect(set.size).toBe(bytes.filter(Boolean).length);
        const first = bytes.indexOf(false);
        expect(set.prefix).toBe(first < 0 ? 60 : first);
        const missing = set
          .missing(7, 51)
          .flatMap(([from, to]) => Array.from({ length: to - from }, (_, i) => from + i));
        expect(missing).toEqual(bytes.flatMap((there, at) => (!there && at >= 7 && at < 51 ? [at] : [])));
      }
    }
  });
});
