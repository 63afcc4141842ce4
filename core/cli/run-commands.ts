/** `hone ls` and `hone show`: the runs, and one run. */

import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { Command } from "commander";
import { describeRun, summarizeLibrary, type RunDetails } from "../app/run-summaries.ts";
import type { RunSummary } from "../contract/cli-json.ts";
import { usedOptions } from "../contract/config.ts";
import { HoneError } from "../contract/errors.ts";
import { evaluationSchema, type EvalItem } from "../contract/eval.ts";
import { rolloutLineSchema } from "../contract/run.ts";
import { headlineMetrics, metricLabel, type MetricLabel } from "../contract/metric-labels.ts";
import { textTable } from "../contract/text-table.ts";
import { readJson, readRows } from "../files/json.ts";
import { requireRun, runsFolder } from "../store/library.ts";
import { RunFolder } from "../train/run-folder/run-folder.ts";
import { oneOf, runs, wholeNumber } from "./command.ts";
import { showDatasets, showModels } from "./list-models.ts";
import { asTyped, paint, print, printJson, say, sparkline } from "./terminal.ts";
import { alarmLine } from "./train-progress.ts";

const curveWidth = 40;
const labelWidth = 30;

export function addRunCommands(program: Command): void {
  const list = program
    .command("ls")
    .summary("list runs, models or datasets")
    .description(
      "Lists the runs of the library, newest first; or every model on this machine, with what it takes and whether it opens; or the datasets.",
    )
    .argument("[what]", "runs (default), models or datasets", oneOf("runs", "models", "datasets"));
  runs(list, async (cli, _, [what]) => {
    if (what === "models") return showModels(cli);
    if (what === "datasets") return showDatasets(cli);
    const { runs: found, unreadable } = await summarizeLibrary();
    for (const { name, why } of unreadable) say(`${name} cannot be read: ${why}`);
    if (cli.json) return printJson({ runs: found });
    if (found.length === 0) return print(asTyped(`no runs yet in ${runsFolder()}: \`hone demo\` makes one`));
    const rows = found.map((run) => [
      run.name,
      basename(run.model),
      basename(run.task),
      run.method,
      `${run.step}/${run.total_steps}`,
      lastMeasured(run),
      run.best === null ? "–" : `${measured(run.best)} at ${run.best.step}`,
      run.created.slice(0, 16).replace("T", " "),
    ]);
    print(textTable([["run", "model", "task", "method", "steps", "last step", "best checkpoint", "begun"], ...rows]));
  });

  const show = program
    .command("show")
    .summary("show one run: curves, checkpoints, alarms, answers")
    .description("Shows a run from its folder. With --step: its answers of that step. With --board: before and after.")
    .argument("<run>", "name or folder of a run")
    .option("--step <number>", "answers of one training step", wholeNumber(1))
    .option("--board <id>", "answers to one held-out board, at every measured checkpoint");
  runs(show, async (cli, flags, [reference]) => {
    const path = requireRun(reference);
    if (flags["step"] !== undefined) return showRollouts(cli.json, new RunFolder(path), flags["step"] as number);
    if (typeof flags["board"] === "string") return showBoard(cli.json, new RunFolder(path), flags["board"]);
    const details = await describeRun(path);
    if (cli.json) printJson({ ...details, config: usedOptions(details.config) });
    else print(detailsText(details));
  });
}

function measured({ metric, value }: { metric: string; value: number }): string {
  const { label, format } = metricLabel(metric);
  return `${label} ${format(value)}`;
}

/** Reward, or loss where nothing is rewarded. */
function lastMeasured({ reward, loss }: RunSummary): string {
  if (reward !== null) return measured({ metric: "reward", value: reward });
  return loss === null ? "–" : measured({ metric: "loss", value: loss });
}

function detailsText(run: RunDetails): string {
  const { config, metrics } = run;
  const curve = ({ name, label, format }: MetricLabel): string[] => {
    const values = metrics.map((row) => row[name]).filter((value) => value !== undefined);
    if (values.length === 0) return [];
    const ends = `${format(values[0])} → ${format(values[values.length - 1])}`;
    return [`${label.padEnd(labelWidth)}${sparkline(values, curveWidth).padEnd(curveWidth)}  ${ends}`];
  };
  const seen = run.events.filter(({ kind, action }) => kind === "alarm" || (kind === "info" && action !== undefined));
  return [
    paint("bold", run.name),
    `${config.method.toUpperCase()}, ${config.finetuning_type}, ${config.model} on ${config.task}, seed ${config.seed}`,
    `step ${run.step} of ${run.total_steps}, begun ${run.created}`,
    "",
    ...headlineMetrics(config.method).flatMap(curve),
    "",
    `checkpoints: ${run.checkpoints.join(", ") || "none yet"}${run.best === null ? "" : ` (best: ${run.best.step})`}`,
    ...seen.map(({ kind, step, message }) =>
      alarmLine({ kind: kind === "alarm" ? "alarm" : "note", step, message }, process.stdout),
    ),
    ...(existsSync(join(run.path, "report.html")) ? [`report: ${join(run.path, "report.html")}`] : []),
    `folder: ${run.path}`,
  ].join("\n");
}

function showRollouts(json: boolean, folder: RunFolder, step: number): void {
  const path = folder.rolloutFile(step);
  if (!existsSync(path)) {
    throw new HoneError("no-rollouts", `the run ${folder.name} has no rollouts of step ${step}`, {
      fix: "choose a step that was done, in a run with log_completions true",
    });
  }
  const lines = readRows(path, rolloutLineSchema);
  if (json) return printJson({ step, rollouts: lines });
  for (const [prompt, answers] of Map.groupBy(lines, (line) => line.prompt_index)) {
    print(paint("bold", `prompt ${prompt}: ${answers[0].row_id}`));
    print(paint("dim", answers[0].prompt));
    for (const line of answers) {
      const why = line.failure === null ? "" : ` (${line.failure})`;
      print(`  ${line.reward.toFixed(2)}${why}, advantage ${line.advantage.toFixed(2)}: ${line.completion}`);
    }
  }
}

function showBoard(json: boolean, folder: RunFolder, board: string): void {
  const pattern = /^(\d+)-held-out\.json$/;
  const evaluations = folder.file("evaluations");
  const files = existsSync(evaluations) ? readdirSync(evaluations).filter((name) => pattern.test(name)) : [];
  const found = files.flatMap((name): { step: number; item: EvalItem }[] => {
    const { items } = readJson(join(evaluations, name), evaluationSchema);
    const step = Number(pattern.exec(name)?.[1]);
    return items.filter(({ row_id }) => row_id === board).map((item) => ({ step, item }));
  });
  if (found.length === 0) {
    throw new HoneError("no-such-board", `no held-out evaluation of ${folder.name} has a board ${board}`, {
      fix: "a demo run measures the held-out boards; their ids stand in eval/*-held-out.json",
    });
  }
  found.sort((a, b) => a.step - b.step);
  if (json) return printJson({ board, answers: found.map(({ step, item }) => ({ step, ...item })) });
  for (const { step, item } of found) {
    print(
      `step ${step}, ${item.pass}: reward ${item.reward ?? "–"}${item.failure === null ? "" : ` (${item.failure})`}`,
    );
    for (const { text, replies } of item.turns) {
      print(`  ${text.trim()}`);
      for (const reply of replies) print(paint("dim", `  ${reply.role}: ${reply.text.trim()}`));
    }
  }
}
