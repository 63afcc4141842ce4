/** Whole games of a model against fixed opponents, both sides. All games run side by side: one model call per turn. */

import { CancelledError } from "../contract/errors.ts";
import type { EvalReport, GameCell, GameRecord } from "../contract/eval.ts";
import { sum } from "../contract/numbers.ts";
import { deriveSeed, Random, type Seed } from "../contract/random.ts";
import type { Game, Side, Task } from "../tasks/task.ts";
import { answerFields, type Answer, type Policy, type PolicySettings } from "./policy-types.ts";

export interface GamesOptions {
  /** Games per opponent and side. */
  count: number;
  seed: Seed;
  /** Which of the task's own opponents. Default: all. */
  fixed?: readonly string[];
  /** Other models to play against, by name: the base model, earlier checkpoints. */
  opponents?: Record<string, Policy>;
  settings: PolicySettings;
  /** Each game as soon as it has ended. */
  onGame?: (record: GameRecord) => void;
  onProgress?: (done: number, total: number) => void;
}

/** A record in the making; `result` comes last. */
interface RunningGame extends Omit<GameRecord, "result"> {
  result: GameRecord["result"] | undefined;
  state: string;
  random: Random;
}

/** Plays `count` games per side against the task's own opponents and the given models. */
export async function playGames(task: Task, policy: Policy, options: GamesOptions): Promise<GameRecord[]> {
  const game = requireGame(task);
  const models = options.opponents ?? {};
  for (const name of Object.keys(models)) {
    if (name in game.opponents) throw new Error(`an opponent model cannot be called "${name}"`);
  }
  const all = [...(options.fixed ?? Object.keys(game.opponents)), ...Object.keys(models)].flatMap((opponent) =>
    (["x", "o"] as const).flatMap((side) =>
      Array.from({ length: options.count }, (_, i) => newGame(game, opponent, side, i, options.seed)),
    ),
  );
  let running = all;
  const takeEnded = () => {
    const { ended = [], going = [] } = Object.groupBy(running, (one) => (one.result === undefined ? "going" : "ended"));
    running = going;
    for (const one of ended) options.onGame?.(toRecord(one));
  };
  while (running.length > 0) {
    for (const one of running) playFixedOpponent(game, one);
    takeEnded();
    const toAnswer = Map.groupBy(running, (one) =>
      game.toMove(one.state) === one.side ? policy : models[one.opponent],
    );
    for (const [player, turns] of toAnswer) await playModels(task, game, player, turns, options.settings);
    takeEnded();
    options.onProgress?.(all.length - running.length, all.length);
  }
  return all.map(toRecord);
}

/** Counts per opponent and side. */
export function tabulateGames(records: readonly GameRecord[], modelOpponents: readonly string[]): EvalReport["games"] {
  const table: EvalReport["games"] = {};
  for (const [opponent, games] of Map.groupBy(records, (record) => record.opponent)) {
    const cell = (side: Side) =>
      tabulateCell(
        games.filter((record) => record.side === side),
        modelOpponents.includes(opponent),
      );
    table[opponent] = { x: cell("x"), o: cell("o") };
  }
  return table;
}

function tabulateCell(records: readonly GameRecord[], againstModel: boolean): GameCell {
  const count = (result: GameRecord["result"]) => records.filter((record) => record.result === result).length;
  const moves = sum(records.map((record) => record.moves.length));
  return {
    win: count("win") + count("opponent_illegal"),
    draw: count("draw"),
    loss: count("loss"),
    illegal: count("illegal"),
    ...(againstModel && { opponent_illegal: count("opponent_illegal") }),
    num_moves: moves / records.length,
  };
}

function newGame(game: Game, opponent: string, side: Side, index: number, seed: Seed): RunningGame {
  return {
    opponent,
    side,
    game: index,
    result: undefined,
    failure: null,
    moves: [],
    answers: [],
    state: game.start,
    random: new Random(seed).split("game", opponent, side, index),
  };
}

function toRecord({ opponent, side, game, result, failure, moves, answers }: RunningGame): GameRecord {
  if (result === undefined) throw new Error("the game is still running");
  return { opponent, side, game, result, failure, moves, answers };
}

function playFixedOpponent(game: Game, one: RunningGame): void {
  const choose = game.opponents[one.opponent];
  if (choose === undefined || game.toMove(one.state) === one.side) return;
  applyMove(game, one, choose(one.state, one.random));
}

async function playModels(
  task: Task,
  game: Game,
  player: Policy,
  turns: RunningGame[],
  settings: PolicySettings,
): Promise<void> {
  const items = turns.map(({ state, random, moves }) => ({
    messages: game.prompt(state),
    tools: task.tools,
    ...(task.toolChoice !== undefined && { toolChoice: task.toolChoice }),
    seed: deriveSeed(random.seed, "turn", moves.length),
  }));
  const answers = await player.answer(items, settings);
  turns.forEach((one, i) => takeAnswer(game, one, answers[i], items[i].seed));
}

function takeAnswer(game: Game, one: RunningGame, answer: Answer, seed: number): void {
  if (answer.stopReason === "cancelled") throw new CancelledError();
  const own = game.toMove(one.state) === one.side;
  if (own) one.answers.push({ state: one.state, seed, ...answerFields(answer) });
  const read = game.readMove(one.state, answer);
  if ("move" in read) applyMove(game, one, read.move);
  else {
    one.result = own ? "illegal" : "opponent_illegal";
    one.failure = read.failure;
  }
}

function applyMove(game: Game, one: RunningGame, move: number): void {
  one.moves.push(move);
  one.state = game.play(one.state, move);
  const result = game.result(one.state);
  if (result !== undefined) one.result = result === "draw" ? "draw" : result === one.side ? "win" : "loss";
}

function requireGame(task: Task): Game {
  if (task.game === undefined) throw new Error(`task ${task.name} has no games`);
  return task.game;
}
