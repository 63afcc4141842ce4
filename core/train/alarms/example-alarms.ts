/** Health of a run that learns from given answers (SFT) or pairs (DPO). */

import type { MetricsRow } from "../../contract/run.ts";
import { count, fromLevel, lastValues, levelAt, levelNow, show, values, type Check } from "./metric-levels.ts";

export type ExampleAlarm =
  "overfitting" | "loss_blow_up" | "loss_stands_still" | "preference_collapse" | "answers_shrink";

/** Steps after which a loss that learns has moved. */
const patience = 30;
/** Width of the levels that tell whether it has: batches of few rows differ a good deal. */
const wide = 10;

/** A validation loss that rose by less than a hundredth is the noise of its rows. */
const leastRise = 1.01;

/** Rewards come with a loss of another kind, which means little by itself. */
const hasOwnLoss = (rows: readonly MetricsRow[]) => count(rows, "reward") === 0;

export const exampleChecks: Record<ExampleAlarm, Check> = {
  overfitting(rows) {
    const losses = values(rows, "eval_loss");
    const lowest = Math.min(...losses.slice(0, -2));
    const loss = fromLevel(rows, "loss", Math.max);
    if (losses.length < 3 || losses.slice(-2).some((one) => one <= lowest * leastRise) || !hasOwnLoss(rows))
      return undefined;
    // A rise within the interval of few rows may be chance.
    if (lastValues(rows, "eval_loss/lo", 2).some((low) => low <= lowest)) return undefined;
    if (loss === undefined || loss.now >= loss.extreme) return undefined;
    return {
      message: `the validation loss rose from ${show(lowest)} to ${show(losses[losses.length - 1])} while the training loss fell to ${show(loss.now)}: the rows are being learnt by heart`,
      action: "stop and use the best checkpoint; fewer epochs or more rows would be better",
    };
  },

  loss_blow_up(rows) {
    const loss = fromLevel(rows, "loss", Math.min);
    const first = levelAt(rows, "loss", 5);
    if (!hasOwnLoss(rows) || loss === undefined || first === undefined) return undefined;
    if (loss.now <= 1.5 * loss.extreme || loss.now <= 1.1 * first) return undefined;
    return {
      message: `the loss rose from ${show(loss.extreme)} to ${show(loss.now)}, above where it began: the steps are too large`,
      action: "begin again with a learning_rate three to ten times lower",
    };
  },

  loss_stands_still(rows) {
    const first = levelAt(rows, "loss", wide, wide);
    const now = levelNow(rows, "loss", wide);
    if (!hasOwnLoss(rows) || first === undefined || now === undefined || count(rows, "loss") < patience) {
      return undefined;
    }
    const [before] = values(rows, "eval_loss");
    const [low] = lastValues(rows, "eval_loss/hi", 1);
    const learns = before !== undefined && low !== undefined && low < before;
    if (learns || first < 0.01 || Math.abs(now - first) > 0.01 * first) return undefined;
    return {
      message: `the loss has not moved in ${count(rows, "loss")} steps: ${show(first)} at the start, ${show(now)} now`,
      action: "raise learning_rate, three to ten times",
    };
  },

  preference_collapse(rows) {
    const margin = levelNow(rows, "rewards/margins");
    const fallen = ["logps/chosen", "logps/rejected"].map((name) => {
      const [first, now] = [levelAt(rows, name, 5), levelNow(rows, name)];
      return {
        first,
        now,
        isFar: first !== undefined && now !== undefined && first - now > Math.max(5, 0.25 * -first),
      };
    });
    const [{ first, now }] = fallen;
    if (margin === undefined || margin <= 0 || fallen.some(({ isFar }) => !isFar)) return undefined;
    return {
      message: `the margin has grown to ${show(margin)}, but the better answers have become less likely too: their log-prob fell from ${show(first ?? NaN)} to ${show(now ?? NaN)}`,
      action: "go back to the best checkpoint, then lower learning_rate or raise beta",
    };
  },

  answers_shrink(rows) {
    const lengths = values(rows, "eval_completions/mean_length");
    const [first, now] = [lengths[0], lengths[lengths.length - 1]];
    const scores = values(rows, "eval_reward");
    const isPreference = count(rows, "rewards/margins") > 0;
    if (!isPreference || lengths.length < 2 || now >= 0.5 * first || first - now < 5) return undefined;
    if (scores.length > 1 && scores[scores.length - 1] > scores[0]) return undefined;
    return {
      message: `the model's own answers shrank from ${show(first)} to ${show(now)} tokens`,
      action: "lower learning_rate, and look whether the better answers of the pairs are simply the shorter ones",
    };
  },
};
