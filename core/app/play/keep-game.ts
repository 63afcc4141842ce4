/** Moves of a game as rows for SFT. */

import type { PlaySide } from "../../contract/api/play-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import { ticTacToeGame as game } from "../../tasks/tic-tac-toe/game.ts";
import { ticTacToe as task } from "../../tasks/tic-tac-toe/tic-tac-toe.ts";
import { keepAnswers } from "../data/keep-answer.ts";
import { boardAfter, positionAfter } from "./position.ts";

interface KeepGame {
  dataset: string;
  moves: readonly number[];
  sides: readonly PlaySide[];
  best_only: boolean;
}

/** Every row has the prompt that a model gets before the move, whoever made it. Throws `nothing-to-keep`. */
export async function keepGame({ dataset, moves, sides, best_only: bestOnly }: KeepGame) {
  const answers = positionAfter(moves).moves.flatMap(({ square, side, blunder }, i) => {
    if (!sides.includes(side) || (bestOnly && blunder)) return [];
    const name = task.tools[0].function.name;
    return [
      {
        prompt: game.prompt(boardAfter(moves.slice(0, i))),
        answer: { content: "", reasoning: "", tool_calls: [{ name, arguments: { square } }], problems: [] },
        tools: task.tools,
      },
    ];
  });
  if (answers.length === 0) {
    throw new HoneError("nothing-to-keep", "this game has no such moves", {
      fix: bestOnly ? "keep the moves of the other side too, or those that were not the best" : "make a move first",
    });
  }
  const { name, size } = await keepAnswers(dataset, answers, "play");
  return { dataset: name, kept: answers.length, rows: size };
}
