/** `hone play`: tic-tac-toe against any checkpoint, in the terminal. */

import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { usualSettings } from "../app/evaluation/evaluate-model.ts";
import { keepAnswers, type GoodAnswer } from "../app/data/keep-answer.ts";
import { Session, type OpenPolicy } from "../app/session.ts";
import type { PlayedGame } from "../contract/cli-json.ts";
import { deriveSeed } from "../contract/random.ts";
import { plural } from "../contract/units.ts";
import type { Side } from "../tasks/task.ts";
import { emptySquares, numberedRows, type Board } from "../tasks/tic-tac-toe/board.ts";
import { ticTacToeGame as game } from "../tasks/tic-tac-toe/game.ts";
import { ticTacToe as task } from "../tasks/tic-tac-toe/tic-tac-toe.ts";
import {
  addChatFlags,
  addModelFlags,
  modelChoices,
  oneOf,
  realNumber,
  runs,
  wholeNumber,
  type Cli,
} from "./command.ts";
import { exitCodes, paint, printer, printJson, say } from "./terminal.ts";

export function addPlayCommand(program: Command): void {
  const command = program
    .command("play")
    .summary("play tic-tac-toe against a model")
    .description("You choose squares with the keys 1 to 9. The model answers the very prompt it was trained with.");
  addChatFlags(addModelFlags(command))
    .optionsGroup("Game:")
    .option("--as <x|o>", "your side (default: asked; x moves first)", oneOf("x", "o"))
    .option("--hide-text", "do not show what the model writes")
    .option("--keep <dataset>", "keep the model's moves of games that it did not lose as rows for SFT")
    .optionsGroup("Sampling:")
    .option("--temperature <number>", "of the model, 0 is greedy", realNumber(), 0)
    .option("--max-completion-length <number>", "tokens of one answer (default: as in training)", wholeNumber(1))
    .option("--seed <number>", "of the draws", wholeNumber(), 42);
  runs(command, async (cli, flags) => {
    const session = await Session.open();
    const reference = flags["model"] as string;
    const policy = await session.openPolicy(reference, modelChoices(flags));
    const stream = cli.json ? process.stderr : process.stdout;
    const keys = new Keys(cli.signal, stream);
    const games: PlayedGame[] = [];
    const keep = flags["keep"] as string | undefined;
    try {
      const settings = {
        temperature: flags["temperature"] as number,
        maxTokens:
          (flags["maxCompletionLength"] as number | undefined) ?? usualSettings(reference, task.name).maxTokens,
        seed: flags["seed"] as number,
        showText: flags["hideText"] !== true,
      };
      for (let round = 0; ; round++) {
        const side = (flags["as"] as Side | undefined) ?? (await askSide(keys));
        if (side === undefined) break;
        const answers: GoodAnswer[] = [];
        const played = await playGame(cli, keys, policy, side, round, settings, answers);
        games.push(played);
        if (keep !== undefined && (played.result === "loss" || played.result === "draw") && answers.length > 0) {
          const { name, size } = await keepAnswers(keep, answers, "play");
          say(`kept ${plural(answers.length, "move")}: the dataset ${name} has ${plural(size, "row")}`);
        }
        if (played.result === null || !process.stdin.isTTY) break;
        if ((await keys.next("another game? (y/n) ", ["y", "n"])) !== "y") break;
      }
      if (cli.json) printJson({ model: policy.files.name, games });
      return exitCodes.ok;
    } finally {
      keys.close();
      await policy.close();
    }
  });
}

interface PlaySettings {
  temperature: number;
  maxTokens: number;
  seed: number;
  showText: boolean;
}

async function askSide(keys: Keys): Promise<Side | undefined> {
  return (await keys.next("do you play x, who moves first, or o? (x/o, q leaves) ", ["x", "o"])) as Side | undefined;
}

