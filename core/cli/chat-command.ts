/** `hone chat`: a conversation in the terminal, or one answer to what is piped in. */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { answerChat, type ChatAnswer, type ChatTurn } from "../app/chat-turn.ts";
import { keepAnswers } from "../app/data/keep-answer.ts";
import { Session, type OpenPolicy } from "../app/session.ts";
import { errorKind } from "../contract/errors.ts";
import type { ChatMessage } from "../contract/chat.ts";
import { plural } from "../contract/units.ts";
import {
  addChatFlags,
  addModelFlags,
  givenFlags,
  modelChoices,
  readTools,
  realNumber,
  repeated,
  runs,
  wholeNumber,
  type Cli,
} from "./command.ts";
import { exitCodes, paint, print, printJson, reportError, say, usageError } from "./terminal.ts";

type Settings = Pick<
  ChatTurn,
  "temperature" | "topP" | "topK" | "minP" | "maxTokens" | "seed" | "thinking" | "tools" | "stop"
>;

export function addChatCommand(program: Command): void {
  const command = program
    .command("chat")
    .summary("talk to a model")
    .description("Talks to a model. With a message on stdin or in --prompt it answers once and ends.");
  addChatFlags(addModelFlags(command))
    .optionsGroup("Conversation:")
    .option("--system <text>", "system prompt")
    .option("--prompt <text>", "answer this once and end")
    .option("--tools <file>", "JSON list of tools that the model may call; calls are shown, not carried out")
    .option("--keep <dataset>", "where answers are kept as rows for SFT: with /keep, or the one answer to --prompt")
    .optionsGroup("Sampling:")
    .option("--temperature <number>", "0 is greedy", realNumber(), 0.7)
    .option("--top-p <number>", "nucleus sampling, 1 is off", realNumber(1e-6, 1))
    .option("--top-k <number>", "most likely tokens kept, 0 is off", wholeNumber())
    .option("--min-p <number>", "least share of the best token's probability, 0 is off", realNumber(0, 0.999999))
    .option("--max-tokens <number>", "tokens of one answer", wholeNumber(1), 1024)
    .option("--stop <text>", "end the answer before this text; may be given more than once", repeated)
    .option("--seed <number>", "of the draws", wholeNumber(), 42);
  runs(command, async (cli, flags) => {
    const prompt = flags["prompt"] as string | undefined;
    const once = prompt ?? (process.stdin.isTTY ? undefined : readFileSync(0, "utf8").trim());
    if (once === "") throw usageError("there is no message", "pipe one in, or give --prompt");
    if (once === undefined && cli.json) throw usageError("--json answers once", "pipe a message in, or give --prompt");
    const choices = modelChoices(flags);
    const settings = settingsOf(flags, choices.thinking);
    const system: ChatMessage[] =
      typeof flags["system"] === "string" ? [{ role: "system", content: flags["system"] }] : [];
    const session = await Session.open();
    const policy = await session.openPolicy(flags["model"] as string, choices);
    try {
      const keep = flags["keep"] as string | undefined;
      if (once === undefined) return await converse(cli, policy, system, settings, keep);
      const messages = [...system, { role: "user", content: once }];
      const streamed = !cli.json;
      const answer = await answerChat(policy, {
        messages,
        ...settings,
        signal: cli.signal,
        ...(streamed && { onText: (text: string) => process.stdout.write(text) }),
      });
      if (streamed) print("");
      else printJson(toOutput(answer));
      if (keep !== undefined) await keepAnswer(keep, messages, answer, settings);
      return exitCodes.ok;
    } finally {
      await policy.close();
    }
  });
}

function settingsOf(flags: Record<string, unknown>, thinking: boolean | undefined): Settings {
  return {
    temperature: flags["temperature"] as number,
    maxTokens: flags["maxTokens"] as number,
    seed: flags["seed"] as number,
    ...(thinking !== undefined && { thinking }),
    ...(typeof flags["tools"] === "string" && { tools: readTools(flags["tools"]) }),
    ...givenFlags(flags, "topP", "topK", "minP", "stop"),
  };
}

function toOutput({ parsed, finishReason, promptTokens, completionTokens }: ChatAnswer) {
  return {
    content: parsed.content,
    reasoning: parsed.reasoning,
    tool_calls: parsed.tool_calls,
    finish_reason: finishReason,
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  };
}

async function keepAnswer(
  dataset: string,
  prompt: readonly ChatMessage[],
  { parsed }: ChatAnswer,
  { tools = [] }: Settings,
): Promise<void> {
  const { name, size } = await keepAnswers(dataset, [{ prompt, answer: parsed, tools }], "chat");
  say(`kept: the dataset ${name} has ${plural(size, "row")}`);
}

/** Turn by turn until the user leaves. Ctrl-C ends a running answer, and the conversation while waiting for input. */
async function converse(
  cli: Cli,
  policy: OpenPolicy,
  system: ChatMessage[],
  settings: Settings,
  keep: string | undefined,
): Promise<number> {
  const keeping = keep === undefined ? "" : `/keep adds the last answer to the dataset ${keep}, `;
  say(paint("dim", `${policy.files.name}. ${keeping}/clear begins anew, /exit or Ctrl-D leaves.`, process.stderr));
  let messages = [...system];
  let last: ChatAnswer | undefined;
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  let running: AbortController | undefined;
  reader.on("SIGINT", () => {
    if (running !== undefined) running.abort();
    else {
      say("");
      reader.close();
    }
  });
  const left = new Promise<undefined>((resolve) => reader.once("close", () => resolve(undefined)));
  try {
    for (;;) {
      const line = await Promise.race([reader.question(paint("bold", "you: ", process.stderr)), left]);
      if (line === undefined || line.trim() === "/exit") return exitCodes.ok;
      const command = line.trim();
      if (command === "/clear") [messages, last] = [[...system], undefined];
      if (command === "/keep") {
        if (keep === undefined) say("name the dataset when you begin: `hone chat --keep NAME`");
        else if (last === undefined) say("there is no answer to keep yet");
        else
          await keepAnswer(keep, messages.slice(0, -1), last, settings).catch((error: unknown) =>
            reportError(error, cli),
          );
      }
      if (["", "/clear", "/keep"].includes(command)) continue;
      messages.push({ role: "user", content: line });
      running = new AbortController();
      try {
        const answer = await answerChat(policy, {
          messages,
          ...settings,
          signal: AbortSignal.any([running.signal, cli.signal]),
          onText: (text) => process.stdout.write(text),
        });
        messages.push({ role: "assistant", content: answer.text });
        last = answer;
        if (answer.finishReason === "length") say(paint("dim", " [cut by the token limit]", process.stderr));
      } catch (error) {
        const kind = errorKind(error);
        if (kind === "bug") throw error;
        messages.pop();
        if (kind === "cancelled") say(paint("dim", " [stopped]", process.stderr));
        else reportError(error, cli);
      }
      running = undefined;
      print("");
    }
  } finally {
    reader.close();
  }
}
