/** `hone demo`: the whole loop in one command. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { runDemo, type DemoRequest } from "../app/demo.ts";
import { Session } from "../app/session.ts";
import type { DemoOutput } from "../contract/cli-json.ts";
import { errorKind } from "../contract/errors.ts";
import { plural } from "../contract/units.ts";
import { findRun, runWord } from "../store/library.ts";
import { runs, wholeNumber } from "./command.ts";
import { EvaluationProgress } from "./evaluation-progress.ts";
import { print, printJson, say } from "./terminal.ts";
import { TrainProgress } from "./train-progress.ts";

export function addDemoCommand(program: Command): void {
  const command = program
    .command("demo")
    .summary("measure, train, measure again: the whole loop on the starter model")
    .description(
      "Measures a small model on tic-tac-toe boards that are kept out of training, trains it with GSPO on the others, " +
        "measures it again on the same boards, and reports what changed. Works offline, in minutes.",
    )
    .option("--steps <number>", "training steps (default: 400)", wholeNumber(1))
    .option("--seed <number>", "the same seed gives the same run (default: 42)", wholeNumber())
    .option("--out <folder>", "run folder (default: a new one in the library); a demo that was stopped goes on")
    .option("--model <model>", "another model to begin with (default: starter)")
    .option("--samples <number>", "answers for each held-out board", wholeNumber(1), 1)
    .option("--games <number>", "games per side and opponent, 0 for none", wholeNumber(), 100);
  runs(command, async (cli, flags) => {
    const session = await Session.open();
    const training = new TrainProgress();
    const measuring = { before: new EvaluationProgress("before"), after: new EvaluationProgress("after") };
    const optional = (name: string, flag: string) => (flags[flag] === undefined ? {} : { [name]: flags[flag] });
    const request: DemoRequest = {
      task: "tic-tac-toe",
      samples: flags["samples"] as number,
      games: flags["games"] as number,
      ...optional("model", "model"),
      ...optional("seed", "seed"),
      ...optional("steps", "steps"),
      ...optional("out", "out"),
    };
    let trained = false;
    let run: string | undefined;
    const work = runDemo(session, request, {
      command: cli.command,
      signal: cli.signal,
      onPlan: (plan) => {
        run = plan.run;
        say(`1. measure ${plan.model} on boards that are kept out of training`);
        say(`2. train it on the others: ${plural(plan.steps, "step")} of GSPO`);
        say("3. measure it again on the boards of 1, and report");
        say(`Everything is kept in ${run}. Ctrl-C stops at any time.\n`);
      },
      onEvaluated: (stage, { reward, legal_rate, response_length }) => {
        measuring[stage].end();
        const legal = legal_rate === null ? "" : `, ${(100 * legal_rate.mean).toFixed(1)} % legal moves`;
        say(
          `${stage}: mean reward ${reward.mean.toFixed(3)}${legal}, ${response_length.mean.toFixed(1)} tokens an answer\n`,
        );
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
      print(`page with both curves: ${output.report}`);
    }
    say(`play against it: \`hone play --model ${runWord(output.run)}\``);
  });
}
