/**
 * Health of a run, judged from its metrics alone: a pure function of the rows so far. Every alarm says in plain words
 * what is seen and suggests one thing to do.
 */

import type { MetricsRow } from "../../contract/run.ts";
import { formatPercent } from "../../contract/units.ts";
import { exampleChecks, type ExampleAlarm } from "./example-alarms.ts";
import {
  count,
  fromLevel,
  lastValues,
  levelAt,
  levelNow,
  show,
  span,
  values,
  type Check,
  type Finding,
} from "./metric-levels.ts";

export type AlarmName =
  | ExampleAlarm
  | "constant_reward"
  | "no_signal"
  | "little_signal"
  | "little_left"
  | "weights_not_moving"
  | "entropy_collapse"
  | "length_growth"
  | "cut_answers"
  | "clipped_share"
  | "non_finite"
  | "sampler_mismatch"
  | "legal_rate_fall"
  | "one_choice"
  | "eval_fall"
  | "opponent_fall";

export interface Alarm extends Finding {
  name: AlarmName;
  /** A note tells what is worth knowing of a run that is well. */
  kind: "alarm" | "note";
  /** Step that raised it. */
  step: number;
}

/** Groups with equal rewards above which a step teaches little. */
const littleSignal = 0.8;
/** Share of the weights that changed, up to which training stands still. */
const fewWeights = 1e-3;
/** Part of the distance from the lowest to the highest reward within which a run counts as nearly solved. */
const nearlySolved = 0.15;

const checks: Record<AlarmName, Check> = {
  ...exampleChecks,

  constant_reward(rows) {
    const [a, b] = lastValues(rows, "reward_min", 2);
    const [c, d] = lastValues(rows, "reward_max", 2);
    if (a === undefined || b === undefined || !(a === b && b === c && c === d) || isNearlySolved(rows))
      return undefined;
    const { lowest, highest } = rewardRange(rows);
    if (highest > lowest) {
      return {
        message: `every answer of the last two steps got the reward ${show(a)}, though earlier ones differed: the policy has collapsed`,
        action: "begin again, or from an earlier checkpoint, with a lower learning_rate",
      };
    }
    return {
      message: `every answer so far got the reward ${show(a)}, so nothing can be learnt`,
      action: "look at the answers in rollouts/: the reward must be able to tell a better one from a worse one",
    };
  },

  no_signal(rows) {
    const zero = lastValues(rows, "frac_reward_zero_std", 2);
    if (zero.length < 2 || zero.some((value) => value < 1) || isNearlySolved(rows)) return undefined;
    return {
      message: "in the last two steps all answers to the same prompt got the same reward: no group taught anything",
      action: "raise num_generations, or choose prompts of which the model solves some and fails some",
    };
  },

  little_signal(rows) {
    const zero = levelNow(rows, "frac_reward_zero_std");
    if (zero === undefined || zero <= littleSignal || isNearlySolved(rows)) return undefined;
    return {
      message: `${formatPercent(zero)} of the groups had equal rewards in the last ${span} steps, so most of the work teaches nothing`,
      action: "raise num_generations, or choose prompts of which the model solves some and fails some",
    };
  },

  little_left(rows) {
    const zero = levelNow(rows, "frac_reward_zero_std");
    if (zero === undefined || zero <= littleSignal || !isNearlySolved(rows)) return undefined;
    return {
      message: `nearly solved: the reward is near the highest, and the answers to ${formatPercent(zero)} of the prompts are all worth the same`,
      action: "go on for the last bit, or stop here; harder prompts would teach more",
    };
  },

  weights_not_moving(rows) {
    const changed = lastValues(rows, "share_weights_changed", 2);
    if (changed.length < 2 || changed.some((value) => value > fewWeights)) return undefined;
    return {
      message: `${Math.max(...changed) === 0 ? "no weight" : "hardly any weight"} changed in the last two steps`,
      action: "raise learning_rate",
    };
  },

  entropy_collapse(rows) {
    const now = levelNow(rows, "entropy", 3);
    const start = levelAt(rows, "entropy", 3, 3);
    const before = levelAt(rows, "entropy", count(rows, "entropy") - 10, 3);
    // To imitate is to become sure: only where rewards are explored is it a loss.
    if (now === undefined || count(rows, "reward") === 0 || isNearlySolved(rows)) return undefined;
    const gone = start !== undefined && count(rows, "entropy") > 6 && now < 0.03 * start;
    // Answers that become surer while they become better are learning.
    const fell = before !== undefined && now < before / 3 && !hasRisen(rows, 10);
    if (!gone && !fell) return undefined;
    return {
      message: fell
        ? `entropy fell from ${show(before)} to ${show(now)} within ten steps: the answers are becoming all alike`
        : `entropy is ${show(now)}, a thirtieth of where it began: the answers are all alike`,
      action: "lower learning_rate, or raise entropy_coef (0.01 to 0.05)",
    };
  },

  length_growth(rows) {
    const length = fromLevel(rows, "completions/mean_length", Math.min);
    const reward = fromLevel(rows, "reward", Math.max);
    if (length === undefined || reward === undefined) return undefined;
    if (length.now <= 1.5 * length.extreme || length.now - length.extreme < 5 || reward.now > reward.extreme) {
      return undefined;
    }
    return {
      message: `answers grew from ${show(length.extreme)} to ${show(length.now)} tokens while the reward did not rise`,
      action: "lower max_completion_length, or give long answers a smaller reward",
    };
  },

  cut_answers(rows) {
    const cut = fromLevel(rows, "completions/clipped_ratio", Math.min);
    if (cut === undefined || cut.now < 0.1 || cut.now - cut.extreme < 0.15) return undefined;
    return {
      message: `${formatPercent(cut.now)} of the answers are cut by the token limit, up from ${formatPercent(cut.extreme)}`,
      action: "raise max_completion_length, or set truncated_completions mask",
    };
  },

  clipped_share(rows) {
    const clipped = levelNow(rows, "clip_ratio/region_mean");
    if (clipped === undefined || clipped <= 0.6) return undefined;
    return {
      message: `${formatPercent(clipped)} of the ratios were clipped in the last ${span} steps, so most of each update is thrown away`,
      action: "lower learning_rate, or num_iterations, or widen epsilon",
    };
  },

  non_finite(rows) {
    const [skipped] = lastValues(rows, "nonfinite_steps", 1);
    if (skipped === undefined || skipped === 0) return undefined;
    return {
      message: `${show(skipped)} optimizer step(s) had a gradient that is not finite and were skipped`,
      action: "lower learning_rate; the run stops after three in a row",
    };
  },

  sampler_mismatch(rows) {
    const difference = levelNow(rows, "sampling/sampling_logp_difference/mean", 3);
    const rescored = lastValues(rows, "sampling/rescored", 1)[0] === 1;
    if (difference === undefined || difference <= 1e-3 || rescored) return undefined;
    return {
      message: `sampling and training disagree on the same tokens by ${show(difference)} on average, so the ratios are off`,
      action: "set rescore_logprobs true",
    };
  },

  legal_rate_fall(rows) {
    const legal = fromLevel(rows, "outcomes/legal", Math.max);
    if (legal === undefined || legal.extreme - legal.now < 0.15) return undefined;
    return {
      message: `the share of legal moves fell from ${formatPercent(legal.extreme)} to ${formatPercent(legal.now)}`,
      action: "stop and go back to the best checkpoint, then lower learning_rate",
    };
  },

  one_choice(rows) {
    const share = levelNow(rows, "choices/top_share");
    if (share === undefined || share <= 0.5 || isNearlySolved(rows)) return undefined;
    return {
      message: `one and the same choice was made in ${formatPercent(share)} of the answers of the last ${span} steps`,
      action: "lower learning_rate and raise entropy_coef, starting from an earlier checkpoint",
    };
  },

  eval_fall(rows) {
    const scores = values(rows, "eval_reward");
    const now = scores.slice(-2);
    const best = Math.max(...scores.slice(0, -2));
    if (scores.length < 3 || now.some((score) => best - score < 0.1)) return undefined;
    // A fall within the interval of few rows may be chance.
    if (lastValues(rows, "eval_reward/hi", 2).some((high) => high >= best)) return undefined;
    return {
      message: `the validation reward fell from ${show(best)} to ${show(now[1])} over two evaluations`,
      action: "stop and use the best checkpoint",
    };
  },

  opponent_fall(rows) {
    const reward = levelNow(rows, "reward");
    if (reward === undefined || Math.abs(reward) > 0.1) return undefined;
    const last = rows[rows.length - 1];
    for (const name of Object.keys(last).filter((key) => /^eval_games\/.+\/score$/.test(key))) {
      const scores = values(rows, name);
      const best = Math.max(...scores.slice(0, -1));
      if (scores.length < 2 || best - scores[scores.length - 1] < 0.2) continue;
      return {
        message: `the training reward is near 0, but the score against ${name.split("/")[1]} fell from ${show(best)} to ${show(scores[scores.length - 1])}`,
        action: "stop and use the best checkpoint: in self-play only fixed opponents show a collapse",
      };
    }
    return undefined;
  },
};

