import { expect, test } from "vitest";
import type { Mark } from "../../../../core/tasks/tic-tac-toe/board.ts";
import { squares, winningSquares } from "../../../../core/tasks/tic-tac-toe/board.ts";
import { allBoards } from "../../../../core/tasks/tic-tac-toe/boards.ts";
import { gameValue } from "../../../../core/tasks/tic-tac-toe/minimax.ts";
import {
  boardReference,
  classReference,
  gameOdds,
  referenceLines,
  type FixedPlayer,
} from "../../../../core/tasks/tic-tac-toe/reference.ts";
import { boardRewards, moveReward } from "../../../../core/tasks/tic-tac-toe/reward.ts";
import { splitBoards } from "../../../../core/tasks/tic-tac-toe/split.ts";
import { canonicalBoard } from "../../../../core/tasks/tic-tac-toe/symmetry.ts";
import { splits } from "../../../../core/contract/eval.ts";

test.each([
  [".........", 0, "0.8 0.8 0.8 0.8 0.8 0.8 0.8 0.8 0.8"],
  ["X...O....", 0, "-1 0.8 0.8 0.8 -1 0.8 0.8 0.8 0.8"],
  [".X..O....", 0, "0.8 -1 0.8 0.8 -1 0.8 0.8 0 0.8"],
  ["XO.......", 1, "-1 -1 0 0.8 0.8 0 0.8 0 0"],
  ["XX.OO....", 1, "-1 -1 1 -1 -1 0 0 0 0"],
  ["X.O...XO.", 1, "-1 0 -1 1 0.8 0 -1 -1 0.8"],
  ["...X..XOO", 1, "1 0.8 0.8 -1 0.8 0.8 -1 -1 -1"],
  [".XOXXO.O.", 0, "0 -1 -1 -1 -1 -1 0 -1 0.8"],
  ["O.OXOX.X.", -1, "-1 0.8 -1 -1 -1 -1 0.8 -1 0.8"],
])("golden board %s", (board, value, rewards) => {
  expect(gameValue(board)).toBe(value);
  expect(squares.map((square) => moveReward(board, square)).join(" ")).toBe(rewards);
});

test("counts of what moves earn", () => {
  const all = allBoards().map(boardRewards);
  const legal = all.flatMap(({ rewards }) => rewards.filter((reward) => reward >= 0));
  const counts = [1, 0.8, 0].map((level) => legal.filter((reward) => reward === level).length);
  expect([legal.length, ...counts]).toEqual([8409, 1692, 2805, 3912]);

  const missedWinPays = all.filter(({ rewards }) => rewards.includes(1) && rewards.includes(0.8));
  expect(missedWinPays).toHaveLength(536);
  const anyMovePays = allBoards().filter((board) => !boardRewards(board).rewards.includes(0));
  expect([anyMovePays.length, new Set(anyMovePays.map(canonicalBoard)).size]).toEqual([469, 70]);
});

test("threats of O where X cannot win at once", () => {
  const threatened = allBoards().filter(
    (board) => winningSquares(board, "X").length === 0 && winningSquares(board, "O").length > 0,
  );
  expect([threatened.length, new Set(threatened.map(canonicalBoard)).size]).toEqual([472, 67]);
  const single = allBoards()
    .map(boardRewards)
    .filter((board) => board.singleThreat !== undefined);
  expect(single).toHaveLength(356);
  const onlyBlockPays = single.filter(
    ({ rewards, singleThreat }) => rewards[singleThreat! - 1] === 0.8 && rewards.filter((r) => r === 0.8).length === 1,
  );
  expect(onlyBlockPays).toHaveLength(320);
});

test("reference lines are what enumeration gives, and round to the published figures", () => {
  for (const [constants, byClass] of [
    [boardReference, false],
    [classReference, true],
  ] as const) {
    const exact = referenceLines(allBoards(), { byClass });
    for (const name of Object.keys(exact) as (keyof typeof exact)[])
      expect(constants[name]).toBeCloseTo(exact[name], 12);
  }
  const rounded = (lines: typeof boardReference) =>
    Object.values<number>({ ...lines }).map((value) => value.toFixed(3));
  expect(rounded(boardReference)).toEqual(["-1.000", "-0.377", "0.172", "0.483", "0.923"]);
  expect(
    [classReference.worst_legal, classReference.uniform_legal, classReference.best].map((v) => v.toFixed(3)),
  ).toEqual(["0.186", "0.487", "0.921"]);
});

test("every reward level and every reference line can be reached in every split", () => {
  for (const split of splits) {
    const levels = new Set(splitBoards(split).flatMap((board) => boardRewards(board).rewards));
    expect([...levels].sort()).toEqual([-1, 0, 0.8, 1]);
    const lines = referenceLines(splitBoards(split));
    expect(lines.best - lines.uniform_legal).toBeGreaterThan(0.35);
  }
});

test.each<[FixedPlayer, FixedPlayer, string[]]>([
  ["random", "random", ["58.5", "12.7", "28.8"]],
  ["random", "minimax", ["0.0", "22.3", "77.7"]],
  ["minimax", "random", ["96.8", "3.2", "0.0"]],
  ["minimax", "minimax", ["0.0", "100.0", "0.0"]],
])("whole games: X %s, O %s", (x, o, percent) => {
  const players: Record<Mark, FixedPlayer> = { X: x, O: o };
  const odds = gameOdds(players);
  expect([odds.x, odds.draw, odds.o].map((share) => (100 * share).toFixed(1))).toEqual(percent);
  expect(odds.x + odds.draw + odds.o).toBeCloseTo(1, 12);
});
