/** The curves of a run as one SVG picture that follows the reader's light or dark setting. */

import type { MetricsRow } from "../../contract/run.ts";

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

/** What there is to draw, in the order of drawing. A panel appears when one of its metrics was measured. */
interface PanelPlan {
  title: string;
  training?: string;
  validation: string;
  /** The lowest and highest value that are always in sight. */
  always: [number, number];
  /** Known players are drawn too. */
  references?: true;
  /** Left out when one of these was measured, which say more: the loss of RL is no sign of progress. */
  unless?: readonly string[];
}

const plans: PanelPlan[] = [
  { title: "Mean reward", training: "reward", validation: "eval_reward", always: [0, 1], references: true },
  {
    title: "Loss, per token",
    training: "loss",
    validation: "eval_loss",
    always: [0, 0],
    unless: ["reward", "rewards/margins"],
  },
  { title: "Better answer more likely, share of pairs", validation: "eval_preference_accuracy", always: [0, 1] },
  {
    title: "Pairs moved the right way, share",
    training: "rewards/accuracies",
    validation: "eval_rewards/accuracies",
    always: [0, 1],
  },
  {
    title: "Margin between the answers",
    training: "rewards/margins",
    validation: "eval_rewards/margins",
    always: [0, 0],
  },
  {
    title: "Response length, tokens",
    training: "completions/mean_length",
    validation: "eval_completions/mean_length",
    always: [0, 1],
  },
];

/** The curves that fit the method, over the steps of a run: those whose metrics it has measured. */
export function curvesSvg(rows: readonly MetricsRow[], references: readonly ReferenceLine[]): string {
  const panels = panelsOf(rows, references);
  const lastStep = Math.max(1, ...rows.map(({ step }) => step));
  const height = panels.length * panelHeight;
  const body = panels.map((panel, i) => drawPanel(panel, lastStep, i * panelHeight)).join("\n");
  const titles = panels.map(({ title }) => title.toLowerCase()).join("; ");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${titles}, over ${lastStep} steps">
<style>${style}</style>
<rect class="paper" width="${width}" height="${height}"/>
${body}
</svg>
`;
}

function panelsOf(rows: readonly MetricsRow[], references: readonly ReferenceLine[]): Panel[] {
  const has = (name: string | undefined) => name !== undefined && rows.some((row) => row[name] !== undefined);
  const shown = plans.filter(
    ({ training, validation, unless = [] }) => (has(training) || has(validation)) && !unless.some(has),
  );
  return (shown.length > 0 ? shown : [plans[0]]).map(({ title, training, validation, always, references: known }) => {
    const [points, marks] = [training === undefined ? [] : series(rows, training), series(rows, validation)];
    const lines = known === true ? references : [];
    const values = [...points, ...marks, ...lines].map(({ value }) => value);
    return { title, points, marks, references: lines, range: rangeOf([...values, ...always]) };
  });
}

/** Rewards within −1 … 1 keep that whole range, so that pictures can be compared; others get what they need. */
function rangeOf(values: readonly number[]): [number, number] {
  const finite = values.filter(Number.isFinite);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  if (low >= 0) return [0, high === 1 ? 1 : high * 1.05 || 1];
  if (low >= -1 && high === 1) return [-1, 1];
  const space = 0.05 * (high - low);
  return [low - space, high + space];
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
