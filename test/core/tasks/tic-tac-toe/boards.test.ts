import { expect, test } from "vitest";
import {
  emptyBoard,
  markToMove,
  outcome,
  plies,
  winningSquares,
  type Board,
} from "../../../../core/tasks/tic-tac-toe/board.ts";
import {
  allBoards,
  generateBoards,
  hashBoards,
  hashLines,
  parseRow,
  reachableBoards,
  toBoard,
  toRow,
} from "../../../../core/tasks/tic-tac-toe/boards.ts";
import { gameValue } from "../../../../core/tasks/tic-tac-toe/minimax.ts";
import { boardRewards } from "../../../../core/tasks/tic-tac-toe/reward.ts";
import { allClasses, splitBoards, splitClasses, stratum } from "../../../../core/tasks/tic-tac-toe/split.ts";
import { canonicalBoard, canonicalSquare, images } from "../../../../core/tasks/tic-tac-toe/symmetry.ts";

const canWin = (board: Board) => winningSquares(board, "X").length > 0;
const count = <T>(items: readonly T[], test: (item: T) => boolean) => items.filter(test).length;

test("the space has the published counts, boards and classes", () => {
  const boards = allBoards();
  const classes = allClasses();
  const rows = [0, 2, 4, 6].map((n) => [
    count(boards, (b) => plies(b) === n),
    count(boards, (b) => plies(b) === n && canWin(b)),
    count(classes, (b) => plies(b) === n),
    count(classes, (b) => plies(b) === n && canWin(b)),
  ]);
  expect(rows).toEqual([
    [1, 0, 1, 0],
    [72, 0, 12, 0],
    [756, 360, 108, 54],
    [1372, 996, 183, 130],
  ]);
  expect([boards.length, count(boards, canWin), classes.length, count(classes, canWin)]).toEqual([
    2201, 1356, 304, 184,
  ]);
});

test("positions outside the generator's reach are counted too", () => {
  const reachable = reachableBoards();
  const classesOf = (boards: Board[]) => new Set(boards.map(canonicalBoard)).size;
  expect([reachable.length, classesOf(reachable)]).toEqual([5478, 765]);

  const running = reachable.filter((b) => outcome(b) === undefined);
  const last = running.filter((b) => plies(b) === 8);
  expect([last.length, count(last, canWin), classesOf(last), classesOf(last.filter(canWin))]).toEqual([
    222, 142, 34, 23,
  ]);
  const forX = running.filter((b) => markToMove(b) === "X");
  expect([forX.length, classesOf(forX)]).toEqual([2423, 338]);
  const forO = running.filter((b) => markToMove(b) === "O");
  expect([forO.length, classesOf(forO)]).toEqual([2097, 289]);
});

test("golden hashes: boards, canonical boards, reward table", () => {
  expect(hashBoards(allBoards())).toBe("11920376abcc3986d8452e6c603cfba4f839fda1341b7ff571c1e7337c00d7b3");
  expect(hashBoards(allClasses())).toBe("ea656e82017960890dab1c6bad5499cc1cd0786675131d0ca43b0693cb124154");
  const table = allBoards().map(
    (b) =>
      `${b} ${boardRewards(b)
        .rewards.map((reward) => reward.toFixed(1))
        .join(" ")}`,
  );
  expect(table[0]).toBe("......... 0.8 0.8 0.8 0.8 0.8 0.8 0.8 0.8 0.8");
  expect(hashLines(table)).toBe("f4e2bd915e95cfe91dfb10c2f3f7247b02536db09f0065538e0c46a100e9c3b1");
});

test("class sizes and game values", () => {
  const sizes = allClasses().map((board) => new Set(images(board)).size);
  expect([8, 4, 2, 1].map((size) => count(sizes, (s) => s === size))).toEqual([248, 53, 2, 1]);
  const values = (boards: readonly Board[]) => [1, 0, -1].map((value) => count(boards, (b) => gameValue(b) === value));
  expect(values(allBoards())).toEqual([1688, 361, 152]);
  expect(values(allClasses())).toEqual([231, 51, 22]);
});

