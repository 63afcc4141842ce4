/** `hone template render | parse`: what a model really sees, and how its answers are read. */

import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { Session } from "../app/session.ts";
import type { ChatMessage } from "../contract/chat.ts";
import { pieces } from "../text/pieces.ts";
import { findModel } from "../train/model-ref.ts";
import { addChatFlags, modelChoices, oneOf, readList, readTools, runs } from "./command.ts";
import { paint, print, printJson } from "./terminal.ts";

const lossModes = ["assistant_all", "assistant_last", "completion", "all_tokens", "none"] as const;

export function addTemplateCommand(program: Command): void {
  const template = program
    .command("template")
    .summary("see a chat as the model sees it, and read an answer as Hone does")
    .description("The model's own chat template and tool-call format, from messages to token ids and back.");

  const render = template
    .command("render")
    .summary("messages to text and token ids")
    .description("Renders a conversation. Trained tokens, those that a loss would use, are shown green.")
    .requiredOption("--model <model>", "folder, .gguf file, OWNER/NAME, `starter`, or RUN[:step]")
    .requiredOption("--messages <file>", "JSON list of messages; - reads stdin")
    .option("--tools <file>", "JSON list of tools")
    .option("--generation-prompt", "end with what stands before the next answer")
    .option(
      "--loss <mode>",
      `which tokens a loss would use: ${lossModes.join(", ")}`,
      oneOf(...lossModes),
      "assistant_all",
    );
  addChatFlags(render);
  runs(render, async (cli, flags) => {
    const messages = readList(flags["messages"] as string, "messages") as ChatMessage[];
    const tools = typeof flags["tools"] === "string" ? readTools(flags["tools"]) : [];
    const chat = await openChat(flags);
    const { thinking } = modelChoices(flags);
    const { text, ids, trained } = chat.text.render({
      messages,
      tools,
      addGenerationPrompt: flags["generationPrompt"] === true,
      loss: flags["loss"] as (typeof lossModes)[number],
      ...(thinking !== undefined && { thinking }),
    });
    if (cli.json) return printJson({ text, ids, trained });
    const shown = pieces(chat.text.tokenizer, ids).map((piece, i) =>
      trained[i] ? paint("green", piece.text) : piece.control ? paint("dim", piece.text) : piece.text,
    );
    print(shown.join(""));
    print(`\n${ids.length} tokens, ${trained.filter(Boolean).length} trained`);
    print(ids.join(","));
  });

  const parse = template
    .command("parse")
    .summary("an answer's text to content, reasoning and tool calls")
    .description("Takes an answer apart as training and evaluation do.")
    .requiredOption("--model <model>", "folder, .gguf file, OWNER/NAME, `starter`, or RUN[:step]")
    .requiredOption("--text <text>", "the answer; - reads stdin")
    .option("--tools <file>", "JSON list of the tools that were offered");
  addChatFlags(parse);
  runs(parse, async (cli, flags) => {
    const tools = typeof flags["tools"] === "string" ? readTools(flags["tools"]) : [];
    const given = flags["text"] as string;
    const chat = await openChat(flags);
    const parsed = chat.text.parse(given === "-" ? readFileSync(0, "utf8") : given, tools);
    if (cli.json) return printJson(parsed);
    print(`content    ${JSON.stringify(parsed.content)}`);
    print(`reasoning  ${JSON.stringify(parsed.reasoning)}`);
    for (const call of parsed.tool_calls) print(`call       ${call.name} ${JSON.stringify(call.arguments)}`);
    for (const problem of parsed.problems) print(`problem    ${problem.code}: ${problem.message}`);
  });
}

async function openChat(flags: Record<string, unknown>) {
  const session = await Session.open();
  return session.openChat(await findModel(flags["model"] as string), modelChoices(flags));
}
