/** The before/after report of a demo: a page to read, the same as text, and the two curves as a picture. */

import { join } from "node:path";
import type { DemoOutput } from "../contract/cli-json.ts";
import type { EvalItem, Evaluation, Split } from "../contract/eval.ts";
import { textTable } from "../contract/text-table.ts";
import { formatBytes, formatCount, formatSeconds } from "../contract/units.ts";
import { compare } from "../evaluate/measures.ts";
import { writeFileAtomic } from "../files/atomic.ts";
import type { Task } from "../tasks/task.ts";
import { mean } from "../train/losses/numbers.ts";
import type { RunFolder } from "../train/run-folder.ts";
import { curvesSvg, escapeXml, type ReferenceLine } from "./curves-svg.ts";
import { evaluationHeading, gameRows, measureTable, intervalText, rateText, referenceText } from "./evaluation-text.ts";

export interface DemoMaterial {
  folder: RunFolder;
  task: Task;
  before: Evaluation;
  after: Evaluation;
  /** The checkpoint that `after` measures. */
  step: number;
  train: DemoOutput["train"];
  checkpoint: string;
}

/** Everything that both forms of the report say. */
export interface DemoFacts {
  title: string;
  heading: string;
  verdict: string;
  references: string;
  /** Sampled, and greedy. */
  measures: string[][][];
  games: string[][];
  changes: string[][];
  facts: [string, string][];
}

