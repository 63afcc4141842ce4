/** `hone data rate`: which of two answers is better, for DPO. */

import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { answerChat } from "../app/chat-turn.ts";
import { Session, type OpenPolicy } from "../app/session.ts";
import { messageText, type ChatMessage } from "../contract/chat.ts";
import { plural } from "../contract/units.ts";
import { openOrCreateDataset, type Dataset } from "../data/dataset.ts";
import { openData } from "../data/open-data.ts";
import { promptOf } from "../data/row-keys.ts";
import { addChatFlags, modelChoices, oneOf, realNumber, runs, wholeNumber, type Cli } from "./command.ts";
import { datasetCommand, readValue, tell } from "./data-command-datasets.ts";
import { paint, print, printer, printJson, usageError } from "./terminal.ts";

export function addRateCommand(data: Command): void {
  const rate = datasetCommand(
    data,
    "rate",
    "keep which of two answers is better, for DPO",
    "Adds prompts with a better and a worse answer: given ones, or two that a model draws and you compare. A dataset that is not there yet is made.",
  );
  rate
    .option("--prompt <text>", "text, or messages as JSON")
    .option("--from <file>", "rate answers to the prompts of a file, one after the other")
    .optionsGroup("Given answers:")
    .option("--a <text>", "the one answer")
    .option("--b <text>", "the other answer")
    .option("--better <a|b>", "which of them is better", oneOf("a", "b"))
    .optionsGroup("Answers of a model:")
    .option("--model <model>", "folder, .gguf file, OWNER/NAME, `starter`, or RUN[:step]")
    .option("--temperature <number>", "of the draws", realNumber(), 1)
    .option("--max-tokens <number>", "tokens of one answer", wholeNumber(1), 512)
    .option("--seed <number>", "of the draws", wholeNumber(), 42);
  addChatFlags(rate);
  runs(rate, async (cli, flags, [name]) => {
    const { a, b, better, model, prompt, from } = flags as Record<string, string | undefined>;
    if ((prompt === undefined) === (from === undefined))
      throw usageError("rate what?", "give --prompt, or --from FILE");
    if (model !== undefined) return rateDrawn(cli, name, flags);
    if (prompt === undefined || a === undefined || b === undefined || better === undefined) {
      throw usageError("which answers?", "give --prompt, --a, --b and --better, or --model to draw two answers");
    }
    const [chosen, rejected] = better === "a" ? [a, b] : [b, a];
    const dataset = await openOrCreateDataset(name, "rated answers");
    tell(cli, dataset, await dataset.addPair(readPrompt(prompt), chosen, rejected));
  });
}

function readPrompt(prompt: string): unknown {
  return /^\s*\[\s*\{/.test(prompt) ? readValue(prompt, "--prompt") : prompt;
}

/** Draws two answers to each prompt and asks which is better. Each pair is kept at once. */
async function rateDrawn(cli: Cli, name: string, flags: Record<string, unknown>): Promise<void> {
  const session = await Session.open();
  const policy = await session.openPolicy(flags["model"] as string, modelChoices(flags));
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  const dataset = await openOrCreateDataset(name, "rated answers");
  const before = dataset.point;
  const say = printer(cli);
  try {
    const lines = reader[Symbol.asyncIterator]();
    for await (const prompt of promptsOf(cli, flags)) {
      const [a, b] = await twoAnswers(policy, prompt, flags, cli.signal);
      say(`\n${prompt.map((message) => `${message.role}: ${messageText(message)}`).join("\n")}`);
      if (a === b) {
        say(paint("dim", `both answers are the same: ${a}`));
        continue;
      }
      say(`${paint("bold", "a")}: ${a}\n${paint("bold", "b")}: ${b}`);
      const choice = await ask(lines, say);
      if (choice === "q") break;
      if (choice === "s") continue;
      const [chosen, rejected] = choice === "a" ? [a, b] : [b, a];
      await dataset.addPair(prompt, chosen, rejected);
    }
  } finally {
    reader.close();
    await policy.close();
  }
  report(cli, dataset, before);
}

function report(cli: Cli, dataset: Dataset, before: number): void {
  const { name, size, point } = dataset;
  const changes = dataset.diff(before, point);
  const note = `${plural(changes.length, "pair")} rated`;
  if (cli.json) printJson({ name, rows: size, point, kind: "add", note, changes });
  else print(`${note}: ${name} has ${plural(size, "row")}`);
}

async function* promptsOf({ signal }: Cli, flags: Record<string, unknown>): AsyncGenerator<ChatMessage[]> {
  if (typeof flags["prompt"] === "string") {
    const given = readPrompt(flags["prompt"]);
    yield typeof given === "string" ? [{ role: "user", content: given }] : (given as ChatMessage[]);
    return;
  }
  for await (const row of (await openData(flags["from"] as string, { signal })).rows()) {
    const prompt = promptOf(row);
    if (prompt !== undefined && prompt.length > 0) yield prompt;
  }
}

async function twoAnswers(
  policy: OpenPolicy,
  messages: ChatMessage[],
  flags: Record<string, unknown>,
  signal: AbortSignal,
): Promise<[string, string]> {
  const draw = async (which: number) => {
    const [temperature, maxTokens] = [flags["temperature"] as number, flags["maxTokens"] as number];
    const seed = 2 * (flags["seed"] as number) + which;
    const { thinking } = modelChoices(flags);
    const { parsed } = await answerChat(policy, {
      ...{ messages, temperature, maxTokens, seed, signal },
      ...(thinking !== undefined && { thinking }),
    });
    return parsed.content;
  };
  return [await draw(0), await draw(1)];
}

/** `a`, `b`, `s` to skip, or `q` to leave, which is also the end of the input. */
async function ask(lines: AsyncIterator<string>, say: (text: string) => void): Promise<string> {
  for (;;) {
    say(paint("dim", "which is better? a, b, s skips, q leaves"));
    const line = await lines.next();
    if (line.done === true) return "q";
    const choice = line.value.trim().toLowerCase();
    if (["a", "b", "s", "q"].includes(choice)) return choice;
  }
}
