/** `hone advise`: should this task be trained at all? */

import type { Command } from "commander";
import { advise, type AdviseRequest } from "../app/advise.ts";
import { Session } from "../app/session.ts";
import type { Advice, AdviceVerdict } from "../contract/advice.ts";
import {
  addChatFlags,
  addDataFlags,
  dataChoices,
  amountOfBytes,
  givenFlags,
  modelChoices,
  runs,
  wholeNumber,
} from "./command.ts";
import { EvaluationProgress } from "./evaluation-progress.ts";
import { paint, print, printJson, usageError } from "./terminal.ts";

export function addAdviseCommand(program: Command): void {
  const command = program
    .command("advise")
    .summary("should I train? the five conditions, answered from data and a baseline")
    .description(
      "Looks at a task's rows, its reward and its right answers, and with --model also at how a model fares on some of " +
        "them, and says in plain words whether training is the right tool, where to begin, and what to do instead.",
    )
    .argument("<task>", "a built-in task, a task folder, or a data file");
  addDataFlags(command)
    .optionsGroup("Baseline:")
    .option("--model <model>", "folder, .gguf file, OWNER/NAME, `starter`, or RUN[:step]: measured on some rows")
    .option("--rows <number>", "rows that it answers, none of them held out", wholeNumber(1), 32)
    .option("--samples <number>", "answers to each row", wholeNumber(2), 4)
    .option("--seed <number>", "of the draws", wholeNumber(), 42)
    .option("--max-completion-length <number>", "tokens of one answer (default: as in training)", wholeNumber(1))
    .option("--threads <number>", "processor threads (default: all)", wholeNumber(1))
    .option("--memory-limit <bytes>", "what the engine may take, such as 4GB (default: what is free)", amountOfBytes);
  addChatFlags(command);
  runs(command, async (cli, flags, [task]) => {
    const needsModel = ["maxCompletionLength", "threads", "memoryLimit", "chatTemplatePath", "thinking"];
    const idle = flags["model"] === undefined ? needsModel.find((name) => flags[name] !== undefined) : undefined;
    if (idle !== undefined) {
      const flag = idle.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      throw usageError(`--${flag} is of use with --model only`, "add --model, or leave it out");
    }
    const request: AdviseRequest = {
      task,
      ...dataChoices(flags),
      ...givenFlags(flags, "model", "rows", "samples", "seed", ["maxTokens", "maxCompletionLength"]),
    };
    const progress = new EvaluationProgress("baseline");
    const advice = await advise(() => Session.open(), request, modelChoices(flags), {
      signal: cli.signal,
      onProgress: progress.show,
    }).finally(() => progress.end());
    if (cli.json) printJson(advice);
    else print(adviceText(advice));
  });
}

const marks: Record<AdviceVerdict, string> = { yes: "yes", no: "no", unclear: "?" };

function adviceText(advice: Advice): string {
  const of = advice.model === null ? "" : `, measured with ${advice.model}`;
  const conditions = advice.conditions.flatMap(({ question, verdict, why, instead }) => [
    "",
    `${paint("bold", question)} ${marks[verdict]}`,
    `  ${why}`,
    ...(instead === null ? [] : [`  Instead, or first: ${instead}.`]),
  ]);
  const begin =
    advice.method === null
      ? ["Nothing here can be trained on."]
      : [`Begin with ${advice.method.name.toUpperCase()}. ${advice.method.why}`, `  ${advice.command ?? ""}`];
  return [`${advice.task}${of}: should I train?`, advice.sentence, ...conditions, "", ...begin].join("\n");
}
