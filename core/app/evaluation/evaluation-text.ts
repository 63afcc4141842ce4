/** An evaluation in words and columns, alone or before and after. */

import {
  failureGroups,
  type EvalItem,
  type EvalReport,
  type FailureGroup,
  type GameCell,
  failureGroupNames,
} from "../../contract/eval.ts";
import type { Interval, Measures } from "../../contract/eval.ts";
import { formatCount, plural, formatPercent } from "../../contract/units.ts";

/** `0.412 [0.380, 0.444]` */
export function intervalText(interval: Interval | null): string {
  if (interval === null) return "–";
  const { mean, lo, hi } = interval;
  return `${mean.toFixed(3)} [${lo.toFixed(3)}, ${hi.toFixed(3)}]`;
}

/** `93.1 % [91.0, 95.2]` */
export function rateText(rate: Interval | null): string {
  if (rate === null) return "–";
  const percent = (value: number) => (100 * value).toFixed(1);
  return `${percent(rate.mean)} % [${percent(rate.lo)}, ${percent(rate.hi)}]`;
}

export function shareText(share: number): string {
  return formatPercent(share, 1);
}

/** What a named yes/no result is called. */
export function outcomeLabel({ labels }: EvalReport, name: string): string {
  return labels.outcomes[name] ?? name.replaceAll("_", " ");
}

export interface LabelledReport {
  label: string;
  report: EvalReport;
}

/** One line of a table; left out where no report has it. */
type Line = [label: string, value: (measures: Measures) => string | null];

/** Label and value of every measure, in the order in which a reader asks. */
function measureLines(report: EvalReport, passes: readonly Measures[]): Line[] {
  const outcomes = [
    ...new Set([...Object.keys(report.labels.outcomes), ...passes.flatMap((m) => Object.keys(m.rates))]),
  ];
  const ofReward = (interval: Interval | null) => (interval === null ? null : intervalText(interval));
  return [
    ["mean reward", (m) => ofReward(m.reward)],
    ["… every problem once", (m) => ofReward(m.reward_by_problem)],
    ["… of allowed answers", (m) => ofReward(m.reward_given_allowed)],
    ...outcomes.map((name): Line => [
      outcomeLabel(report, name),
      (m) => (name in m.rates ? rateText(m.rates[name]) : null),
    ]),
    ["turns", (m) => (m.turns === 1 ? null : m.turns.toFixed(2))],
    ["response length, tokens", (m) => m.response_length.mean.toFixed(1)],
    ["… longest", (m) => String(m.response_length.max)],
    ["… of it thinking", (m) => m.thinking_tokens?.toFixed(1) ?? null],
    ["cut by the limit", (m) => shareText(m.truncated_rate)],
    ["failed by the environment", (m) => (m.invalid === 0 ? null : String(m.invalid))],
    [
      "most frequent choice",
      ({ most_chosen: top }) => (top === null ? null : `${top.choice} (${formatPercent(top.share)})`),
    ],
  ];
}

/** The measures of one pass, with the label of their report. */
function passes(reports: readonly LabelledReport[], pass: EvalItem["pass"]): { label: string; measures: Measures }[] {
  return reports.flatMap(({ label, report }) => {
    const measures: Measures | null = pass === "greedy" ? report.greedy : report;
    return measures === null ? [] : [{ label, measures }];
  });
}

/** Every measure with one column of values per report, of the sampled or of the greedy pass; empty when it was not made. */
export function measureTable(reports: readonly LabelledReport[], pass: EvalItem["pass"]): string[][] {
  const columns = passes(reports, pass);
  if (columns.length === 0) return [];
  const [{ report }] = reports;
  const heading = pass === "greedy" ? "greedy" : `sampled, temperature ${report.temperature}`;
  const rows = [[heading, ...columns.map(({ label }) => label)]];
  const lines = measureLines(
    report,
    columns.map(({ measures }) => measures),
  );
  for (const [label, value] of lines) {
    const cells = columns.map(({ measures }) => value(measures));
    if (cells.some((cell) => cell !== null)) rows.push([label, ...cells.map((cell) => cell ?? "–")]);
  }
  // It is measured on the greedy answers where there are any.
  const isHere = (pass === "greedy") === (report.greedy !== null);
  if (isHere && reports.some((one) => one.report.symmetry_agreement !== null)) {
    rows.push(["same choice on mirror images", ...reports.map((one) => rateText(one.report.symmetry_agreement))]);
  }
  return rows;
}

/** Errors of the sampled pass: the basic kinds that occur with their shares, and under each the task's own kinds with their counts. */
export function failureTable(reports: readonly LabelledReport[]): string[][] {
  const [{ report }] = reports;
  const rows = [["errors, most basic first", ...reports.map(({ label }) => label)]];
  const kinds = [...new Set(reports.flatMap((one) => Object.keys(one.report.failures)))];
  for (const group of failureGroupNames) {
    const shares = reports.map((one) => one.report.faults[group]);
    const [name] = failureGroups[group].split(":");
    if (shares.some((share) => share > 0)) rows.push([name, ...shares.map(shareText)]);
    for (const kind of kinds.filter((one) => report.labels.failures[one]?.group === group)) {
      rows.push(...kindRow(reports, kind, report.labels.failures[kind].meaning));
    }
  }
  for (const kind of kinds.filter((one) => !(one in report.labels.failures))) rows.push(...kindRow(reports, kind, "?"));
  return rows.length === 1 ? [] : rows;
}