/** What follows from a cause is not told beside it. */
const consequences: Partial<Record<AlarmName, readonly AlarmName[]>> = {
  constant_reward: ["no_signal", "little_signal", "weights_not_moving"],
  no_signal: ["little_signal", "weights_not_moving"],
  non_finite: ["weights_not_moving"],
  weights_not_moving: ["loss_stands_still"],
  preference_collapse: ["answers_shrink"],
};

/** The alarms that hold after the last row. Rows are in step order. */
export function findAlarms(rows: readonly MetricsRow[]): Alarm[] {
  const last = rows[rows.length - 1];
  if (last === undefined) return [];
  const found = (Object.keys(checks) as AlarmName[]).flatMap((name): Alarm[] => {
    const alarm = checks[name](rows);
    const kind = name === "little_left" ? "note" : "alarm";
    return alarm === undefined ? [] : [{ name, kind, step: last.step, ...alarm }];
  });
  const explained = new Set(found.flatMap(({ name }) => consequences[name] ?? []));
  return found.filter(({ name }) => !explained.has(name));
}

/**
 * Whether the reward of the last steps is near the highest that any answer of this run got. Then answers that are all
 * alike and all worth the same are the aim, not a fault.
 */
function isNearlySolved(rows: readonly MetricsRow[]): boolean {
  const now = levelNow(rows, "reward");
  if (now === undefined) return false;
  const { lowest, highest } = rewardRange(rows);
  return highest > lowest && highest - now < nearlySolved * (highest - lowest);
}

/** Whether the reward rose within the last `steps` steps, by more than chance: a tenth of its range. */
function hasRisen(rows: readonly MetricsRow[], steps: number): boolean {
  const now = levelNow(rows, "reward", 3);
  const before = levelAt(rows, "reward", count(rows, "reward") - steps, 3);
  const { lowest, highest } = rewardRange(rows);
  return now !== undefined && before !== undefined && now - before > 0.1 * (highest - lowest);
}

/** Of all answers so far. */
function rewardRange(rows: readonly MetricsRow[]): { lowest: number; highest: number } {
  return {
    lowest: values(rows, "reward_min").reduce((a, b) => Math.min(a, b), Infinity),
    highest: values(rows, "reward_max").reduce((a, b) => Math.max(a, b), -Infinity),
  };
}
