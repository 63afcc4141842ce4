/** Which charts a run has, and what is in them. */

import type { RunDetails } from "../../../core/contract/api/run-calls.ts";
import type { Method } from "../../../core/contract/config.ts";
import type { MetricsRow } from "../../../core/contract/run.ts";
import { formatPercent } from "../../../core/contract/units.ts";
import type { Band, ChartSeries, Point } from "../chart-data.ts";

export interface ChartPlan {
  /** Key of its title, `train.chart.<id>`. */
  id: string;
  metrics: readonly { name: string; dots?: boolean }[];
  /** Whether the run's references belong into it. */
  references?: boolean;
  percent?: boolean;
}

const rlCharts: readonly ChartPlan[] = [
  { id: "reward", metrics: [{ name: "reward" }, { name: "eval_reward", dots: true }], references: true },
  {
    id: "length",
    metrics: [{ name: "completions/mean_length" }, { name: "eval_completions/mean_length", dots: true }],
  },
  { id: "outcomes", metrics: [], percent: true },
  { id: "entropy", metrics: [{ name: "entropy" }] },
  { id: "loss", metrics: [{ name: "loss" }] },
  { id: "clip", metrics: [{ name: "clip_ratio/region_mean" }, { name: "kl" }] },
  { id: "signal", metrics: [{ name: "frac_reward_zero_std" }, { name: "completions/clipped_ratio" }], percent: true },
  { id: "gradient", metrics: [{ name: "grad_norm" }] },
];

const criticChart: ChartPlan = { id: "critic", metrics: [{ name: "critic_value_loss" }] };
const speedChart: ChartPlan = { id: "speed", metrics: [{ name: "tokens_per_second" }] };

const sftCharts: readonly ChartPlan[] = [
  { id: "loss", metrics: [{ name: "loss" }, { name: "eval_loss", dots: true }] },
  { id: "accuracy", metrics: [{ name: "mean_token_accuracy" }], percent: true },
  { id: "reward", metrics: [{ name: "eval_reward", dots: true }], references: true },
  { id: "entropy", metrics: [{ name: "entropy" }] },
  { id: "gradient", metrics: [{ name: "grad_norm" }] },
  speedChart,
];

const dpoCharts: readonly ChartPlan[] = [
  { id: "loss", metrics: [{ name: "loss" }] },
  {
    id: "preference",
    metrics: [
      { name: "rewards/accuracies" },
      { name: "eval_rewards/accuracies", dots: true },
      { name: "eval_preference_accuracy", dots: true },
    ],
    percent: true,
  },
  { id: "margin", metrics: [{ name: "rewards/margins" }] },
  { id: "logps", metrics: [{ name: "logps/chosen" }, { name: "logps/rejected" }] },
  { id: "reward", metrics: [{ name: "eval_reward", dots: true }], references: true },
  { id: "gradient", metrics: [{ name: "grad_norm" }] },
  speedChart,
];

function plansOf(method: string): readonly ChartPlan[] {
  switch (method as Method) {
    case "sft":
      return sftCharts;
    case "dpo":
      return dpoCharts;
    case "ppo":
      return [...rlCharts, criticChart, speedChart];
    case "gspo":
    case "grpo":
      return [...rlCharts, speedChart];
  }
}

const outcomePrefix = "outcomes/";
/** More lines than this are a tangle. */
const mostOutcomes = 4;

/** The charts for which the run has, or will have, values. `outcomes` stands for whatever the task names. */
export function chartPlans({ method, metrics, total_steps, step }: RunDetails): ChartPlan[] {
  const names = new Set(metrics.flatMap((row) => Object.keys(row)));
  const isYoung = step < Math.min(3, total_steps);
  return plansOf(method).flatMap((plan) => {
    const found =
      plan.id === "outcomes"
        ? [...names]
            .filter((name) => name.startsWith(outcomePrefix))
            .slice(0, mostOutcomes)
            .map((name) => ({ name }))
        : plan.metrics.filter(({ name }) => names.has(name));
    if (found.length === 0 && !(isYoung && (plan.id === "reward" || plan.id === "length" || plan.id === "loss")))
      return [];
    return [{ ...plan, metrics: found }];
  });
}

export interface AxisChoice {
  axis: "step" | "time";
}

/** The series of one chart. Time counts seconds of the run's own clock from its first row on. */
export function chartSeries(
  { metrics }: Pick<RunDetails, "metrics">,
  plan: ChartPlan,
  { axis }: AxisChoice,
  labelOf: (metric: string) => string,
): ChartSeries[] {
  const begun = metrics.at(0)?.time ?? 0;
  const xOf = (row: MetricsRow) => (axis === "step" ? row.step : row.time - begun);
  return plan.metrics.map(({ name, dots = false }) => {
    const points: Point[] = [];
    const band: Band[] = [];
    for (const row of metrics) {
      const y = row[name];
      if (y === undefined) continue;
      const x = xOf(row);
      points.push({ x, y });
      const [lo, hi] = [row[`${name}/lo`], row[`${name}/hi`]];
      if (lo !== undefined && hi !== undefined) band.push({ x, lo, hi });
    }
    return { id: name, label: labelOf(name), points, dots, ...(band.length > 0 && { band }) };
  });
}

export function percentFormat(value: number): string {
  return formatPercent(value);
}
