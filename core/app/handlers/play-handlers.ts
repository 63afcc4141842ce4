import type { MoveOdds, Player } from "../../contract/api/play-calls.ts";
import type { Policy } from "../../evaluate/policy-types.ts";
import { seenBoard } from "../../tasks/tic-tac-toe/game.ts";
import { ticTacToe } from "../../tasks/tic-tac-toe/tic-tac-toe.ts";
import { usualSettings } from "../evaluation/evaluate-model.ts";
import { keepGame } from "../play/keep-game.ts";
import { drawAnswers, moveOdds } from "../play/move-odds.ts";
import { modelKey, useModel } from "../play/open-models.ts";
import { fixedMove, modelMove } from "../play/play-move.ts";
import { playMatch, requireModel } from "../play/play-match.ts";
import { boardAfter, positionAfter } from "../play/position.ts";
import { trainingLine } from "../play/training-line.ts";
import type { CallContext, Handlers } from "../service/handlers.ts";

/** Odds never change while a model's files stay as they are: by these and the board, the oldest first. */
const knownOdds = new Map<string, MoveOdds>();
const mostKnown = 5000;

/** A model plays within the limit of tokens that it was trained with. */
function maxTokensOf(model: string): number {
  return usualSettings(model, ticTacToe.name).maxTokens;
}

export const playHandlers: Handlers<"play"> = {
  "play.position": ({ moves }) => positionAfter(moves),
  "play.line": ({ model }) => trainingLine(model),
  "play.move": ({ player, moves, temperature, seed, stream }, context) => {
    const board = boardAfter(moves);
    if (player.kind !== "model") return fixedMove(player.kind, board, seed);
    return useModel(context, player.model, (model) =>
      modelMove(model, board, {
        temperature,
        seed,
        maxTokens: maxTokensOf(player.model),
        signal: context.signal,
        ...(stream !== null && {
          onAnswer: (soFar) => {
            context.tell("stream", soFar, stream);
          },
        }),
      }),
    );
  },
  "play.odds": async ({ model: reference, moves }, context) => {
    const board = boardAfter(moves);
    const key = `${await modelKey(reference)}\n${seenBoard(board)}`;
    const known = knownOdds.get(key);
    if (known !== undefined) return known;
    const odds = await useModel(context, reference, (model) =>
      moveOdds(model, board, { maxTokens: maxTokensOf(reference), signal: context.signal }),
    );
    knownOdds.set(key, odds);
    const [oldest] = knownOdds.keys();
    if (knownOdds.size > mostKnown) knownOdds.delete(oldest);
    return odds;
  },
  "play.sample": ({ model: reference, moves, count, seed }, context) =>
    useModel(context, reference, (model) =>
      drawAnswers(model, boardAfter(moves), { count, seed, maxTokens: maxTokensOf(reference), signal: context.signal }),
    ),
  "play.match": ({ first, second, count, temperature, seed, stream }, context) => {
    requireModel(first, second);
    const limits = [first, second].map((player) => (player.kind === "model" ? maxTokensOf(player.model) : 0));
    return withPlayer(context, first, (one) =>
      withPlayer(context, second, (other) =>
        playMatch({
          first: one,
          second: other,
          count,
          temperature,
          seed,
          maxTokens: Math.max(...limits),
          signal: context.signal,
          ...(stream !== null && {
            onScore: (score) => {
              context.tell("stream", score, stream);
            },
          }),
        }),
      ),
    );
  },
  "play.keep": async (wanted, context) => {
    const kept = await keepGame(wanted);
    context.tell("library", "datasets");
    return kept;
  },
};

function withPlayer<T>(
  context: CallContext,
  player: Player,
  work: (player: Policy | "random" | "minimax") => Promise<T>,
): Promise<T> {
  return player.kind === "model" ? useModel(context, player.model, ({ policy }) => work(policy)) : work(player.kind);
}
