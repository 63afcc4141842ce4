import { expect, test } from "vitest";
import { playGames, tabulateGames, type GamesOptions } from "../../../core/evaluate/games.ts";
import { emptySquares, outcome, winningSquares, type Board } from "../../../core/tasks/tic-tac-toe/board.ts";
import type { Random } from "../../../core/contract/random.ts";
import { optimalSquares } from "../../../core/tasks/tic-tac-toe/minimax.ts";
import { gameOdds } from "../../../core/tasks/tic-tac-toe/reference.ts";
import { ticTacToe } from "../../../core/tasks/tic-tac-toe/tic-tac-toe.ts";
import { fakePolicy } from "./fake-policy.ts";

const options: GamesOptions = { count: 100, seed: 1, settings: { temperature: 0, maxTokens: 10 } };
const uniform = (board: Board, random: Random) => random.pick(emptySquares(board));
const count = (board: Board, mark: string) => board.split(mark).length - 1;

test("a uniform player's games come out as the exact chances say, on both sides", async () => {
  const games = 2000;
  const records = await playGames(ticTacToe, fakePolicy(uniform), { ...options, count: games });
  const table = tabulateGames(records, []);
  const close = (counted: number, chance: number) => {
    // Five standard errors; the seed is fixed.
    expect(Math.abs(counted / games - chance)).toBeLessThanOrEqual(5 * Math.sqrt((chance * (1 - chance)) / games));
  };
  for (const opponent of ["random", "minimax"] as const) {
    const asX = gameOdds({ X: "random", O: opponent });
    close(table[opponent].x.win, asX.x);
    close(table[opponent].x.draw, asX.draw);
    close(table[opponent].x.loss, asX.o);
    const asO = gameOdds({ X: opponent, O: "random" });
    close(table[opponent].o.win, asO.o);
    close(table[opponent].o.draw, asO.draw);
    close(table[opponent].o.loss, asO.x);
  }
  expect(records.every((record) => record.result !== "illegal")).toBe(true);
});

test("a player who wins or blocks draws against minimax; side O sees itself as X with one O more", async () => {
  // Perfect play on the board as shown. On side O the shown board has O ahead by one, so it is swapped back first.
  const perfect = fakePolicy((board) => {
    const real = count(board, "O") > count(board, "X") ? board.replace(/[XO]/g, (m) => (m === "X" ? "O" : "X")) : board;
    return winningSquares(board, "X")[0] ?? optimalSquares(real)[0];
  });
  const table = tabulateGames(await playGames(ticTacToe, perfect, options), []);
  expect(table.minimax.x).toEqual({ win: 0, draw: 100, loss: 0, illegal: 0, num_moves: 9 });
  expect(table.minimax.o).toMatchObject({ win: 0, draw: 100, loss: 0, illegal: 0 });
  expect(table.random.x.loss + table.random.o.loss).toBe(0);

  const leads = new Set(perfect.seen.map((board) => count(board, "O") - count(board, "X")));
  expect(leads).toEqual(new Set([0, 1]));
  expect(perfect.seen.every((board) => outcome(board) === undefined)).toBe(true);
});

test("all running games share one model call per turn", async () => {
  const player = fakePolicy(uniform);
  await playGames(ticTacToe, player, options);
  expect(player.calls[0].size).toBe(400);
  expect(player.calls.length).toBeLessThanOrEqual(5);
});

test("an illegal or missing move loses the game and is counted apart", async () => {
  const records = await playGames(
    ticTacToe,
    fakePolicy(() => 1),
    options,
  );
  const { x } = tabulateGames(records, []).minimax;
  expect(x).toMatchObject({ win: 0, draw: 0, loss: 0, illegal: 100, num_moves: 2 });
  expect(records[0]).toMatchObject({ result: "illegal", failure: "occupied" });
  expect(records[0].answers).toHaveLength(2);

  const silent = await playGames(
    ticTacToe,
    fakePolicy(() => "…"),
    options,
  );
  expect(silent.every((record) => record.result === "illegal" && record.failure === "no_call")).toBe(true);
});

test("other models are opponents by name; their illegal moves are wins, marked as such", async () => {
  const opponents = { base: fakePolicy(uniform), broken: fakePolicy(() => "…") };
  const records = await playGames(ticTacToe, fakePolicy(uniform), { ...options, opponents });
  const table = tabulateGames(records, Object.keys(opponents));
  expect(Object.keys(table)).toEqual(["random", "minimax", "base", "broken"]);
  expect(table.broken.x).toEqual({ win: 100, draw: 0, loss: 0, illegal: 0, opponent_illegal: 100, num_moves: 1 });
  expect(table.base.x.opponent_illegal).toBe(0);
  expect(table.random.x).not.toHaveProperty("opponent_illegal");
  for (const cells of Object.values(table)) {
    for (const { win, draw, loss, illegal } of [cells.x, cells.o]) expect(win + draw + loss + illegal).toBe(100);
  }
  await expect(
    playGames(ticTacToe, fakePolicy(uniform), { ...options, opponents: { random: opponents.base } }),
  ).rejects.toThrow(/"random"/);
});

test("games are seeded, and one game does not depend on how many are played", async () => {
  const play = (seed: number, games: number) =>
    playGames(ticTacToe, fakePolicy(uniform), { ...options, seed, count: games });
  const ten = await play(1, 10);
  expect(await play(1, 10)).toEqual(ten);
  expect((await play(1, 20)).filter((record) => record.game < 10)).toEqual(ten);
  expect(await play(2, 10)).not.toEqual(ten);
});
