/** Alarms of SFT and DPO: each on a run that has the fault, and none on a run that is well. */

import { describe, expect, test } from "vitest";
import type { MetricsRow } from "../../../../core/contract/run.ts";
import { findAlarms } from "../../../../core/train/alarms/alarms.ts";

/** Metrics of steps 1, 2, …; `evaluate` adds those of every fifth step. */
function rows(
  count: number,
  metrics: (step: number) => Record<string, number>,
  evaluate: (step: number) => Record<string, number> = () => ({}),
): MetricsRow[] {
  return Array.from({ length: count }, (_, i) => {
    const step = i + 1;
    return { step, time: step, share_weights_changed: 1, ...metrics(step), ...(step % 5 === 0 && evaluate(step)) };
  });
}

const names = (run: MetricsRow[]) => findAlarms(run).map(({ name }) => name);
const interval = (name: string, value: number, half: number) => ({
  [name]: value,
  [`${name}/lo`]: value - half,
  [`${name}/hi`]: value + half,
});

describe("SFT", () => {
  const falling = (step: number) => ({ loss: 2 / Math.sqrt(step), entropy: 1 / step });

  test("a run that learns raises nothing, though its entropy falls", () => {
    expect(names(rows(60, falling, (step) => interval("eval_loss", 2.1 / Math.sqrt(step), 0.1)))).toEqual([]);
  });

  test("overfitting: validation loss up, training loss down; within the interval it may be chance", () => {
    const evaluated = (half: number) => (step: number) => interval("eval_loss", step < 20 ? 1 : 1 + step / 50, half);
    const [alarm] = findAlarms(rows(40, falling, evaluated(0.1)));
    expect(alarm).toMatchObject({ name: "overfitting", message: expect.stringMatching(/from 1 to 1.8/) });
    expect(alarm.action).toMatch(/best checkpoint/);
    expect(names(rows(40, falling, evaluated(1)))).toEqual([]);
    expect(names(rows(40, () => ({ loss: 1 }), evaluated(0.1)))).not.toContain("overfitting");
  });

  test("a blow-up: the loss rises above where it began", () => {
    const blown = rows(25, (step) => ({ loss: step < 12 ? 2 - step / 20 : 5 }));
    expect(findAlarms(blown)).toEqual([
      expect.objectContaining({ name: "loss_blow_up", action: expect.stringMatching(/lower/) }),
    ]);
    expect(names(rows(25, (step) => ({ loss: 2 + 0.3 * (step % 2) })))).toEqual([]);
  });

  test("a loss that does not move, unless the validation loss does", () => {
    const still = () => ({ loss: 2 });
    expect(names(rows(29, still))).toEqual([]);
    expect(findAlarms(rows(30, still))).toEqual([
      expect.objectContaining({ name: "loss_stands_still", action: expect.stringMatching(/raise learning_rate/) }),
    ]);
    expect(names(rows(30, still, (step) => interval("eval_loss", 2 - step / 30, 0.1)))).toEqual([]);
    // The cause is told, not what follows from it.
    expect(names(rows(30, () => ({ loss: 2, share_weights_changed: 0 })))).toEqual(["weights_not_moving"]);
  });

  test("the loss of rewards is of another kind", () => {
    expect(
      names(rows(40, (step) => ({ loss: step < 20 ? 0.1 : 3, reward: step, reward_min: 0, reward_max: 50 }))),
    ).toEqual([]);
  });
});

describe("DPO", () => {
  const pairs = (chosen: number, rejected: number, margin: number) => ({
    loss: Math.log1p(Math.exp(-margin)),
    "rewards/margins": margin,
    "logps/chosen": chosen,
    "logps/rejected": rejected,
  });

  test("margins up while both answers become unlikely", () => {
    const collapsing = rows(20, (step) => pairs(-20 - 2 * step, -20 - 4 * step, step / 5));
    expect(findAlarms(collapsing)).toEqual([
      expect.objectContaining({ name: "preference_collapse", action: expect.stringMatching(/beta/) }),
    ]);
  });

  test("well: only the rejected answers become unlikely, or both by little", () => {
    expect(names(rows(20, (step) => pairs(-20, -20 - 4 * step, step / 5)))).toEqual([]);
    expect(names(rows(20, (step) => pairs(-100 - step, -100 - 2 * step, step / 5)))).toEqual([]);
  });

  test("the model's own answers shrink, and are not better for it", () => {
    const shrinking = (reward: (step: number) => number) =>
      rows(
        20,
        (step) => pairs(-20, -20 - step, step / 5),
        (step) => ({ "eval_completions/mean_length": 40 - 2 * step, eval_reward: reward(step) }),
      );
    expect(names(shrinking(() => 0))).toContain("answers_shrink");
    expect(names(shrinking((step) => step))).toEqual([]);
  });
});
