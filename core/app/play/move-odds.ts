/** How likely each square is as a model's answer: exactly, by scoring the nine calls, and by drawing answers. */

import type { MoveOdds, SampledOdds } from "../../contract/api/play-calls.ts";
import { deriveSeed } from "../../contract/random.ts";
import { answerTokens } from "../../evaluate/trained-row.ts";
import { scoreRows } from "../../evaluate/score-rows.ts";
import { readMove } from "../../tasks/tic-tac-toe/answer.ts";
import { squares, type Board } from "../../tasks/tic-tac-toe/board.ts";
import { toRow } from "../../tasks/tic-tac-toe/boards.ts";
import { squareCall } from "../../tasks/tic-tac-toe/examples.ts";
import { seenBoard } from "../../tasks/tic-tac-toe/game.ts";
import { ticTacToe as task } from "../../tasks/tic-tac-toe/tic-tac-toe.ts";
import type { OpenPolicy } from "../session.ts";

/** Both sides of a game look alike to a model, so odds go by the board as it sees it. */
export async function moveOdds(
  { model, chat, policy, files }: OpenPolicy,
  board: Board,
  maxTokens: number,
  signal?: AbortSignal,
): Promise<MoveOdds> {
  const seen = seenBoard(board);
  const prompt = chat.renderPrompt(task.prompt(toRow(seen)), task.tools);
  const rows = squares.map((square) => {
    const row = answerTokens(chat, task, toRow(seen), [squareCall(square)]);
    // One array for all nine, so that the prompt is computed once.
    return sameTokens(row.promptIds, prompt) ? { ...row, promptIds: prompt } : row;
  });
  const options = signal === undefined ? {} : { signal };
  const scores = await scoreRows((batch) => model.forward(batch), rows, options);
  const [answer] = await policy.answer([{ ...item(seen), promptTokens: prompt, seed: 0 }], {
    temperature: 0,
    maxTokens,
    ...options,
  });
  const move = readMove(seen, answer);
  const shares = scores.map(({ logprob }) => Math.exp(logprob));
  return {
    model: files.name,
    squares: shares,
    other: Math.max(0, 1 - shares.reduce((sum, share) => sum + share, 0)),
    greedy: {
      square: move.square ?? null,
      failure: "failure" in move ? move.failure : null,
      text: answer.text,
    },
  };
}

export async function sampledOdds(
  { policy, files }: OpenPolicy,
  board: Board,
  { count, seed, maxTokens }: { count: number; seed: number; maxTokens: number },
  signal?: AbortSignal,
): Promise<SampledOdds> {
  const seen = seenBoard(board);
  const drawn = policy.answerGroup({ ...item(seen), seed: deriveSeed(seed, "sampled odds") }, count, {
    temperature: 1,
    maxTokens,
    ...(signal !== undefined && { signal }),
  });
  const counts = squares.map(() => 0);
  const failures: Record<string, number> = {};
  for (const answer of await Promise.all(drawn)) {
    const move = readMove(seen, answer);
    if (move.square !== undefined) counts[move.square - 1]++;
    else if ("failure" in move) failures[move.failure] = (failures[move.failure] ?? 0) + 1;
  }
  return { model: files.name, count, squares: counts, failures };
}

function item(seen: Board) {
  return {
    messages: task.prompt(toRow(seen)),
    tools: task.tools,
    ...(task.toolChoice !== undefined && { toolChoice: task.toolChoice }),
  };
}

function sameTokens(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i]);
}