/** Writes `report.html`, `report.txt` and `curves.svg` into the run folder and returns the page's path. */
export function writeDemoReport(material: DemoMaterial): string {
  const { folder, task, before, after } = material;
  const facts = demoFacts(material);
  const curves = curvesSvg(folder.readMetrics(), referenceLines(task, before.report.split_seed));
  const page = join(folder.path, "report.html");
  writeFileAtomic(join(folder.path, "curves.svg"), curves);
  writeFileAtomic(join(folder.path, "report.txt"), demoText(facts) + "\n");
  writeFileAtomic(page, demoPage(facts, curves, boardPages(task, before, after)));
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

export function demoFacts({ folder, before, after, step, train }: DemoMaterial): DemoFacts {
  const { config, record } = folder.readConfig();
  const rows = folder.readMetrics();
  const reports = [
    { label: "before", report: before.report },
    { label: "after", report: after.report },
  ];
  const change = compare(before.items, after.items, config.seed);
  const changed = rows.filter((row) => row["share_weights_changed"] !== undefined);
  const { lo, hi } = change.reward;
  const verdict =
    lo > 0
      ? "The trained model is better on boards it has never seen: the whole interval of the change is above 0."
      : hi < 0
        ? "The trained model is worse on held-out boards: the whole interval of the change is below 0."
        : "The change on held-out boards cannot be told from 0.";
  return {
    title: `${after.report.task}: before and after ${train.steps} steps of ${config.method.toUpperCase()}`,
    heading: evaluationHeading(after.report),
    verdict,
    references: referenceText(after.report),
    measures: [measureTable(reports, "sampled"), measureTable(reports, "greedy")].filter((rows) => rows.length > 0),
    games: gameRows(reports),
    changes: [
      ["change, paired", "after − before"],
      ["mean reward", intervalText(change.reward)],
      ["… every problem once", intervalText(change.reward_by_problem)],
      ["legal moves", rateText(change.legal_rate)],
      ["immediate wins taken", rateText(change.immediate_win_rate)],
      ["single threats blocked", rateText(change.threat_block_rate)],
      ["response length, tokens", intervalText(change.response_length)],
    ],
    facts: [
      ["model", `${config.model} (${record.model.architecture}, ${formatCount(record.model.parameters)} parameters)`],
      ["model SHA-256", record.model.sha256],
      ["measured checkpoint", `step ${step}${step === train.steps ? "" : " (best on the validation part)"}`],
      ["Hone, engine", `${record.hone_version}, ${record.engine_version}`],
      ["seed, split seed", `${config.seed}, ${config.split_seed}`],
      ["steps, rollouts, tokens", [train.steps, train.rollouts, train.tokens].map(formatCount).join(", ")],
      ["training, with its evaluations", formatSeconds(train.seconds)],
      ["peak memory", formatBytes(train.peak_rss_bytes)],
      ["weights changed in a step", `${(100 * mean(changed.map((row) => row["share_weights_changed"]))).toFixed(1)} %`],
      ["command", record.command.join(" ")],
      ["run folder", folder.path],
    ],
  };
}

export function demoText(facts: DemoFacts): string {
  return [
    facts.title,
    facts.heading,
    `on these boards: ${facts.references}`,
    "",
    ...facts.measures.flatMap((rows) => [textTable(rows), ""]),
    textTable(facts.changes),
    facts.verdict,
    ...(facts.games.length > 0 ? ["", "games (the model was trained as X only)", textTable(facts.games)] : []),
    "",
    textTable(facts.facts),
  ].join("\n");
}

/** Every held-out board with the answers before and after, to be opened one by one. */
function boardPages(task: Task, before: Evaluation, after: Evaluation): string {
  const first = (evaluation: Evaluation) =>
    new Map(evaluation.items.filter(isShown).map((item) => [item.row_id, item]));
  const [earlier, later] = [first(before), first(after)];
  const rows = task.rows(after.report.split, { seed: after.report.split_seed });
  return rows
    .flatMap((row) => {
      const [a, b] = [earlier.get(row.id), later.get(row.id)];
      if (a === undefined || b === undefined) return [];
      const answer = (label: string, item: EvalItem) =>
        `<figure><figcaption>${label}: reward ${item.reward}${item.failure === null ? "" : ` (${escapeXml(item.failure)})`}</figcaption><pre>${escapeXml(item.text)}</pre></figure>`;
      return [
        `<details><summary>${escapeXml(row.id)} <span>${a.reward} → ${b.reward}</span></summary><div class="board"><pre>${escapeXml(task.draw(row))}</pre>${answer("before", a)}${answer("after", b)}</div></details>`,
      ];
    })
    .join("\n");
}

function isShown({ pass, sample }: EvalItem): boolean {
  return pass === "sampled" && sample === 0;
}

function demoPage(facts: DemoFacts, curves: string, boards: string): string {
  const table = (rows: readonly (readonly string[])[], head: boolean) =>
    `<div class="scroll"><table>${rows
      .map((row, i) => {
        const tag = head && i === 0 ? "th" : "td";
        const cells = row.map((cell, j) =>
          j === 0 ? `<th scope="row">${escapeXml(cell)}</th>` : `<${tag}>${escapeXml(cell)}</${tag}>`,
        );
        return `<tr>${cells.join("")}</tr>`;
      })
      .join("")}</table></div>`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeXml(facts.title)}</title>
<style>
:root{color-scheme:light dark;--ink:#1f2328;--soft:#6b7280;--paper:#fff;--grid:#e5e7eb}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4b2;--paper:#0f1419;--grid:#2a313a}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .8rem .25rem 0;border-bottom:1px solid var(--grid);text-align:left;vertical-align:top;font-weight:400}
tr:first-child th:not([scope]){font-weight:600}th[scope]{color:var(--soft)}
.verdict{font-weight:600}.soft{color:var(--soft)}
details{border-bottom:1px solid var(--grid);padding:.2rem 0}summary{cursor:pointer}summary span{color:var(--soft)}
.board{display:flex;flex-wrap:wrap;gap:1.5rem}pre{white-space:pre-wrap;overflow-wrap:anywhere}figure{margin:0;flex:1 1 15rem}
svg{width:100%;height:auto}
</style>
<h1>${escapeXml(facts.title)}</h1>
<p class="verdict">${escapeXml(facts.verdict)}</p>
<p class="soft">${escapeXml(facts.heading)}<br>On these boards: ${escapeXml(facts.references)}</p>
${curves}
<h2>Before and after</h2>
${facts.measures.map((rows) => table(rows, true)).join("<br>")}
<h2>Change, paired by board, with 95 % intervals</h2>
${table(facts.changes.slice(1), false)}
${facts.games.length > 0 ? `<h2>Whole games</h2><p class="soft">The model was trained as X only. An illegal move or a missing call loses the game and is counted apart.</p>${table(facts.games, true)}` : ""}
<h2>The run</h2>
${table(facts.facts, false)}
<h2>Held-out boards</h2>
${boards}
</html>
`;
}
