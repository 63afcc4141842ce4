/** Many games between two players, with the score as it grows. */

import type { MatchCell, MatchScore, Player } from "../../contract/api/play-calls.ts";
import { errorKind, HoneError } from "../../contract/errors.ts";
import type { GameRecord } from "../../contract/eval.ts";
import { deriveSeed } from "../../contract/random.ts";
import { playGames } from "../../evaluate/games.ts";
import type { Policy } from "../../evaluate/policy-types.ts";
import { ticTacToe as task } from "../../tasks/tic-tac-toe/tic-tac-toe.ts";

export interface MatchRequest {
  /** Policies of the players that are models. */
  first: Policy | "random" | "minimax";
  second: Policy | "random" | "minimax";
  /** Games per side. */
  count: number;
  temperature: number;
  maxTokens: number;
  seed: number;
  signal: AbortSignal;
  onScore?: (score: MatchScore) => void;
}

/** Games per side that are played side by side: enough to fill the engine, few enough for a score that moves. */
const wave = 10;
const keptGames = 12;
const second = "second";

export function requireModel(first: Player, other: Player): void {
  if (first.kind === "model" || other.kind === "model") return;
  throw new HoneError("no-model-plays", "neither player is a model", {
    fix: "choose a model for one of the two: what random and perfect players reach against each other is known exactly",
  });
}

/** A stopped match has the score of the games that had ended. */
export async function playMatch(request: MatchRequest): Promise<MatchScore> {
  const { first, second: other, count, temperature, maxTokens, seed, signal } = request;
  const begin = performance.now();
  const score: MatchScore = {
    done: 0,
    total: 2 * count,
    x: emptyCell(),
    o: emptyCell(),
    stopped: false,
    seconds: 0,
    games: [],
  };
  // Games are told from the view of a model; a fixed player that comes first is seen from the other side.
  const turned = typeof first === "string";
  const policy = turned ? other : first;
  const opponent = turned ? first : other;
  if (typeof policy === "string") throw new Error("neither player is a model");
  const tell = () => {
    score.seconds = (performance.now() - begin) / 1000;
    request.onScore?.(structuredClone(score));
  };
  for (let from = 0; from < count && !signal.aborted; from += wave) {
    try {
      await playGames(task, policy, {
        count: Math.min(wave, count - from),
        seed: deriveSeed(seed, "match", from),
        fixed: typeof opponent === "string" ? [opponent] : [],
        opponents: typeof opponent === "string" ? {} : { [second]: opponent },
        settings: { temperature, maxTokens, signal },
        onGame: (record) => {
          addGame(score, record, turned);
        },
        onProgress: tell,
      });
    } catch (error) {
      if (errorKind(error) !== "cancelled") throw error;
      break;
    }
  }
  score.stopped = score.done < score.total;
  tell();
  return score;
}

function addGame(score: MatchScore, { side, result, failure, moves }: GameRecord, turned: boolean): void {
  const won = result === "win" || result === "opponent_illegal";
  const kind = result === "draw" ? "draw" : won !== turned ? "win" : "loss";
  const own = turned ? (side === "x" ? "o" : "x") : side;
  const cell = score[own];
  cell[kind]++;
  if (failure !== null) cell[kind === "win" ? "opponent_illegal" : "illegal"]++;
  score.done++;
  score.games.unshift({ side: own, result: kind, failure, moves: [...moves] });
  score.games.length = Math.min(score.games.length, keptGames);
}

function emptyCell(): MatchCell {
  return { win: 0, draw: 0, loss: 0, illegal: 0, opponent_illegal: 0 };
}
