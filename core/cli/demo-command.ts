/** `hone demo`: the whole loop in one command. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { runDemo, type DemoRequest } from "../app/demo/demo.ts";
import { outcomeLabel, shareText } from "../app/evaluation/evaluation-text.ts";
import { Session } from "../app/session.ts";
import type { DemoOutput } from "../contract/cli-json.ts";
import { errorKind } from "../contract/errors.ts";
import type { EvalReport } from "../contract/eval.ts";
import { plural, formatPercent } from "../contract/units.ts";
import { findRun, runWord } from "../store/library.ts";
import { runs, wholeNumber } from "./command.ts";
import { addConfigFlags, readConfig } from "./config-flags.ts";
import { EvaluationProgress } from "./evaluation-progress.ts";
import { print, printJson, say, usageError } from "./terminal.ts";
import { TrainProgress } from "./train-progress.ts";

export function addDemoCommand(program: Command): void {
  const command = program
    .command("demo")
    .summary("measure, train, measure again: the whole loop on the starter model")
    .description(
      "Measures a small model on tic-tac-toe boards that are kept out of training, trains it with GSPO on the others, " +
        "measures it again on the same boards, and reports what changed. Works offline, in minutes. With --task, --model " +
        "and --method it does the same for any other; every option of `hone train` is understood.",
    )
    .option("--steps <number>", "training steps (default: 400 for tic-tac-toe)", wholeNumber(1))
    .option("--out <folder>", "run folder (default: a new one in the library); a demo that was stopped goes on")
    .option("--samples <number>", "answers for each held-out row", wholeNumber(1), 1)
    .option("--limit <number>", "measure only about so many held-out rows", wholeNumber(1), 500)
    .option("--games <number>", "games per side and opponent, 0 for none", wholeNumber(), 100)
    .option("--no-control", "do not measure the unrelated small set")
    .option("--config <file>", "options of the training from a JSON file; flags win over it");
  addConfigFlags(command);
  // Four of them are told; `hone train --help` explains the others.
  const told = ["--model", "--task", "--method", "--seed"];
  const own = ["--steps", "--out", "--samples", "--limit", "--games", "--no-control", "--config"];
  for (const option of command.options) {
    if (![...told, ...own].includes(option.long ?? "")) option.hideHelp();
  }
  runs(command, async (cli, flags) => {
    const config = readConfig(flags);
    const { steps, out, samples, limit, games, control } = flags as unknown as DemoFlags;
    if (steps !== undefined && config.max_steps != null) {
      throw usageError("--steps and --max-steps are the same: give one of them");
    }
    if (out !== undefined && config.output_dir != null) {
      throw usageError("--out and output_dir are the same: give one of them");
    }
    const session = await Session.open();
    const training = new TrainProgress();
    const measuring = { before: new EvaluationProgress("before"), after: new EvaluationProgress("after") };
    const request: DemoRequest = {
      config: {
        ...config,
        ...(steps !== undefined && { max_steps: steps }),
        ...(out !== undefined && { output_dir: out }),
      },
      ...{ samples, limit, games, control },
    };
    let trained = false;
    let run: string | undefined;
    let isGame = false;
    const work = runDemo(session, request, {
      command: cli.command,
      signal: cli.signal,
      onPlan: (plan) => {
        run = plan.run;
        const rows = `${plan.task.rowName ?? "row"}s`;
        const length = plan.steps === null ? "" : `${plural(plan.steps, "step")} of `;
        isGame = plan.task.game !== undefined;
        say(`1. measure ${plan.model} on ${rows} that are kept out of training`);
        say(`2. train it on the others: ${length}${plan.method.toUpperCase()}`);
        say(`3. measure it again on the ${rows} of 1, and report`);
        say(`Everything is kept in ${run}. Ctrl-C stops at any time.\n`);
      },
      onEvaluated: (stage, report) => {
        measuring[stage].end();
        say(`${stage}: ${headline(report)}\n`);
      },
      listen: (event) => {
        training.listen(event);
        trained = true;
      },
      onEvaluate: (stage, progress) => {
        if (stage === "after" && trained) {
          training.end();
          trained = false;
        }
        measuring[stage].show(progress);
      },
    });
    let output: DemoOutput;
    try {
      output = await work;
    } catch (error) {
      for (const progress of [training, measuring.before, measuring.after]) progress.end();
      if (errorKind(error) === "cancelled" && run !== undefined && findRun(run) !== undefined) {
        say(`go on with \`hone demo --out ${runWord(run)}\``);
      }
      throw error;
    }
    if (cli.json) printJson(output);
    else {
      print(readFileSync(join(output.run, "report.txt"), "utf8"));
      print(`page with the curves: ${output.report}`);
    }
    if (isGame) say(`play against it: \`hone play --model ${runWord(output.run)}\``);
    else say(`talk to it: \`hone chat --model ${runWord(output.run)}\``);
  });
}

interface DemoFlags {
  steps?: number;
  out?: string;
  samples: number;
  limit: number;
  games: number;
  control: boolean;
}

/** The figures that matter most, in one line. */
function headline(report: EvalReport): string {
  const { reward, rates, solution, preference, response_length } = report;
  const [first] = Object.entries(rates);
  return [
    ...(reward === null ? [] : [`mean reward ${reward.mean.toFixed(3)}`]),
    ...(first?.[1] == null ? [] : [`${formatPercent(first[1].mean, 1)} ${outcomeLabel(report, first[0])}`]),
    ...(solution === null ? [] : [`loss of right answers ${solution.loss.mean.toFixed(3)}`]),
    ...(preference === null ? [] : [`better answer preferred in ${shareText(preference.accuracy.mean)} of pairs`]),
    `${response_length.mean.toFixed(1)} tokens an answer`,
  ].join(", ");
}
