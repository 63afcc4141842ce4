/** What the most telling metrics of a run are called for people, and how their values are written. */

import { formatPercent } from "./units.ts";
import type { Method } from "./config.ts";

export interface MetricLabel {
  /** Name in `metrics.jsonl`. */
  name: string;
  label: string;
  format: (value: number) => string;
}

const digits = (count: number) => (value: number) => value.toFixed(count);

const labels: readonly MetricLabel[] = [
  { name: "reward", label: "reward", format: digits(3) },
  { name: "loss", label: "loss", format: digits(3) },
  { name: "mean_token_accuracy", label: "next token right", format: (value) => formatPercent(value) },
  { name: "rewards/accuracies", label: "pairs moved right", format: (value) => formatPercent(value) },
  { name: "rewards/margins", label: "margin", format: digits(3) },
  { name: "logps/chosen", label: "log-prob of the better", format: digits(1) },
  { name: "logps/rejected", label: "log-prob of the worse", format: digits(1) },
  { name: "completions/mean_length", label: "length", format: digits(1) },
  { name: "outcomes/legal", label: "legal moves", format: (value) => formatPercent(value) },
  { name: "entropy", label: "entropy", format: digits(3) },
  { name: "critic_value_loss", label: "critic loss", format: digits(3) },
  { name: "frac_reward_zero_std", label: "groups without signal", format: (value) => formatPercent(value) },
  { name: "eval_reward", label: "validation reward", format: digits(3) },
  { name: "eval_loss", label: "validation loss", format: digits(3) },
  { name: "eval_preference_accuracy", label: "better answer likelier", format: (value) => formatPercent(value) },
  { name: "eval_rewards/accuracies", label: "validation pairs moved right", format: (value) => formatPercent(value) },
];

/** Throws for a metric that has no label. */
export function metricLabel(name: string): MetricLabel {
  const found = labels.find((one) => one.name === name);
  if (found === undefined) throw new Error(`the metric ${name} has no label`);
  return found;
}

const rl = ["reward", "eval_reward", "completions/mean_length", "outcomes/legal", "entropy", "frac_reward_zero_std"];

/** What is worth a curve for each method, the most telling first. A metric that a run lacks has none. */
export function headlineMetrics(method: Method): MetricLabel[] {
  const names =
    method === "sft"
      ? ["loss", "eval_loss", "mean_token_accuracy", "entropy", "eval_reward"]
      : method === "dpo"
        ? [
            "loss",
            "rewards/accuracies",
            "rewards/margins",
            "logps/chosen",
            "logps/rejected",
            "eval_rewards/accuracies",
            "eval_preference_accuracy",
            "eval_reward",
          ]
        : rl;
  return [...names, ...(method === "ppo" ? ["critic_value_loss"] : [])].map(metricLabel);
}
