/** Calls of the Play page: tic-tac-toe against any checkpoint. A position is the list of squares played so far, 1 to 9. */

import { z } from "zod";
import type { ChatMessage } from "../chat.ts";
import { call } from "./call.ts";

const model = z.string().min(1);
const moves = z.array(z.number().int().min(1).max(9)).max(9).default([]);
const seed = z
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1)
  .default(42);
/** 0 is greedy. */
const temperature = z.number().min(0).max(5).default(0);

export type PlaySide = "x" | "o";
/** What a move comes to with best play afterwards, for the side that makes it. */
export type MoveValue = "win" | "draw" | "loss";

/** Who plays a side: a fixed opponent of the task, or a model by its reference. */
export const playerSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("random") }),
  z.object({ kind: z.literal("minimax") }),
  z.object({ kind: z.literal("model"), model }),
]);
export type Player = z.infer<typeof playerSchema>;

export interface PlayedSquare {
  square: number;
  side: PlaySide;
  /** With best play afterwards. */
  value: MoveValue;
  /** A better outcome was to be had. */
  blunder: boolean;
  /** It could have won at once and did not. */
  missed_win: boolean;
}

export interface Position {
  /** Nine characters, row by row: `X`, `O`, `.`. */
  board: string;
  moves: PlayedSquare[];
  to_move: PlaySide;
  result: PlaySide | "draw" | null;
  /** The squares of the line that won. */
  line: number[] | null;
  /** For the side to move, by square − 1; null on taken squares and when the game is over. */
  values: (MoveValue | null)[];
}

/** The checkpoints of the run that a model belongs to, from its start on; a model of no run has one entry. */
export interface TrainingLine {
  run: string | null;
  checkpoints: { reference: string; step: number | null; reward: number | null }[];
  /** Which of them was asked for. */
  index: number;
}

/** Natural log at temperature 1. */
export interface DrawnToken {
  text: string;
  logprob: number;
}

export interface ModelAnswer {
  model: string;
  /** As the model got it. It is always told that it plays X: for O the marks are swapped. */
  prompt: ChatMessage[];
  prompt_tokens: number;
  /** Exactly as written, without the token that ended it. */
  text: string;
  content: string;
  reasoning: string;
  tool_calls: { name: string; arguments: Record<string, unknown> }[];
  tokens: DrawnToken[];
  stop_reason: string;
  seconds: number;
}

export interface MoveAnswer {
  /** Null when there is no legal move in the answer: then the side loses, as in evaluation. */
  square: number | null;
  /** `failure`: one of the task's kinds. `square`: the taken square that was named. */
  illegal: { failure: string; square: number | null } | null;
  /** Of a model. */
  answer: ModelAnswer | null;
}

/** How likely each square is as the model's answer, by square − 1; taken squares count too. */
export interface MoveOdds {
  model: string;
  /**
   * Exact: the probability, at temperature 1, that the answer is this very call and nothing else, from one forward pass
   * over the nine calls.
   */
  squares: number[];
  /** What is left to 1: answers that say more than the call, or something else. */
  other: number;
  /** Answers drawn to see what the others come to; null where that would take long: ask `play.sample`. */
  drawn: DrawnAnswers | null;
  /** The answer at temperature 0. */
  greedy: { square: number | null; failure: string | null; text: string };
}

/** Counts over answers drawn at temperature 1. */
export interface DrawnAnswers {
  count: number;
  /** Those that are a call and nothing else: of them the exact odds are known. */
  plain: number;
  /** Of the others, by square − 1; taken squares count too. */
  squares: number[];
  /** Of the others that name no square, by failure kind. */
  failures: Record<string, number>;
}

/** From the first player's view. */
export interface MatchCell {
  win: number;
  draw: number;
  loss: number;
  /** Of the losses: by an illegal or missing move. */
  illegal: number;
  /** Of the wins: by the opponent's illegal or missing move. */
  opponent_illegal: number;
}

/** Also told on the topic `stream` whenever games have ended. */
export interface MatchScore {
  /** Games of both sides that have ended, and that will be played. */
  done: number;
  total: number;
  /** By the side that the first player had. */
  x: MatchCell;
  o: MatchCell;
  /** It was stopped before its end. */
  stopped: boolean;
  seconds: number;
  /** The newest games, newest first: squares in order, and how they ended for the first player. */
  games: { side: PlaySide; result: "win" | "draw" | "loss"; failure: string | null; moves: number[] }[];
}

/** News on the topic `stream` while an answer is written: all of it so far. */
export interface AnswerSoFar {
  content: string;
  reasoning: string;
  tokens: number;
  /** Since the call. */
  seconds: number;
}

export const playCalls = {
  /** What stands on the board, and what each move is worth. */
  "play.position": call<Position>()(z.object({ moves })),
  "play.line": call<TrainingLine>()(z.object({ model })),
  /** The next move. `stream`: a key of the topic `stream` for the answer while it is written. */
  "play.move": call<MoveAnswer>()(
    z.object({ player: playerSchema, moves, temperature, seed, stream: z.string().nullable().default(null) }),
  ),
  "play.odds": call<MoveOdds>()(z.object({ model, moves })),
  "play.sample": call<DrawnAnswers>()(
    z.object({ model, moves, count: z.number().int().min(1).max(512).default(64), seed }),
  ),
  /** Many games, half of them with each side. Cancelled, it answers with the score so far. */
  "play.match": call<MatchScore>()(
    z.object({
      first: playerSchema,
      second: playerSchema,
      /** Per side. */
      count: z.number().int().min(1).max(1000).default(50),
      temperature: temperature.default(1),
      seed,
      stream: z.string().nullable().default(null),
    }),
  ),
  /** Adds moves of a game as rows for SFT: the prompt as a model sees it, the square as its answer. */
  "play.keep": call<{ dataset: string; kept: number; rows: number }>()(
    z.object({
      dataset: z.string().trim().min(1),
      moves,
      sides: z.array(z.enum(["x", "o"])).min(1),
      /** Leave out moves that threw something away. */
      best_only: z.boolean().default(true),
    }),
  ),
};
