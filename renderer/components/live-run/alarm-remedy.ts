/** What can be done about an alarm with one press: another run like this one with one option changed, or a look at what matters. */

import type { RunDetails } from "../../../core/contract/api/run-calls.ts";
import type { OptionName } from "../../../core/contract/config.ts";

export interface Remedy {
  /** Key below `train.remedy`. */
  kind: "answers" | "checkpoints" | OptionName;
  href: string;
  /** The option's new value. */
  value?: number | string;
}

type Change = { option: OptionName; value: (before: number) => number | string } | "answers" | "checkpoints";

const lowerRate: Change = { option: "learning_rate", value: (before) => before / 3 };
const higherRate: Change = { option: "learning_rate", value: (before) => before * 3 };

/** By alarm. The change is the one that the alarm's own words advise. */
const changes: Readonly<Record<string, Change>> = {
  constant_reward: "answers",
  no_signal: { option: "num_generations", value: (before) => before * 2 },
  little_signal: { option: "num_generations", value: (before) => before * 2 },
  weights_not_moving: higherRate,
  loss_stands_still: higherRate,
  entropy_collapse: lowerRate,
  loss_blow_up: lowerRate,
  clipped_share: lowerRate,
  non_finite: lowerRate,
  legal_rate_fall: lowerRate,
  one_choice: { option: "entropy_coef", value: (before) => Math.max(0.01, before * 2) },
  length_growth: { option: "max_completion_length", value: (before) => Math.max(1, Math.round(before / 2)) },
  cut_answers: { option: "max_completion_length", value: (before) => before * 2 },
  eval_fall: "checkpoints",
  opponent_fall: "checkpoints",
  overfitting: "checkpoints",
  preference_collapse: "checkpoints",
  answers_shrink: lowerRate,
};

export function remedyLink(alarm: string, { name, config }: Pick<RunDetails, "name" | "config">): Remedy | undefined {
  const change = Object.hasOwn(changes, alarm) ? changes[alarm] : undefined;
  if (change === undefined) return undefined;
  const run = encodeURIComponent(name);
  if (change === "answers" || change === "checkpoints") return { kind: change, href: `/runs/${run}?tab=${change}` };
  const before = config[change.option];
  if (typeof before !== "number") return undefined;
  const value = change.value(before);
  const rounded = typeof value === "number" ? Number(value.toPrecision(3)) : value;
  return { kind: change.option, value: rounded, href: `/train?like=${run}&${change.option}=${rounded}` };
}
