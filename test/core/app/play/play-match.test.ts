import { describe, expect, it } from "vitest";
import { playMatch, requireModel } from "../../../../core/app/play/play-match.ts";
import type { MatchScore } from "../../../../core/contract/api/play-calls.ts";
import { fakePolicy } from "../../evaluate/fake-policy.ts";

const firstFree = (board: string) => board.indexOf(".") + 1;
const first = fakePolicy(firstFree);
const illegal = fakePolicy(() => "I would rather not");
const settings = { count: 3, temperature: 1, maxTokens: 8, seed: 1, signal: new AbortController().signal };

describe("playMatch", () => {
  it("counts each side by itself, and tells the score as it grows", async () => {
    const told: MatchScore[] = [];
    const score = await playMatch({ ...settings, first, second: illegal, onScore: (one) => told.push(one) });
    expect(score).toMatchObject({ done: 6, total: 6, stopped: false });
    expect(score.x).toEqual({ win: 3, draw: 0, loss: 0, illegal: 0, opponent_illegal: 3 });
    expect(score.o).toEqual({ win: 3, draw: 0, loss: 0, illegal: 0, opponent_illegal: 3 });
    expect(told.at(-1)).toEqual(score);
  });

  it("tells a fixed player that comes first from its own view", async () => {
    const score = await playMatch({ ...settings, first: "minimax", second: illegal });
    expect(score.x).toEqual({ win: 3, draw: 0, loss: 0, illegal: 0, opponent_illegal: 3 });
    const other = await playMatch({ ...settings, first: illegal, second: "minimax" });
    expect(other.o).toEqual({ win: 0, draw: 0, loss: 3, illegal: 3, opponent_illegal: 0 });
  });

  it("never loses to a model that takes the first free square when it plays perfectly", async () => {
    const score = await playMatch({ ...settings, first: "minimax", second: first });
    expect(score.x.loss + score.o.loss).toBe(0);
    expect(score.games).toHaveLength(6);
    expect(score.games[0].moves.length).toBeGreaterThan(4);
  });

  it("keeps the games that had ended when it is stopped", async () => {
    const abort = new AbortController();
    let asked = 0;
    const slow = fakePolicy((board, _random, { signal }) => {
      if (++asked === 150) abort.abort();
      return signal?.aborted === true ? "cancelled" : firstFree(board);
    });
    const score = await playMatch({ ...settings, count: 40, first: slow, second: "random", signal: abort.signal });
    expect(score.stopped).toBe(true);
    expect(score.done).toBeLessThan(80);
    expect(score.done).toBeGreaterThan(0);
  });

  it("needs a model", () => {
    expect(() => requireModel({ kind: "random" }, { kind: "minimax" })).toThrow("neither player is a model");
  });
});
