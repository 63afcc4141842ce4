/** `hone train` and `hone resume`. */

import type { Command } from "commander";
import { planRun } from "../app/plan/plan-run.ts";
import { usageText } from "../app/rewards/reward-text.ts";
import { Session } from "../app/session.ts";
import { resumeRun, trainModel } from "../app/train-model.ts";
import type { RunPlan } from "../contract/cli-json.ts";
import { metricLabel } from "../contract/metric-labels.ts";
import { textTable } from "../contract/text-table.ts";
import { flagOf } from "../contract/train-command.ts";
import { formatBytes, formatCount, formatSeconds, plural } from "../contract/units.ts";
import { requireRun, runWord } from "../store/library.ts";
import { peakMemory } from "../train/loop.ts";
import type { TrainResult } from "../train/run.ts";
import { runs, wholeNumber, type Cli } from "./command.ts";
import { addConfigFlags, readConfig, readConfigFlags } from "./config-flags.ts";
import { exitCodes, print, printJson, say, usageError } from "./terminal.ts";
import { TrainProgress } from "./train-progress.ts";

export function addTrainCommands(program: Command): void {
  const train = program
    .command("train")
    .summary("train a model on a task (SFT, DPO, GRPO, GSPO, PPO)")
    .description(
      "Trains a model on a task and keeps everything in a run folder. An option that names methods is used by those " +
        "only (RL: gspo, grpo and ppo). Values in [brackets] are usual ones for gspo; methods, tasks and models have " +
        "their own: --dry-run shows them all. TRL's option names are understood too.",
    )
    .option("--config <file>", "options from a JSON file (- for stdin), such as a run's config.json; flags win over it")
    .option("--resume <run>", "go on with a run: as `hone resume RUN`")
    .option("--dry-run", "show the resolved plan (tokens, memory, disk, time) and write nothing");
  addConfigFlags(train);
  runs(train, async (cli, flags) => {
    if (typeof flags["resume"] === "string") {
      const given = readConfigFlags(flags);
      if (flags["dryRun"] === true) throw usageError("--dry-run plans a new run, not one that goes on");
      const others = [...(flags["config"] === undefined ? [] : ["config"]), ...Object.keys(given)];
      const first = others.find((name) => name !== "max_steps");
      if (first !== undefined) {
        throw usageError(
          `a resumed run keeps its options, so ${flagOf(first)} cannot be given`,
          "only --max-steps may be raised; for other options begin a new run with --model RUN",
        );
      }
      return resume(cli, flags["resume"], given["max_steps"] as number | undefined);
    }
    const config = readConfig(flags);
    const session = await Session.open();
    if (flags["dryRun"] === true) {
      const plan = await planRun(session, config, {
        command: cli.command,
        listen: () => undefined,
        signal: cli.signal,
      });
      if (cli.json) printJson(plan);
      else print(planText(plan));
      return exitCodes.ok;
    }
    return withProgress(cli, (listen) =>
      trainModel(session, config, { command: cli.command, listen, signal: cli.signal }),
    );
  });

  const resumeCommand = program
    .command("resume")
    .summary("go on with a stopped or killed run")
    .description("Continues exactly where the newest checkpoint left the run.")
    .argument("<run>", "name or folder of a run")
    .option("--max-steps <number>", "make the run longer", wholeNumber(1));
  runs(resumeCommand, (cli, flags, [run]) => resume(cli, run, flags["maxSteps"] as number | undefined));
}

async function resume(cli: Cli, reference: string, maxSteps: number | undefined): Promise<number> {
  const run = requireRun(reference);
  const session = await Session.open();
  return withProgress(cli, (listen) =>
    resumeRun(session, run, maxSteps === undefined ? {} : { maxSteps }, {
      command: cli.command,
      listen,
      signal: cli.signal,
    }),
  );
}

