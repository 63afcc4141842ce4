import { expect, it } from "vitest";
import type { Position } from "../../../../core/contract/api/play-calls.ts";
import { allShares, bestSquares, boardOf, summarizeOdds } from "../../../../renderer/pages/play/odds-summary.ts";

const position: Position = {
  board: "XX.OO....",
  moves: [],
  to_move: "x",
  result: null,
  line: null,
  values: [null, null, "win", null, null, "draw", "loss", "loss", "loss"],
};

it("sums odds by what the moves are worth", () => {
  const squares = [0.1, 0, 0.4, 0.05, 0, 0.2, 0, 0.1, 0];
  const summary = summarizeOdds(squares, position);
  expect(summary.best).toBeCloseTo(0.4);
  expect(summary.worse).toBeCloseTo(0.3);
  expect(summary.taken).toBeCloseTo(0.15);
  expect(summary.other).toBeCloseTo(0.15);
});

it("knows all best moves, and none when the game is over", () => {
  expect(bestSquares(position)).toEqual([3]);
  expect(bestSquares({ values: Array(9).fill("draw") })).toHaveLength(9);
  expect(bestSquares({ values: Array(9).fill(null) })).toEqual([]);
});

it("lets drawn answers stand for what is not computed", () => {
  const squares = [0.3, 0, 0, 0, 0, 0, 0, 0, 0];
  const odds = { model: "m", squares, other: 0.7, drawn: null, greedy: { square: 1, failure: null, text: "" } };
  const drawn = { count: 30, plain: 10, squares: [5, 10, 0, 0, 0, 0, 0, 0, 0], failures: { no_call: 5 } };
  expect(allShares(odds, null)).toEqual(squares);
  // 20 drawn answers share 0.7: a quarter of them on square 1, half on square 2, a quarter nowhere.
  const shares = allShares(odds, drawn);
  expect(shares[0]).toBeCloseTo(0.3 + 0.175);
  expect(shares[1]).toBeCloseTo(0.35);
  expect(summarizeOdds(shares, position).other).toBeCloseTo(0.175);
});

it("draws a board from its moves", () => {
  expect(boardOf([5, 1, 9])).toBe("O...X...X");
});
