import { describe, expect, it } from "vitest";
import { positionAfter } from "../../../../core/app/play/position.ts";

describe("positionAfter", () => {
  it("tells what each free square is worth to the side that moves", () => {
    // X wins on 3; anything but that lets O win on 6, or is won back by X.
    const position = positionAfter([1, 4, 2, 5]);
    expect(position.board).toBe("XX.OO....");
    expect(position.to_move).toBe("x");
    expect(position.values).toEqual([null, null, "win", null, null, "draw", "loss", "loss", "loss"]);
    expect(position.result).toBeNull();
  });

  it("sees O's side from O's view", () => {
    // O to move may win on 6.
    expect(positionAfter([1, 4, 2, 5, 7]).values[5]).toBe("win");
  });

  it("marks what was thrown away, and wins that were missed", () => {
    const { moves } = positionAfter([1, 4, 2, 5, 9]);
    expect(moves.at(-1)).toEqual({ square: 9, side: "x", value: "loss", blunder: true, missed_win: true });
    expect(moves[0]).toMatchObject({ side: "x", value: "draw", blunder: false, missed_win: false });
  });

  it("names the line that won, and leaves nothing to value", () => {
    const position = positionAfter([1, 4, 2, 5, 3]);
    expect(position).toMatchObject({ result: "x", line: [1, 2, 3] });
    expect(position.values).toEqual(Array(9).fill(null));
  });

  it.each([
    [[1, 1], "move 2 cannot be on square 1: it is taken"],
    [[1, 4, 2, 5, 3, 6], "move 6 cannot be on square 6: the game is over before it"],
  ])("refuses %j", (moves, words) => {
    expect(() => positionAfter(moves)).toThrow(words);
  });
});
