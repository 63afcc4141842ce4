/** `hone eval`: measures a model on a task. */

import type { Command } from "commander";
import { evaluateModel, type EvaluateRequest } from "../app/evaluation/evaluate-model.ts";
import { evalOutput } from "../app/evaluation/eval-output.ts";
import {
  controlTable,
  evaluationHeading,
  failureSentence,
  failureTable,
  gameRows,
  likelihoodTable,
  measureTable,
  referenceText,
} from "../app/evaluation/evaluation-text.ts";
import { Session } from "../app/session.ts";
import { splits, type EvalReport } from "../contract/eval.ts";
import { textTable } from "../contract/text-table.ts";
import { writeFileAtomic } from "../files/atomic.ts";
import { requireFilePlace } from "../files/system-error.ts";
import {
  addChatFlags,
  addDataFlags,
  dataChoices,
  addModelFlags,
  givenFlags,
  modelChoices,
  oneOf,
  realNumber,
  repeated,
  runs,
  wholeNumber,
} from "./command.ts";
import { EvaluationProgress } from "./evaluation-progress.ts";
import { print, printJson, say } from "./terminal.ts";

export function addEvalCommand(program: Command): void {
  const command = program
    .command("eval")
    .summary("measure a model on a task")
    .description(
      "Plays every row of one part of a task, sampled and greedy, and whole games where there is one, scores right answers " +
        "and pairs where the task has them, and says which errors are most frequent; all with fixed seeds.",
    );
  addChatFlags(addModelFlags(command))
    .optionsGroup("What to measure:")
    .requiredOption("--task <task>", "a built-in task, a task folder, or a data file");
  addDataFlags(command)
    .option("--split <part>", `${splits.join(", ")}`, oneOf(...splits), "held-out")
    .option("--split-seed <number>", "of the division into parts (default: as in training)", wholeNumber())
    .option("--samples <number>", "answers for each row", wholeNumber(1), 1)
    .option("--limit <number>", "measure only about so many rows, always the same ones", wholeNumber(1))
    .option("--no-greedy", "leave the greedy pass out")
    .option("--games <number>", "games per side and opponent, 0 for none", wholeNumber(), 100)
    .option("--control", "also measure an unrelated small set: plain texts and simple instructions")
    .option("--opponent <model>", "also play against this model; may be given several times", repeated)
    .optionsGroup("Sampling:")
    .option("--seed <number>", "of the draws: the same seed gives the same figures", wholeNumber(), 42)
    .option("--temperature <number>", "of the sampled pass", realNumber(), 1)
    .option("--max-completion-length <number>", "tokens of one answer (default: as in training)", wholeNumber(1))
    .option("--out <file>", "also write every answer and game to a file");
  runs(command, async (cli, flags) => {
    const out = flags["out"] as string | undefined;
    if (out !== undefined) requireFilePlace(out, "choose another --out");
    const session = await Session.open();
    const progress = new EvaluationProgress();
    const evaluation = await evaluateModel(session, requestOf(flags), modelChoices(flags), {
      signal: cli.signal,
      onProgress: progress.show,
    });
    progress.end();
    const { report } = evaluation;
    if (out !== undefined) {
      writeFileAtomic(out, JSON.stringify(evaluation) + "\n");
      say(`answers and games are in ${out}`);
    }
    if (cli.json) printJson(evalOutput(report));
    else print(evaluationText(report));
  });
}

function requestOf(flags: Record<string, unknown>): EvaluateRequest {
  return {
    model: flags["model"] as string,
    task: flags["task"] as string,
    ...dataChoices(flags),
    ...givenFlags(flags, "split", "splitSeed", "samples", "limit", "greedy", "games", "control"),
    ...givenFlags(flags, ["opponents", "opponent"], "seed", "temperature", ["maxTokens", "maxCompletionLength"]),
  };
}

function evaluationText(report: EvalReport): string {
  const reports = [{ label: "mean [95 %]", report }];
  const games = gameRows([{ label: "games", report }]);
  const errors = failureTable(reports);
  const sentence = report.reward === null ? [] : [failureSentence(report)];
  const tables = [
    measureTable(reports, "sampled"),
    errors,
    measureTable(reports, "greedy"),
    likelihoodTable(reports),
    controlTable(reports),
    games,
  ];
  return [
    `${report.model}: ${evaluationHeading(report)}`,
    ...[referenceText(report) ?? []].flat(),
    ...tables
      .filter((rows) => rows.length > 0)
      .flatMap((rows) => ["", textTable(rows), ...(rows === errors ? sentence : [])]),
  ].join("\n");
}
