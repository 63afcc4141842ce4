import { describe, expect, test } from "vitest";
import { defaultSplitSeed } from "../../../core/contract/eval.ts";
import { defaultsFor } from "../../../core/contract/defaults.ts";
import { Random } from "../../../core/contract/random.ts";
import { boardSource, call, facts, moveAnswer } from "../../../core/starter/corpus.ts";
import { splitClasses } from "../../../core/tasks/tic-tac-toe/split.ts";
import { canonicalBoard } from "../../../core/tasks/tic-tac-toe/symmetry.ts";

describe("the starter's exchanges", () => {
  test("never show a board of a held-out or validation class", () => {
    const classes = splitClasses();
    const barred = new Set([...classes["held-out"], ...classes.validation]);
    expect(barred.size).toBeGreaterThan(80);
    const draw = boardSource();
    const random = new Random("leak");
    const seen = new Set(Array.from({ length: 30_000 }, () => canonicalBoard(draw(random))));
    expect(seen.size).toBeGreaterThan(500);
    for (const board of seen) expect(barred.has(board), board).toBe(false);
  });

  test("use the split that evaluation uses by default", () => {
    expect(defaultsFor({ model: "starter", task: "tic-tac-toe" }).split_seed).toBe(defaultSplitSeed);
  });

  test("call every square equally often, whatever the board", () => {
    const random = new Random("uniform");
    for (const board of ["XX.OO....", "X........", "XOXOXO.X."]) {
      const counts = new Map<string, number>();
      for (let i = 0; i < 9000; i++) {
        const first = /"square": (\d)/.exec(moveAnswer(board, random))?.[1];
        if (first !== undefined) counts.set(first, (counts.get(first) ?? 0) + 1);
      }
      const total = [...counts.values()].reduce((a, b) => a + b, 0);
      expect(counts.size).toBe(9);
      for (const count of counts.values()) expect(Math.abs(count / total - 1 / 9)).toBeLessThan(0.015);
    }
  });

  test("say only what is true", () => {
    const random = new Random("truth");
    const draw = boardSource();
    let sentences = 0;
    for (let i = 0; i < 2000; i++) {
      const board = draw(random);
      for (const line of moveAnswer(board, random).split("\n")) {
        const fact = facts.find(({ sentence }) => line.startsWith(sentence));
        if (fact === undefined) continue;
        const said = line.slice(fact.sentence.length + 1, -1);
        expect(said).toBe(fact.squaresOf(board).join(" ") || "none");
        sentences++;
      }
    }
    expect(sentences).toBeGreaterThan(3000);
  });

  test("contain calls as the game reads them", () => {
    expect(call(5)).toBe('<tool_call>{"name": "choose_square", "arguments": {"square": 5}}</tool_call>');
  });
});
