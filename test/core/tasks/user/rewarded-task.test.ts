import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openTask } from "../../../../core/tasks/open-task.ts";
import { ticTacToe } from "../../../../core/tasks/tic-tac-toe/tic-tac-toe.ts";
import type { Action } from "../../../../core/tasks/task.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-rewarded-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = join(folder, "reward.ts");
writeFileSync(
  path,
  `export const parts = { legal: 1, corner: 0.5 };
   export default ({ tool_calls, row }) => ({
     parts: {
       legal: row.judged.failure === null ? 1 : 0,
       corner: [1, 3, 7, 9].includes(Number(tool_calls[0]?.arguments.square)) ? 1 : 0,
     },
   });`,
);

function call(square: number): Action {
  return {
    text: "",
    parsed: {
      content: "",
      reasoning: "",
      tool_calls: [{ name: "choose_square", arguments: { square } }],
      problems: [],
    },
    stopReason: "tool_call",
  };
}

test("a built-in task is scored by another reward, and keeps its rows, its outcomes and its failures", async () => {
  const task = await openTask("tic-tac-toe", { reward: path });
  const [row] = task.rows("train");
  const own = (await ticTacToe.start(row as never, 1).step(call(1))).score;
  for (const square of [1, 5]) {
    const { score, done } = await task.start(row, 1).step(call(square));
    const before = (await ticTacToe.start(row as never, 1).step(call(square))).score;
    const legal = before?.info.outcomes["legal"] === true;
    expect(done).toBe(true);
    expect(score?.reward).toBeCloseTo((legal ? 1 : 0) + (square === 1 ? 0.5 : 0));
    expect(score?.parts).toEqual({ legal: legal ? 1 : 0, corner: square === 1 ? 1 : 0 });
    expect(score?.info).toEqual(before?.info);
  }
  expect(own?.parts).toHaveProperty("win");
  expect(task.rewardParts.map(({ name }) => name)).toEqual(["legal", "corner"]);
  expect(task.rows("held-out")).toEqual(ticTacToe.rows("held-out"));
  expect(task.reference(task.rows("held-out"))).toEqual({});
  await task.close?.();
});

test("an episode that a limit ends is scored by it too", async () => {
  const task = await openTask("tic-tac-toe", { reward: path });
  const [row] = task.rows("train");
  const score = await task.start(row, 1).end("timeout");
  expect(score.reward).toBe(0);
  expect(score.info.failure).toBeDefined();
  await task.close?.();
});

test("columns of a data file mean nothing to it", async () => {
  await expect(openTask("tic-tac-toe", { reward: path, group: ["board"] })).rejects.toThrow("makes its own rows");
});
