/** How likely each square is as a model's answer: exactly, by scoring the nine calls, and by drawing answers. */

import type { DrawnAnswers, MoveOdds } from "../../contract/api/play-calls.ts";
import { deriveSeed } from "../../contract/random.ts";
import type { TokenRow } from "../../engine/micro-batches.ts";
import { answerTokens } from "../../evaluate/trained-row.ts";
import { scoreRows } from "../../evaluate/score-rows.ts";
import { readMove } from "../../tasks/tic-tac-toe/answer.ts";
import { squares, type Board } from "../../tasks/tic-tac-toe/board.ts";
import { toRow } from "../../tasks/tic-tac-toe/boards.ts";
import { squareCall } from "../../tasks/tic-tac-toe/examples.ts";
import { seenBoard } from "../../tasks/tic-tac-toe/game.ts";
import { ticTacToe as task } from "../../tasks/tic-tac-toe/tic-tac-toe.ts";
import type { OpenPolicy } from "../session.ts";

/** Models up to so many parameters draw so many answers at once: it takes them a moment. */
const smallModel = 20e6;
const drawnAtOnce = 64;

interface OddsSettings {
  maxTokens: number;
  signal: AbortSignal;
}

/** Both sides of a game look alike to a model, so odds go by the board as it sees it. */
export async function moveOdds(opened: OpenPolicy, board: Board, settings: OddsSettings): Promise<MoveOdds> {
  const { model, policy, files } = opened;
  const { signal, maxTokens } = settings;
  const seen = seenBoard(board);
  const calls = plainCalls(opened, seen);
  const scores = await scoreRows((batch) => model.forward(batch), calls, { signal });
  const [answer] = await policy.answer([{ ...item(seen), seed: 0 }], { temperature: 0, maxTokens, signal });
  const move = readMove(seen, answer);
  const shares = scores.map(({ logprob }) => Math.exp(logprob));
  const isSmall = model.info().parameters <= smallModel;
  return {
    model: files.name,
    squares: shares,
    other: Math.max(0, 1 - shares.reduce((sum, share) => sum + share, 0)),
    drawn: isSmall ? await drawAnswers(opened, board, { ...settings, count: drawnAtOnce, seed: 42 }) : null,
    greedy: {
      square: move.square ?? null,
      failure: "failure" in move ? move.failure : null,
      text: answer.text,
    },
  };
}

export async function drawAnswers(
  opened: OpenPolicy,
  board: Board,
  { count, seed, maxTokens, signal }: OddsSettings & { count: number; seed: number },
): Promise<DrawnAnswers> {
  const seen = seenBoard(board);
  const calls = plainCalls(opened, seen);
  const drawn = opened.policy.answerGroup({ ...item(seen), seed: deriveSeed(seed, "odds") }, count, {
    temperature: 1,
    maxTokens,
    signal,
  });
  const counts = squares.map(() => 0);
  const failures: Record<string, number> = {};
  let plain = 0;
  for (const answer of await Promise.all(drawn)) {
    const move = readMove(seen, answer);
    if (calls.some(({ ids }) => sameTokens(ids, answer.tokens))) plain++;
    else if (move.square !== undefined) counts[move.square - 1]++;
    else if ("failure" in move) failures[move.failure] = (failures[move.failure] ?? 0) + 1;
  }
  return { count, plain, squares: counts, failures };
}

/** The prompt with each of the nine calls as its whole answer. */
function plainCalls({ chat }: OpenPolicy, seen: Board): TokenRow[] {
  const prompt = chat.renderPrompt(task.prompt(toRow(seen)), task.tools);
  return squares.map((square) => {
    const row = answerTokens(chat, task, toRow(seen), [squareCall(square)]);
    // One array for all nine, so that the prompt is computed once.
    return sameTokens(row.promptIds, prompt) ? { ...row, promptIds: prompt } : row;
  });
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
