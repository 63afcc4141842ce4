/** The report of a demo as one page that needs nothing else. */

import type { EvalItem } from "../../contract/eval.ts";
import { escapeXml } from "./curves-svg.ts";
import { transcript, type AnswerPair } from "./sample-answers.ts";

export interface DemoTable {
  title: string;
  note?: string;
  /** The first row is the heading. */
  rows: string[][];
}

/** Everything that both forms of the report say. */
export interface DemoFacts {
  title: string;
  heading: string;
  verdict: readonly string[];
  references: string | undefined;
  tables: DemoTable[];
  facts: [string, string][];
  rowName: string;
  answers: AnswerPair[];
}

export function demoPage(facts: DemoFacts, curves: string): string {
  const [verdict, ...further] = facts.verdict;
  const under = [facts.heading, ...(facts.references === undefined ? [] : [facts.references])];
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
tr:first-child th:not([scope]){font-weight:600}th[scope]{color:var(--soft);white-space:pre-wrap}
.verdict{font-weight:600}.soft{color:var(--soft)}
details{border-bottom:1px solid var(--grid);padding:.2rem 0}summary{cursor:pointer}summary span{color:var(--soft)}
.row{display:flex;flex-wrap:wrap;gap:1.5rem}pre{white-space:pre-wrap;overflow-wrap:anywhere}figure{margin:0;flex:1 1 15rem}
svg{width:100%;height:auto}
</style>
<h1>${escapeXml(facts.title)}</h1>
<p class="verdict">${escapeXml(verdict ?? "")}</p>
${further.map((sentence) => `<p>${escapeXml(sentence)}</p>`).join("\n")}
<p class="soft">${under.map(escapeXml).join("<br>")}</p>
${curves}
${facts.tables.map(({ title, note, rows }) => `<h2>${escapeXml(title)}</h2>${note === undefined ? "" : `<p class="soft">${escapeXml(note)}</p>`}${table(rows, true)}`).join("\n")}
<h2>The run</h2>
${table(facts.facts, false)}
<h2>Held-out ${escapeXml(facts.rowName)}s</h2>
${facts.answers.map(answerDetails).join("\n")}
</html>
`;
}

function table(rows: readonly (readonly string[])[], head: boolean): string {
  const lines = rows.map((row, i) => {
    const tag = head && i === 0 ? "th" : "td";
    const cells = row.map((cell, j) =>
      j === 0 ? `<th scope="row">${escapeXml(cell)}</th>` : `<${tag}>${escapeXml(cell)}</${tag}>`,
    );
    return `<tr>${cells.join("")}</tr>`;
  });
  return `<div class="scroll"><table>${lines.join("")}</table></div>`;
}

/** A row with the answers before and after, to be opened. */
function answerDetails({ id, drawing, before, after }: AnswerPair): string {
  const rewards = before.reward === null ? "" : ` <span>${before.reward} → ${after.reward ?? "–"}</span>`;
  return `<details><summary>${escapeXml(id)}${rewards}</summary><div class="row"><pre>${escapeXml(drawing)}</pre>${figure("before", before)}${figure("after", after)}</div></details>`;
}

function figure(label: string, item: EvalItem): string {
  const reward = item.reward === null ? "" : `: reward ${item.reward}`;
  const why = item.failure === null ? "" : ` (${escapeXml(item.failure)})`;
  return `<figure><figcaption>${label}${reward}${why}</figcaption><pre>${escapeXml(transcript(item))}</pre></figure>`;
}