async function withProgress(
  cli: Cli,
  work: (listen: TrainProgress["listen"]) => Promise<TrainResult>,
): Promise<number> {
  const progress = new TrainProgress();
  let result: TrainResult;
  try {
    result = await work(progress.listen);
  } finally {
    progress.end();
  }
  const { run, state, finished, judge } = result;
  if (cli.json) {
    printJson({
      run,
      finished,
      steps: state.step,
      rollouts: state.num_rollouts,
      tokens: state.num_tokens,
      seconds: state.seconds,
      peak_rss_bytes: peakMemory(),
      best: state.best,
      judge: judge ?? null,
    });
  }
  if (judge !== undefined && !cli.json) print(usageText(judge));
  if (!finished) {
    say(`stopped after step ${state.step}; go on with \`hone resume ${runWord(run)}\``);
    return exitCodes.interrupted;
  }
  if (!cli.json) {
    const answers = state.num_rollouts > 0 ? `, ${plural(state.num_rollouts, "answer")}` : "";
    const work = `${plural(state.step, "step")}${answers}, ${formatCount(state.num_tokens)} tokens`;
    print(`done: ${work} in ${formatSeconds(state.seconds)}`);
    print(`run folder: ${run}`);
    const best = state.best;
    if (best !== null) {
      const { label, format } = metricLabel(best.metric);
      print(`best checkpoint: step ${best.step}, ${label} ${format(best.value)}`);
    }
    say(`look at it: \`hone show ${runWord(run)}\``);
  }
  return exitCodes.ok;
}

function planText(plan: RunPlan): string {
  const { config, model, rows, tokens_per_step: tokens, memory_bytes: memory, seconds } = plan;
  const options = Object.entries(config).map(([name, value]) => [`  ${name}`, value === null ? "–" : String(value)]);
  const samples = plan.answers_per_step !== null;
  const withAnswers = samples ? " with answers as they are now" : "";
  const facts: string[][] = [
    [
      "model",
      `${model.name}: ${model.architecture}, ${formatCount(model.parameters)} parameters, ${formatCount(model.trainable_parameters)} trained, ${model.dtype}`,
    ],
    [
      "rows",
      `${formatCount(rows.train)} training, ${rows.validation} validation, ${formatCount(rows.held_out)} held out`,
    ],
    [
      "steps",
      `${formatCount(plan.steps)} (${plan.epochs.toFixed(2)} epochs, ${formatCount(plan.optimizer_steps)} optimizer steps)`,
    ],
    ...(plan.answers_per_step === null
      ? [[config.method === "dpo" ? "pairs per step" : "rows per step", formatCount(plan.rows_per_step)]]
      : [["answers per step", formatCount(plan.answers_per_step)]]),
    ["tokens per step", `${formatCount(tokens.now)}${withAnswers}, at most ${formatCount(tokens.most)}`],
    ["memory", `about ${formatBytes(memory.total)}${withAnswers}:`],
    [
      "",
      `weights ${formatBytes(memory.weights)}, gradients ${formatBytes(memory.gradients)}, optimizer ${formatBytes(memory.optimizer)},`,
    ],
    [
      "",
      [
        `activations ${formatBytes(memory.activations)}${memory.kv_cache > 0 ? ` or sampling ${formatBytes(memory.kv_cache)}` : ""}`,
        ...(memory.reference > 0 ? [`reference ${formatBytes(memory.reference)}`] : []),
        `Hone itself ${formatBytes(memory.program)}`,
      ].join(", "),
    ],
    ["disk", `${formatBytes(plan.disk_bytes)} of ${formatBytes(plan.disk_free_bytes)} free`],
    ["time", `about ${formatSeconds(seconds.total)}: ${formatSeconds(seconds.per_step)} a step, as measured just now`],
    [
      "",
      `${samples ? "less where answers become shorter, " : ""}at most ${formatSeconds(seconds.most_per_step)} a step`,
    ],
  ];
  return [textTable(facts), "", "options", textTable(options), ...plan.notes.map((note) => `note: ${note}`)].join("\n");
}
