/** `hone play`: tic-tac-toe against any checkpoint, in the terminal. */

import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { usualSettings } from "../app/evaluate-model.ts";
import { Session, type OpenPolicy } from "../app/session.ts";
import { deriveSeed } from "../contract/random.ts";
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
import { exitCodes, paint, print } from "./terminal.ts";

export function addPlayCommand(program: Command): void {
  const command = program
    .command("play")
    .summary("play tic-tac-toe against a model")
    .description("You choose squares with the keys 1 to 9. The model answers the very prompt it was trained with.");
  addChatFlags(addModelFlags(command))
    .optionsGroup("Game:")
    .option("--as <x|o>", "your side (default: asked; x moves first)", oneOf("x", "o"))
    .option("--hide-text", "do not show what the model writes")
    .optionsGroup("Sampling:")
    .option("--temperature <number>", "of the model, 0 is greedy", realNumber(), 0)
    .option("--max-completion-length <number>", "tokens of one answer (default: as in training)", wholeNumber(1))
    .option("--seed <number>", "of the draws", wholeNumber(), 42);
  runs(command, async (cli, flags) => {
    const session = await Session.open();
    const reference = flags["model"] as string;
    const policy = await session.openPolicy(reference, modelChoices(flags));
    const keys = new Keys(cli.signal);
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
        if (side === undefined || !(await playGame(cli, keys, policy, side, round, settings))) return exitCodes.ok;
        if (!process.stdin.isTTY) return exitCodes.ok;
        const again = await keys.next("another game? y/n ", ["y", "n"]);
        if (again !== "y") return exitCodes.ok;
      }
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
  return (await keys.next("play x (first) or o? ", ["x", "o"])) as Side | undefined;
}

/** False when the user left. */
async function playGame(
  cli: Cli,
  keys: Keys,
  policy: OpenPolicy,
  side: Side,
  round: number,
  settings: PlaySettings,
): Promise<boolean> {
  let board: Board = game.start;
  for (let turn = 0; game.result(board) === undefined; turn++) {
    if (game.toMove(board) === side) {
      print(`\n${boardText(board)}\n`);
      const free = emptySquares(board).map(String);
      const key = await keys.next(`your move (${free.join(" ")}, q leaves): `, free);
      if (key === undefined) return false;
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
    if (settings.showText) print(paint("dim", `model: ${answer.text.trim()}`));
    const read = game.readMove(board, answer);
    if ("failure" in read) {
      print(`the model made no legal move (${task.failures[read.failure] ?? read.failure}) and loses`);
      return true;
    }
    print(`the model takes ${read.move}`);
    board = game.play(board, read.move);
  }
  const result = game.result(board);
  print(`\n${boardText(board)}\n`);
  print(result === "draw" ? "a draw" : result === side ? "you win" : "the model wins");
  return true;
}

function boardText(board: Board): string {
  const cell = (text: string) =>
    text === "X" ? paint("cyan", "X") : text === "O" ? paint("yellow", "O") : paint("dim", text);
  return numberedRows(board)
    .map((row) => "  " + row.map(cell).join(" │ "))
    .join("\n ───┼───┼───\n");
}

/** Single keys from a terminal, or words from lines that are piped in. */
class Keys {
  readonly #signal: AbortSignal;
  #lines: AsyncIterator<string> | undefined;
  #words: string[] = [];

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** The next key that is one of `allowed`; undefined when the user leaves (q, Ctrl-D, end of input). */
  async next(question: string, allowed: readonly string[]): Promise<string | undefined> {
    process.stdout.write(question);
    for (;;) {
      const key = process.stdin.isTTY ? await this.#key() : await this.#word();
      if (key === undefined || key === "q") {
        print("");
        return undefined;
      }
      if (allowed.includes(key)) {
        print(key);
        return key;
      }
      if (!process.stdin.isTTY) print(`${key} is not possible here`);
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
