/** `hone reward`: makes, checks and tries rewards. */

import { extname } from "node:path";
import type { Command } from "commander";
import { checkReward, newReward } from "../app/rewards/check-reward.ts";
import { tryReward, type TrialRequest } from "../app/rewards/reward-lab.ts";
import { checkText, trialText } from "../app/rewards/reward-text.ts";
import { runs, wholeNumber } from "./command.ts";
import { readJsonFile } from "./config-flags.ts";
import { asTyped, print, printJson, say, usageError } from "./terminal.ts";

export function addRewardCommand(program: Command): void {
  const reward = program
    .command("reward")
    .summary("make, check and try rewards")
    .description(
      "A reward is a .json file of parts, a .ts or .js function, or a .py program; examples/rewards/README.md explains them.",
    );

  const make = reward
    .command("new")
    .summary("write a reward to begin with")
    .description("Writes a reward that works at once.")
    .requiredOption("--out <file>", "a .ts, .json or .py file");
  runs(make, async (cli, flags) => {
    const out = flags["out"] as string;
    newReward(out);
    if (cli.json) printJson({ path: out });
    else print(asTyped(`${out} is written; \`hone reward check ${out}\` tries it on made answers`));
  });

  const check = reward
    .command("check")
    .summary("check a reward on made answers")
    .description("Opens a reward and scores a few made answers to 2 + 2, or one sample of your own.")
    .argument("<reward>", "reward file")
    .option("--sample <file>", 'JSON of one sample, such as {"answer": "4", "row": {"answer": "4"}}');
  runs(check, async (cli, flags, [path]) => {
    const content = extname(path) === ".json" ? readJsonFile(path) : undefined;
    const sample = typeof flags["sample"] === "string" ? readJsonFile(flags["sample"]) : undefined;
    const result = await checkReward(path, content, sample, cli.signal);
    if (cli.json) printJson(result);
    else print(checkText(result));
  });

  const attempt = reward
    .command("try")
    .summary("try a reward on stored rollouts, without training")
    .description(
      "Scores the rollouts of a run, or of a file, and shows how the values are spread, which groups teach nothing, which parts disagree, the best and worst answers, and what looks like reward hacking.",
    )
    .argument("<reward>", "reward file")
    .option("--run <run>", "name or folder of a run that kept its rollouts")
    .option("--step <number|all>", "rollouts of one step of the run", stepOrAll, "all")
    .option("--rollouts <file>", "JSON Lines instead: prompt, completion, and columns");
  runs(attempt, async (cli, flags, [path]) => {
    let told = 0;
    const trial = await tryReward(
      { reward: path, from: rolloutsOf(flags) },
      {
        signal: cli.signal,
        onProgress: (done, of) => {
          if (performance.now() - told < 2000 || done === of) return;
          told = performance.now();
          say(`${done} of ${of} rollouts scored`);
        },
      },
    );
    if (cli.json) printJson(trial);
    else print(trialText(trial));
  });
}

function stepOrAll(text: string): number | "all" {
  return text === "all" ? "all" : wholeNumber(1)(text);
}

function rolloutsOf(flags: Record<string, unknown>): TrialRequest["from"] {
  const [run, file] = [flags["run"], flags["rollouts"]];
  if (typeof run === "string" && file === undefined) return { run, step: flags["step"] as number | "all" };
  if (typeof file === "string" && run === undefined) return { file };
  throw usageError(
    run === undefined ? "there is nothing to try the reward on" : "--run and --rollouts contradict each other",
    "give --run RUN (`hone ls` lists them) or --rollouts FILE",
  );
}