/** `answers` gets the model's legal moves. */
async function playGame(
  cli: Cli,
  keys: Keys,
  policy: OpenPolicy,
  side: Side,
  round: number,
  settings: PlaySettings,
  answers: GoodAnswer[],
): Promise<PlayedGame> {
  const { stream } = keys;
  const tell = printer(cli);
  const moves: number[] = [];
  let board: Board = game.start;
  for (let turn = 0; game.result(board) === undefined; turn++) {
    if (game.toMove(board) === side) {
      tell(`\n${boardText(board, stream)}\n`);
      const free = emptySquares(board).map(String);
      const key = await keys.next(`your move (${free.join(" ")}, q leaves): `, free);
      if (key === undefined) return { side, result: null, failure: null, moves };
      moves.push(Number(key));
      board = game.play(board, Number(key));
      continue;
    }
    const [answer] = await policy.policy.answer(
      [
        {
          messages: game.prompt(board),
          tools: task.tools,
          ...(task.toolChoice !== undefined && { toolChoice: task.toolChoice }),
          seed: deriveSeed(settings.seed, "play", round, turn),
        },
      ],
      { temperature: settings.temperature, maxTokens: settings.maxTokens, signal: cli.signal },
    );
    if (settings.showText) tell(paint("dim", `model: ${answer.text.trim()}`, stream));
    const read = game.readMove(board, answer);
    if ("failure" in read) {
      tell(`the model made no legal move (${task.failures[read.failure]?.meaning ?? read.failure}) and loses`);
      return { side, result: "win", failure: read.failure, moves };
    }
    tell(`the model takes ${read.move}`);
    answers.push({ prompt: game.prompt(board), answer: answer.parsed, tools: task.tools });
    moves.push(read.move);
    board = game.play(board, read.move);
  }
  const result = game.result(board);
  tell(`\n${boardText(board, stream)}\n`);
  tell(result === "draw" ? "a draw" : result === side ? "you win" : "the model wins");
  return { side, result: result === "draw" ? "draw" : result === side ? "win" : "loss", failure: null, moves };
}

function boardText(board: Board, stream: NodeJS.WriteStream): string {
  const cell = (text: string) =>
    text === "X" ? paint("cyan", "X", stream) : paint(text === "O" ? "yellow" : "dim", text, stream);
  return numberedRows(board)
    .map((row) => "  " + row.map(cell).join(" │ "))
    .join("\n ───┼───┼───\n");
}

/** Single keys from a terminal, or words from lines that are piped in. */
class Keys {
  /** Where questions are asked. */
  readonly stream: NodeJS.WriteStream;
  readonly #signal: AbortSignal;
  #lines: AsyncIterator<string> | undefined;
  #words: string[] = [];

  constructor(signal: AbortSignal, stream: NodeJS.WriteStream) {
    this.#signal = signal;
    this.stream = stream;
  }

  /** The next key that is one of `allowed`; undefined when the user leaves (q, Ctrl-D, end of input). */
  async next(question: string, allowed: readonly string[]): Promise<string | undefined> {
    const tell = (text: string) => this.stream.write(`${text}\n`);
    this.stream.write(question);
    for (;;) {
      const key = process.stdin.isTTY ? await this.#key() : await this.#word();
      if (key === undefined || key === "q") {
        tell("");
        return undefined;
      }
      if (allowed.includes(key)) {
        tell(key);
        return key;
      }
      if (!process.stdin.isTTY) tell(`${key} is not possible here`);
    }
  }

  #key(): Promise<string | undefined> {
    const { stdin } = process;
    this.#signal.throwIfAborted();
    return new Promise((resolve) => {
      stdin.setRawMode(true);
      stdin.resume();
      stdin.once("data", (data) => {
        stdin.setRawMode(false);
        stdin.pause();
        const key = data.toString().toLowerCase();
        // In raw mode Ctrl-C and Ctrl-D arrive as characters.
        resolve(key === "\u0003" || key === "\u0004" ? undefined : key);
      });
    });
  }

  async #word(): Promise<string | undefined> {
    this.#lines ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]();
    while (this.#words.length === 0) {
      const line = await this.#lines.next();
      if (line.done === true) return undefined;
      this.#words = line.value
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word !== "");
    }
    return this.#words.shift();
  }

  close(): void {
    process.stdin.pause();
  }
}