test("a square has one canonical number on all images, also where the board is symmetric", () => {
  expect(new Set([1, 3, 7, 9].map((square) => canonicalSquare(emptyBoard, square))).size).toBe(1);
  expect(new Set([2, 4, 6, 8].map((square) => canonicalSquare(emptyBoard, square))).size).toBe(1);
  // The winning move of this board is one move, wherever the board is turned to.
  const winning = new Set(images("XX.OO....").map((image) => canonicalSquare(image, winningSquares(image, "X")[0])));
  expect(winning.size).toBe(1);
});

test("generated boards are seeded, unique, unfinished, X to move", () => {
  const rows = generateBoards({ seed: 2026, count: 2048 });
  const boards = rows.map(toBoard);
  expect(rows[0].id).toBe("generated-00000");
  expect(rows[2047].id).toBe("generated-02047");
  expect(new Set(boards).size).toBe(2048);
  const known = new Set(allBoards());
  expect(boards.every((board) => known.has(board))).toBe(true);
  expect(generateBoards({ seed: 2026, count: 2048 })).toEqual(rows);
  expect(hashBoards(generateBoards({ seed: 2027, count: 128 }).map(toBoard))).not.toBe(
    hashBoards(rows.slice(0, 128).map(toBoard)),
  );
  expect(generateBoards()).toHaveLength(128);
});

test("asking for more boards than exist is an error, asking for all of them is not", () => {
  expect(generateBoards({ count: 2201 })).toHaveLength(2201);
  expect(() => generateBoards({ count: 2202 })).toThrow(/2202 .* there are 2201/);
  expect(() => generateBoards({ count: 0 })).toThrow(/cannot generate 0/);
});

test("the split holds out classes by stratum; no class is in two parts", () => {
  const parts = splitClasses(2026);
  const all = [...parts.train, ...parts.validation, ...parts["held-out"]];
  expect(all).toHaveLength(304);
  expect(new Set(all).size).toBe(304);

  const strata = ["0-no-win", "2-no-win", "4-no-win", "4-win", "6-no-win", "6-win"];
  const sizes = (classes: Board[]) => strata.map((name) => count(classes, (board) => stratum(board) === name));
  expect(sizes(all)).toEqual([1, 12, 54, 54, 53, 130]);
  expect(sizes(parts["held-out"])).toEqual([0, 2, 11, 11, 11, 26]);
  expect(sizes(parts.validation)).toEqual([0, 1, 5, 5, 5, 13]);
  expect(parts.train).toContain(emptyBoard);

  const boards = (["train", "validation", "held-out"] as const).map((split) => splitBoards(split, 2026));
  expect(boards.flat()).toHaveLength(2201);
  const classOf = boards.map((part) => new Set(part.map(canonicalBoard)));
  for (const [i, part] of classOf.entries()) {
    for (const other of classOf.slice(i + 1)) expect([...part].filter((name) => other.has(name))).toEqual([]);
  }
  expect(splitClasses(1)["held-out"]).not.toEqual(parts["held-out"]);
  // Pinned: another held-out set makes earlier results incomparable.
  expect(hashBoards(parts["held-out"])).toBe("cd1da92ecb3460f85f55472ea18f24fbb39dcfa21a61fa7b5283137da7aa52e6");
});

test("rows from files are checked", () => {
  expect(toBoard(parseRow(toRow("X...O....", "a")))).toBe("X...O....");
  const bad = (board: unknown) => () => parseRow({ id: "a", board });
  expect(() => parseRow(null)).toThrow(/without id/);
  expect(bad([["X"]])).toThrow(/3 rows/);
  expect(
    bad([
      ["X", "O"],
      [".", ".", "."],
      [".", ".", "."],
    ]),
  ).toThrow(/3 cells/);
  expect(
    bad([
      ["X", "o", "."],
      [".", ".", "."],
      [".", ".", "."],
    ]),
  ).toThrow(/3 cells/);
  expect(
    bad([
      ["X", ".", "."],
      [".", ".", "."],
      [".", ".", "."],
    ]),
  ).toThrow(/not X's turn/);
  expect(
    bad([
      ["X", "X", "X"],
      ["O", "O", "."],
      ["O", ".", "."],
    ]),
  ).toThrow(/over/);
});
