/** The two curves of a run as one SVG picture that follows the reader's light or dark setting. */

import type { MetricsRow } from "../contract/run.ts";

export interface ReferenceLine {
  label: string;
  value: number;
}

interface Point {
  step: number;
  value: number;
}

interface Panel {
  title: string;
  /** Every step, drawn faintly, and smoothed, drawn strongly. */
  points: Point[];
  /** Measured on fixed rows: drawn as dots. */
  marks: Point[];
  references: readonly ReferenceLine[];
  range: [number, number];
}

const width = 720;
const panelHeight = 260;
const margin = { left: 52, right: 150, top: 34, bottom: 30 };

/** Reward and response length over the steps of a run. */
export function curvesSvg(rows: readonly MetricsRow[], references: readonly ReferenceLine[]): string {
  const lengths = series(rows, "completions/mean_length");
  const evaluated = series(rows, "eval_completions/mean_length");
  const longest = Math.max(1, ...[...lengths, ...evaluated].map(({ value }) => value));
  const panels: Panel[] = [
    {
      title: "Mean reward",
      points: series(rows, "reward"),
      marks: series(rows, "eval_reward"),
      references,
      range: [-1, 1],
    },
    {
      title: "Response length, tokens",
      points: lengths,
      marks: evaluated,
      references: [],
      range: [0, longest * 1.05],
    },
  ];
  const lastStep = Math.max(1, ...rows.map(({ step }) => step));
  const body = panels.map((panel, i) => drawPanel(panel, lastStep, i * panelHeight)).join("\n");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${2 * panelHeight}" role="img" aria-label="Reward and response length over ${lastStep} steps">
<style>${style}</style>
<rect class="paper" width="${width}" height="${2 * panelHeight}"/>
${body}
</svg>
`;
}

/** Plain colours, no custom properties: image viewers and editors know no others. */
function colours(paper: string, ink: string, soft: string, grid: string, line: string, mark: string): string {
  return [
    `.paper{fill:${paper}}text{fill:${soft}}.title{fill:${ink}}.grid{stroke:${grid}}.reference{stroke:${soft}}`,
    `.raw,.smooth{stroke:${line}}.line{fill:${line}}.mark{fill:${mark}}`,
  ].join("");
}

const style = [
  "text{font:12px system-ui,sans-serif}.title{font-size:14px;font-weight:600}",
  ".reference{stroke-dasharray:4 4}.raw{fill:none;opacity:.25}.smooth{fill:none;stroke-width:2}",
  colours("#fff", "#1f2328", "#6b7280", "#e5e7eb", "#2563eb", "#b45309"),
  `@media(prefers-color-scheme:dark){${colours("#0f1419", "#e6edf3", "#9aa4b2", "#2a313a", "#6ea8fe", "#f0b35a")}}`,
].join("");

function series(rows: readonly MetricsRow[], name: string): Point[] {
  return rows.flatMap((row) => (row[name] === undefined ? [] : [{ step: row.step, value: row[name] }]));
}

/** Exponential mean with the early bias taken out (as TensorBoard does). */
export function smooth(values: readonly number[], weight: number): number[] {
  let sum = 0;
  let norm = 0;
  return values.map((value) => {
    sum = weight * sum + (1 - weight) * value;
    norm = weight * norm + (1 - weight);
    return sum / norm;
  });
}

function drawPanel(panel: Panel, lastStep: number, top: number): string {
  const [low, high] = panel.range;
  const plotWidth = width - margin.left - margin.right;
  const plotHeight = panelHeight - margin.top - margin.bottom;
  const x = (step: number) => round(margin.left + (plotWidth * step) / lastStep);
  const y = (value: number) => round(top + margin.top + plotHeight * (1 - (value - low) / (high - low)));
  const right = margin.left + plotWidth;
  const parts = [`<text class="title" x="${margin.left}" y="${top + 20}">${panel.title}</text>`];
  const legend = [
    ...(panel.points.length > 0 ? [`<tspan class="line">━</tspan> training, smoothed`] : []),
    ...(panel.marks.length > 0 ? [`<tspan class="mark">●</tspan> validation`] : []),
  ];
  parts.push(`<text x="${right}" y="${top + 20}" text-anchor="end">${legend.join("   ")}</text>`);
  for (const value of ticks(low, high)) {
    parts.push(`<line class="grid" x1="${margin.left}" x2="${right}" y1="${y(value)}" y2="${y(value)}"/>`);
    parts.push(`<text x="${margin.left - 8}" y="${y(value) + 4}" text-anchor="end">${value}</text>`);
  }
  for (const step of ticks(0, lastStep)) {
    parts.push(`<text x="${x(step)}" y="${top + panelHeight - 10}" text-anchor="middle">${step}</text>`);
  }
  for (const { label, value } of panel.references) {
    parts.push(`<line class="reference" x1="${margin.left}" x2="${right}" y1="${y(value)}" y2="${y(value)}"/>`);
    parts.push(`<text x="${right + 6}" y="${y(value) + 4}">${escapeXml(label)} ${value}</text>`);
  }
  const line = (points: readonly Point[], values: readonly number[]) =>
    points.map(({ step }, i) => `${i === 0 ? "M" : "L"}${x(step)} ${y(values[i])}`).join("");
  const values = panel.points.map(({ value }) => value);
  if (values.length > 0) {
    parts.push(`<path class="raw" d="${line(panel.points, values)}"/>`);
    parts.push(`<path class="smooth" d="${line(panel.points, smooth(values, 0.9))}"/>`);
  }
  for (const { step, value } of panel.marks) {
    parts.push(
      `<circle class="mark" cx="${x(step)}" cy="${y(value)}" r="3"><title>validation, step ${step}: ${round(value)}</title></circle>`,
    );
  }
  return parts.join("\n");
}

/** About five round numbers that span a range. */
export function ticks(low: number, high: number): number[] {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? 10 * power;
  const list: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) list.push(Number((i * step).toPrecision(6)));
  return list;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

export function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
