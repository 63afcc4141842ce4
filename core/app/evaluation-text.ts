/** An evaluation in words and columns, alone or before and after. */

import type { EvalItem, EvalReport, GameCell, Interval, Measures } from "../contract/eval.ts";

/** `0.412 [0.380, 0.444]` */
export function intervalText({ mean, lo, hi }: Interval): string {
  return `${mean.toFixed(3)} [${lo.toFixed(3)}, ${hi.toFixed(3)}]`;
}

/** `93.1 % [91.0, 95.2]` */
export function rateText(rate: Interval | null): string {
  if (rate === null) return "–";
  const percent = (value: number) => (100 * value).toFixed(1);
  return `${percent(rate.mean)} % [${percent(rate.lo)}, ${percent(rate.hi)}]`;
}

/** Label and value of every measure, in the order in which a reader asks. */
export function measureRows(measures: Measures): [string, string][] {
  const { most_chosen } = measures;
  return [
    ["mean reward", intervalText(measures.reward)],
    ["… every problem once", intervalText(measures.reward_by_problem)],
    ["… of legal moves", measures.reward_given_legal === null ? "–" : intervalText(measures.reward_given_legal)],
    ["legal moves", rateText(measures.legal_rate)],
    ["immediate wins taken", rateText(measures.immediate_win_rate)],
    ["single threats blocked", rateText(measures.threat_block_rate)],
    ["optimal moves", rateText(measures.optimal_rate)],
    ["response length, tokens", measures.response_length.mean.toFixed(1)],
    ["… longest", String(measures.response_length.max)],
    ["cut by the limit", `${(100 * measures.truncated_rate).toFixed(1)} %`],
    [
      "most frequent choice",
      most_chosen === null ? "–" : `${most_chosen.choice} (${(100 * most_chosen.share).toFixed(0)} %)`,
    ],
  ];
}

export function gameText({ win, draw, loss, illegal }: GameCell): string {
  return `${win} / ${draw} / ${loss} / ${illegal}`;
}

export interface LabelledReport {
  label: string;
  report: EvalReport;
}

/** Every measure with one column of values per report, of the sampled or of the greedy pass; empty when it was not made. */
export function measureTable(reports: readonly LabelledReport[], pass: EvalItem["pass"]): string[][] {
  const columns = reports.flatMap(({ label, report }): { label: string; measures: Measures }[] => {
    const measures = pass === "greedy" ? report.greedy : report;
    return measures === null ? [] : [{ label, measures }];
  });
  if (columns.length === 0) return [];
  const labels = measureRows(columns[0].measures).map(([label]) => label);
  const cells = columns.map(({ measures }) => measureRows(measures).map(([, value]) => value));
  const heading = pass === "greedy" ? "greedy" : `sampled, temperature ${reports[0].report.temperature}`;
  const rows = [[heading, ...columns.map(({ label }) => label)]];
  labels.forEach((label, i) => rows.push([label, ...cells.map((column) => column[i])]));
  for (const kind of Object.keys(columns[0].measures.failures)) {
    rows.push([`−1: ${kind}`, ...columns.map(({ measures }) => String(measures.failures[kind] ?? 0))]);
  }
  // It is measured on the greedy answers where there are any.
  if ((pass === "greedy") === (reports[0].report.greedy !== null)) {
    rows.push(["same move on mirror images", ...reports.map(({ report }) => rateText(report.symmetry_agreement))]);
  }
  return rows;
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
  return (
    `${report.task}, ${report.split} part: ${report.boards} boards of ${report.problems} problems, ` +
    `${report.samples} answer(s) each at temperature ${report.temperature}, at most ${report.max_completion_length} tokens`
  );
}

const referenceNames: Record<string, string> = {
  uniform_legal: "random legal play",
  best: "best possible",
  uniform_squares: "random squares",
};

/** The known players' rewards on the same rows. */
export function referenceText(report: EvalReport): string {
  return Object.entries(referenceNames)
    .filter(([name]) => report.reference[name] !== undefined)
    .map(([name, label]) => `${label} ${report.reference[name].toFixed(3)}`)
    .join(" · ");
}