/** Kinds that never occurred are left out: a task may know many. */
function kindRow(reports: readonly LabelledReport[], kind: string, meaning: string): string[][] {
  const counts = reports.map(({ report }) => report.failures[kind] ?? 0);
  return counts.every((one) => one === 0) ? [] : [[`  ${kind}: ${meaning}`, ...counts.map(String)]];
}

/** What the errors of a report say, in one plain sentence. */
export function failureSentence({ faults }: Pick<Measures, "faults">): string {
  const [worst] = failureGroupNames.toSorted((a, b) => faults[b] - faults[a]);
  const share = formatPercent(faults[worst]);
  if (faults[worst] === 0) return "No answer had an error.";
  const sentences: Record<FailureGroup, string> = {
    call: `${share} of answers fail already at the form of the call: what the model would choose cannot be seen before the form is right.`,
    rules: `${share} of answers are well formed but break a rule of the task: the rules are misread, not the situation.`,
    state: `${share} of answers would be allowed elsewhere but not in the situation shown: the state is misread.`,
    choice: `${share} of answers are right in form, rule and state, and are just not the best ones: what is missing is judgement.`,
  };
  return sentences[worst];
}

/** Figures that need no sampling; empty where the task has neither right answers nor pairs. */
export function likelihoodTable(reports: readonly LabelledReport[]): string[][] {
  const rows = [["without sampling", ...reports.map(({ label }) => label)]];
  const add = (label: string, value: (report: EvalReport) => string | undefined) => {
    const cells = reports.map(({ report }) => value(report));
    if (cells.some((cell) => cell !== undefined)) rows.push([label, ...cells.map((cell) => cell ?? "–")]);
  };
  const interval = (value: Interval | null | undefined) => (value == null ? undefined : intervalText(value));
  const rate = (value: Interval | null | undefined) => (value == null ? undefined : rateText(value));
  add("loss of right answers, per token", ({ solution }) => interval(solution?.loss));
  add("better answer more likely", ({ preference }) => rate(preference?.accuracy));
  add("… than to the reference", ({ preference }) => rate(preference?.reward_accuracy));
  add("margin", ({ preference }) => interval(preference?.margin));
  return rows.length === 1 ? [] : rows;
}

export function controlTable(reports: readonly LabelledReport[]): string[][] {
  if (reports.every(({ report }) => report.control === null)) return [];
  const cells = (value: (control: NonNullable<EvalReport["control"]>) => string) =>
    reports.map(({ report }) => (report.control === null ? "–" : value(report.control)));
  return [
    ["control, unrelated to the task", ...reports.map(({ label }) => label)],
    ["loss of plain texts, per token", ...cells(({ text_loss }) => intervalText(text_loss))],
    ["simple instructions followed", ...cells(({ instructions }) => rateText(instructions))],
  ];
}

function gameText({ win, draw, loss, illegal }: GameCell): string {
  return `${win} / ${draw} / ${loss} / ${illegal}`;
}

/** One row per opponent and side; a report that did not play an opponent has a dash. */
export function gameRows(reports: readonly LabelledReport[]): string[][] {
  const opponents = [...new Set(reports.flatMap(({ report }) => Object.keys(report.games)))];
  if (opponents.length === 0) return [];
  const rows = [["win / draw / loss / illegal", ...reports.map(({ label }) => label)]];
  for (const opponent of opponents) {
    for (const side of ["x", "o"] as const) {
      const cells = reports.map(({ report }) => {
        const cell = report.games[opponent]?.[side];
        return cell === undefined ? "–" : gameText(cell);
      });
      rows.push([`as ${side.toUpperCase()} against ${opponent}`, ...cells]);
    }
  }
  return rows;
}

/** What was measured: one line. */
export function evaluationHeading(report: EvalReport): string {
  const problems = report.problems === report.rows ? "" : ` of ${plural(report.problems, "problem")}`;
  const skipped = report.skipped === 0 ? "" : ` (${formatCount(report.skipped)} more have prompts that are too long)`;
  return (
    `${report.task}, ${report.split} part: ${plural(report.rows, report.row_name)}${problems}${skipped}, ` +
    `${plural(report.samples, "answer")} each at temperature ${report.temperature}, at most ${report.max_completion_length} tokens`
  );
}

const referenceNames: Record<string, string> = {
  uniform_legal: "random legal play",
  best: "best possible",
  uniform_squares: "random squares",
};
/** Players of tic-tac-toe that say no more than the others do. */
const untold = ["never_legal", "worst_legal"];

/** The known players' rewards on the same rows: `on these boards: …`; undefined where none is known. */
export function referenceText({ reference, row_name }: EvalReport): string | undefined {
  const names = Object.keys(referenceNames).filter((name) => name in reference);
  const others = Object.keys(reference).filter((name) => !names.includes(name) && !untold.includes(name));
  const told = [...names, ...others].map(
    (name) => `${referenceNames[name] ?? name.replaceAll("_", " ")} ${reference[name].toFixed(3)}`,
  );
  return told.length === 0 ? undefined : `on these ${row_name}s: ${told.join(" · ")}`;
}
