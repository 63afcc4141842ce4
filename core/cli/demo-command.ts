/** `hone demo`: the whole loop in one command. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { runDemo, type DemoRequest } from "../app/demo.ts";
import { Session } from "../app/session.ts";
import { runs, wholeNumber } from "./command.ts";
import { EvaluationProgress } from "./evaluation-progress.ts";
import { print, printJson, say } from "./terminal.ts";
import { TrainProgress } from "./train-progress.ts";

export function addDemoCommand(program: Command): void {
  const command = program
    .command("demo")
    .summary("measure, train, measure again: the whole loop on the starter model")
    .description(
      "Measures a small model on tic-tac-toe boards that are kept out of training, trains it with GSPO on the others,\n" +
        "measures it again on the same boards, and reports what changed. Works offline, in minutes.",
    )
    .option("--steps <number>", "training steps (default: 400)", wholeNumber(1))
    .option("--seed <number>", "the same seed gives the same run", wholeNumber(), 42)
    .option("--out <folder>", "run folder (default: a new one in the library)")
    .option("--model <model>", "another model to begin with", "starter")
    .option("--samples <number>", "answers for each held-out board", wholeNumber(1), 1)
    .option("--games <number>", "games per side and opponent, 0 for none", wholeNumber(), 100);
  runs(command, async (cli, flags) => {
    const session = await Session.open();
    const training = new TrainProgress();
    const measuring = { before: new EvaluationProgress("before"), after: new EvaluationProgress("after") };
    const optional = (name: string, flag: string) => (flags[flag] === undefined ? {} : { [name]: flags[flag] });
    const request: DemoRequest = {
      model: flags["model"] as string,
      task: "tic-tac-toe",
      seed: flags["seed"] as number,
      samples: flags["samples"] as number,
      games: flags["games"] as number,
      ...optional("steps", "steps"),
      ...optional("out", "out"),
    };
    let trained = false;
    const output = await runDemo(session, request, {
      command: cli.command,
      signal: cli.signal,
      listen: (event) => {
        measuring.before.end();
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
    measuring.after.end();
    if (cli.json) {
      printJson(output);
      return;
    }
    print(readFileSync(join(output.run, "report.txt"), "utf8"));
    print(`page with both curves: ${output.report}`);
    say(`play against it: hone play --model ${dirname(output.report)}`);
  });
}
