/** The before/after report of a demo: a page to read, the same as text, and the curves as a picture. */

import { join } from "node:path";
import type { DemoOutput } from "../../contract/cli-json.ts";
import type { Evaluation, Split } from "../../contract/eval.ts";
import { textTable } from "../../contract/text-table.ts";
import { formatBytes, formatCount, formatSeconds } from "../../contract/units.ts";
import { evenly, mean } from "../../contract/numbers.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import type { Task } from "../../tasks/task.ts";
import type { RunFolder } from "../../train/run-folder/run-folder.ts";
import {
  controlTable,
  evaluationHeading,
  failureTable,
  gameRows,
  intervalText,
  likelihoodTable,
  measureTable,
  outcomeLabel,
  rateText,
  referenceText,
  shareText,
} from "../evaluation/evaluation-text.ts";
import { curvesSvg, type ReferenceLine } from "./curves-svg.ts";
import { demoPage, type DemoFacts, type DemoTable } from "./demo-page.ts";
import { answerPairs, transcript, type AnswerPair } from "./sample-answers.ts";

export interface DemoMaterial {
  folder: RunFolder;
  task: Task;
  before: Evaluation;
  after: Evaluation;
  change: DemoOutput["change"];
  verdict: readonly string[];
  /** The checkpoint that `after` measures. */
  step: number;
  train: DemoOutput["train"];
}

/** Answers that the text shows; the page has them all. */
const shownAnswers = 8;

/** Writes `report.html`, `report.txt` and `curves.svg` into the run folder and returns the page's path. */
export function writeDemoReport(material: DemoMaterial): string {
  const { folder, task, before } = material;
  const facts = demoFacts(material);
  const curves = curvesSvg(folder.readMetrics(), referenceLines(task, before.report.split_seed));
  const page = join(folder.path, "report.html");
  writeFileAtomic(join(folder.path, "curves.svg"), curves);
  writeFileAtomic(join(folder.path, "report.txt"), demoText(facts) + "\n");
  writeFileAtomic(page, demoPage(facts, curves));
  return page;
}

/** Random legal play and the best possible, over every row the task has. */
function referenceLines(task: Task, seed: number | string): ReferenceLine[] {
  const splits: Split[] = ["train", "validation", "held-out"];
  const reference = task.reference(splits.flatMap((split) => task.rows(split, { seed })));
  const lines: ReferenceLine[] = [
    { label: "random legal", value: reference["uniform_legal"] },
    { label: "best possible", value: reference["best"] },
  ];
  return lines
    .filter(({ value }) => Number.isFinite(value))
    .map(({ label, value }) => ({ label, value: Number(value.toFixed(3)) }));
}

function demoFacts({ folder, task, before, after, change, verdict, step, train }: DemoMaterial): DemoFacts {
  const { config, record } = folder.readConfig();
  const changed = folder
    .readMetrics()
    .map((row) => row["share_weights_changed"])
    .filter((share) => share !== undefined);
  const reports = [
    { label: "before", report: before.report },
    { label: "after", report: after.report },
  ];
  const rowName = after.report.row_name;
  const tables: DemoTable[] = [
    { title: "Before and after", rows: measureTable(reports, "sampled") },
    { title: "At temperature 0", rows: measureTable(reports, "greedy") },
    {
      title: "Which errors",
      note: "Four basic kinds, most basic first: an error of form hides what comes after it.",
      rows: failureTable(reports),
    },
    { title: "Given answers", rows: likelihoodTable(reports) },
    { title: `Change, paired by ${rowName}, with 95 % intervals`, rows: changeRows(after, change) },
    {
      title: "Control",
      note: "What the model can do that has nothing to do with the task: a gain that is bought with a loss here is no free gain.",
      rows: [...controlTable(reports), ...controlChangeRows(change)],
    },
    {
      title: "Whole games",
      note: "The model was trained as X only. An illegal move or a missing call loses the game and is counted apart.",
      rows: gameRows(reports),
    },
  ];
  return {
    title: `${after.report.task}: before and after ${train.steps} steps of ${config.method.toUpperCase()}`,
    heading: evaluationHeading(after.report),
    verdict,
    references: referenceText(after.report),
    tables: tables.filter(({ rows }) => rows.length > 0),
    facts: [
      ["model", `${config.model} (${record.model.architecture}, ${formatCount(record.model.parameters)} parameters)`],
      ["model SHA-256", record.model.sha256],
      ["measured checkpoint", `step ${step}${step === train.steps ? "" : " (best on the validation part)"}`],
      ["Hone, engine", `${record.hone_version}, ${record.engine_version}`],
      ["seed, split seed", `${config.seed}, ${config.split_seed}`],
      ["steps, rollouts, tokens", [train.steps, train.rollouts, train.tokens].map(formatCount).join(", ")],
      ["training, with its evaluations", formatSeconds(train.seconds)],
      ["peak memory", formatBytes(train.peak_rss_bytes)],
      ["weights changed in a step", changed.length === 0 ? "–" : shareText(mean(changed))],
      ["command", record.command.join(" ")],
      ["run folder", folder.path],
    ],
    rowName,
    answers: answerPairs(task, before, after),
  };
}

function changeRows({ report }: Evaluation, change: DemoOutput["change"]): string[][] {
  const rows = [["change, paired", "after − before"]];
  const add = (label: string, value: string | undefined) => value !== undefined && rows.push([label, value]);
  if (change.reward !== null) {
    add("mean reward", intervalText(change.reward));
    add("… every problem once", intervalText(change.reward_by_problem));
  }
  for (const name of [...new Set([...Object.keys(report.labels.outcomes), ...Object.keys(change.rates)])]) {
    if (name in change.rates) add(outcomeLabel(report, name), rateText(change.rates[name]));
  }
  if (change.solution_loss !== null) add("loss of right answers, per token", intervalText(change.solution_loss));
  if (change.preference_accuracy !== null) add("better answer more likely", rateText(change.preference_accuracy));
  add("response length, tokens", intervalText(change.response_length));
  return rows;
}

function controlChangeRows({ control }: DemoOutput["change"]): string[][] {
  if (control === null) return [];
  return [
    ["change of the loss, paired", "", intervalText(control.text_loss)],
    ["change of instructions followed", "", rateText(control.instructions)],
  ];
}

function demoText(facts: DemoFacts): string {
  // Evenly spaced: nobody picks the good ones.
  const samples = evenly(facts.answers, shownAnswers);
  return [
    facts.title,
    facts.heading,
    ...(facts.references === undefined ? [] : [facts.references]),
    "",
    ...facts.verdict,
    ...facts.tables.flatMap(({ note, rows }) => ["", ...(note === undefined ? [] : [note]), textTable(rows)]),
    "",
    `answers to ${samples.length} ${facts.rowName}s, evenly spaced`,
    ...samples.flatMap(sampleText),
    "",
    textTable(facts.facts),
  ].join("\n");
}

function sampleText({ id, before, after }: AnswerPair): string[] {
  const indented = (text: string) => text.replaceAll("\n", "\n    ");
  const value = (reward: number | null) => (reward === null ? "" : `, reward ${reward}`);
  const why = (failure: string | null) => (failure === null ? "" : ` (${failure})`);
  return [
    `${id}`,
    `  before${value(before.reward)}${why(before.failure)}: ${indented(transcript(before))}`,
    `  after${value(after.reward)}${why(after.failure)}: ${indented(transcript(after))}`,
  ];
}
