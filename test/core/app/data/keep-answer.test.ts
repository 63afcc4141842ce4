/** Good answers of a chat or a game become rows. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { keepAnswers } from "../../../../core/app/data/keep-answer.ts";
import { openData } from "../../../../core/data/open-data.ts";
import { ticTacToe } from "../../../../core/tasks/tic-tac-toe/tic-tac-toe.ts";
import { ticTacToeGame } from "../../../../core/tasks/tic-tac-toe/game.ts";

beforeAll(() => {
  vi.stubEnv("HONE_HOME", mkdtempSync(join(tmpdir(), "hone-keep-")));
});
afterAll(() => {
  vi.unstubAllEnvs();
});

const says = (content: string) => ({ content, reasoning: "", tool_calls: [], problems: [] });

test("answers and moves, added one after the other to a dataset that is made when it is needed", async () => {
  const prompt = [{ role: "user", content: "Hello" }];
  await keepAnswers("kept", [{ prompt, answer: says("Hi."), tools: [] }], "chat");
  const move = {
    content: "",
    reasoning: "centre",
    tool_calls: [{ name: "choose_square", arguments: { square: 5 } }],
    problems: [],
  };
  const board = ticTacToeGame.prompt(ticTacToeGame.start);
  const dataset = await keepAnswers("kept", [{ prompt: board, answer: move, tools: ticTacToe.tools }], "play");
  expect(dataset.history.map(({ note }) => note)).toEqual(["1 kept from chat", "1 kept from play"]);
  const data = await openData("kept");
  expect(await data.row(1)).toMatchObject({ prompt, completion: [{ role: "assistant", content: "Hi." }] });
  expect(await data.row(2)).toMatchObject({
    shape: "completion",
    prompt: board,
    tools: ticTacToe.tools,
    completion: [
      { reasoning_content: "centre", tool_calls: [{ function: { name: "choose_square", arguments: { square: 5 } } }] },
    ],
  });
});

test("an answer that says nothing is kept as what it is, and told when the data is checked", async () => {
  await keepAnswers("empty", [{ prompt: [{ role: "user", content: "Hello" }], answer: says(""), tools: [] }], "chat");
  expect((await (await openData("empty")).check()).warnings).toEqual(["an answer is empty (1 row, first on line 1)"]);
});
