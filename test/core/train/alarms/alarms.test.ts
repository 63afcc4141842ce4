import { describe, expect, test } from "vitest";
import { isUsed, optionNames, rlMethods, type OptionName } from "../../../../core/contract/config.ts";
import type { MetricsRow } from "../../../../core/contract/run.ts";
import { findAlarms } from "../../../../core/train/alarms/alarms.ts";

type Values = Record<string, number | undefined>;

const healthy: Values = {
  reward: 0.3,
  reward_min: -1,
  reward_max: 1,
  frac_reward_zero_std: 0.2,
  share_weights_changed: 0.99,
  entropy: 0.8,
  "completions/mean_length": 20,
  "completions/clipped_ratio": 0.02,
  "clip_ratio/region_mean": 0.3,
  nonfinite_steps: 0,
  "sampling/sampling_logp_difference/mean": 1e-5,
  "outcomes/legal": 0.9,
  "choices/top_share": 0.2,
};

/** Rows of n steps; `change` gives what differs at a step. */
function run(n: number, change: (step: number) => Values = () => ({})): MetricsRow[] {
  return Array.from({ length: n }, (_, i) => ({ step: i + 1, time: i, ...healthy, ...change(i + 1) }));
}

const names = (rows: ReturnType<typeof run>) => findAlarms(rows).map((alarm) => alarm.name);

test("a healthy run raises nothing, at any length", () => {
  for (let n = 0; n <= 60; n++) expect(names(run(n))).toEqual([]);
});

test("a run that learns, gets shorter and surer raises nothing", () => {
  const learning = (step: number): Values => ({
    reward: -0.5 + step / 200,
    entropy: 0.8 * 0.99 ** step,
    "completions/mean_length": 20 - step / 20,
    "outcomes/legal": Math.min(1, 0.3 + step / 200),
    "completions/clipped_ratio": Math.max(0, 0.2 - step / 500),
  });
  for (let n = 1; n <= 200; n++) expect(names(run(n, learning))).toEqual([]);
});

/** As the starter's own run goes: nearly every answer is right, and most groups are all alike. */
const solved: Values = {
  reward: 0.9,
  reward_min: 0,
  frac_reward_zero_std: 0.97,
  entropy: 0.03,
  "completions/mean_length": 6,
  "outcomes/legal": 1,
};

test("a run that has solved its task gets one note and no alarm", () => {
  const learning = (step: number) => {
    const share = Math.max(0, Math.min(1, (step - 10) / 20));
    return {
      ...solved,
      reward: 0.3 + 0.6 * share,
      entropy: 0.8 * 0.95 ** step,
      frac_reward_zero_std: 0.2 + 0.8 * share ** 3,
    };
  };
  const rows = run(120, learning);
  const seen = rows.flatMap((_, i) => findAlarms(rows.slice(0, i + 1)));
  expect(new Set(seen.map(({ name, kind }) => `${kind} ${name}`))).toEqual(new Set(["note little_left"]));
  const all = run(40, (step) => (step > 20 ? { ...solved, frac_reward_zero_std: 1, reward: 1, reward_min: 1 } : {}));
  expect(findAlarms(all).map(({ kind }) => kind)).toEqual(["note"]);
});

test("an entropy that falls fast while the reward rises fast is no collapse", () => {
  // As one seed of the starter went: steps 21 to 33.
  const entropies = [0.503, 0.507, 0.468, 0.355, 0.281, 0.167, 0.141, 0.099];
  const rewards = [-0.356, -0.258, 0.03, 0.354, 0.585, 0.64, 0.65, 0.66];
  const at = (list: number[], step: number) =>
    list[Math.max(0, Math.min(list.length - 1, Math.floor((step - 20) / 1.7)))];
  const rising = run(33, (step) => ({ entropy: at(entropies, step), reward: at(rewards, step) }));
  const seen = rising.flatMap((_, i) => names(rising.slice(0, i + 1)));
  expect(seen).toEqual([]);
  const flat = rising.map((row) => ({ ...row, reward: -0.35 }));
  expect(flat.flatMap((_, i) => names(flat.slice(0, i + 1)))).toContain("entropy_collapse");
});

test("the same far below the highest reward is a collapse", () => {
  const stuck = run(60, (step) => (step > 20 ? { ...solved, reward: 0.5, entropy: 0.02 } : {}));
  expect(names(stuck)).toEqual(expect.arrayContaining(["little_signal", "entropy_collapse"]));
  expect(findAlarms(stuck).every(({ kind }) => kind === "alarm")).toBe(true);
});

test("a cause is told without what follows from it", () => {
  const still = { frac_reward_zero_std: 1, share_weights_changed: 0 };
  expect(names(run(6, () => ({ ...still, reward: -1, reward_min: -1, reward_max: -1 })))).toEqual(["constant_reward"]);
  expect(names(run(6, () => still))).toEqual(["no_signal"]);
  expect(names(run(6, () => ({ nonfinite_steps: 1, share_weights_changed: 0 })))).toEqual(["non_finite"]);
});

test("a validation reward that falls within its own interval may be chance", () => {
  const scores = [0.1, 0.6, 0.45, 0.45];
  const row = (high: number) =>
    run(4, (step) => ({ eval_reward: scores[step - 1], "eval_reward/hi": scores[step - 1] + high }));
  expect(names(row(0.2))).toEqual([]);
  expect(names(row(0.05))).toEqual(["eval_fall"]);
});

describe("raised, with words and one action", () => {
  test.each<[string, ReturnType<typeof run>]>([
    ["constant_reward", run(2, () => ({ reward: -1, reward_min: -1, reward_max: -1, frac_reward_zero_std: 1 }))],
    ["no_signal", run(2, () => ({ frac_reward_zero_std: 1 }))],
    ["little_signal", run(5, () => ({ frac_reward_zero_std: 0.85 }))],
    ["constant_reward", run(6, (step) => (step > 4 ? { reward: -1, reward_max: -1 } : {}))],
    ["weights_not_moving", run(2, () => ({ share_weights_changed: 0 }))],
    ["weights_not_moving", run(2, () => ({ share_weights_changed: 2e-5 }))],
    ["entropy_collapse", run(30, (step) => (step > 20 ? { entropy: 0.1 } : {}))],
    ["entropy_collapse", run(200, (step) => ({ entropy: 0.8 * 0.97 ** step }))],
    ["length_growth", run(20, (step) => ({ "completions/mean_length": 20 + 2 * step }))],
    ["cut_answers", run(20, (step) => (step > 10 ? { "completions/clipped_ratio": 0.3 } : {}))],
    ["clipped_share", run(5, () => ({ "clip_ratio/region_mean": 0.7 }))],
    ["non_finite", run(3, (step) => (step === 3 ? { nonfinite_steps: 1 } : {}))],
    ["sampler_mismatch", run(3, () => ({ "sampling/sampling_logp_difference/mean": 0.02 }))],
    ["legal_rate_fall", run(20, (step) => (step > 10 ? { "outcomes/legal": 0.6 } : {}))],
    ["one_choice", run(5, () => ({ "choices/top_share": 0.6 }))],
    ["eval_fall", run(4, (step) => ({ eval_reward: [0.1, 0.6, 0.4, 0.35][step - 1] }))],
    ["opponent_fall", run(6, (step) => ({ reward: 0.02, "eval_games/random/score": step < 5 ? 0.6 : 0.1 }))],
  ])("%s", (name, rows) => {
    const alarm = findAlarms(rows).find((found) => found.name === name);
    expect(alarm).toMatchObject({ step: rows.length });
    expect(alarm?.message).toMatch(/^[a-z0-9].{20,}$/);
    expect(alarm?.action).toMatch(/^[a-z].{10,}$/);
    // PPO's answers are always scored again, so it never comes to that.
    const methods = name === "sampler_mismatch" ? (["gspo", "grpo"] as const) : rlMethods;
    for (const option of alarm?.action.match(/[a-z]+(?:_[a-z]+)+/g) ?? []) {
      expect(optionNames).toContain(option);
      for (const method of methods)
        expect(isUsed(option as OptionName, { method, finetuning_type: "lora" })).toBe(true);
    }
  });
});

describe("not raised too early or for another reason", () => {
  test("one step without signal is no alarm, two are", () => {
    expect(names(run(1, () => ({ frac_reward_zero_std: 1 })))).toEqual([]);
    expect(names(run(3, (step) => (step === 2 ? { frac_reward_zero_std: 1 } : {})))).toEqual([]);
  });

  test("a skipped step of the past is over", () => {
    expect(names(run(4, (step) => (step === 2 ? { nonfinite_steps: 1 } : {})))).toEqual([]);
  });

  test("longer answers that earn more are welcome", () => {
    expect(names(run(20, (step) => ({ "completions/mean_length": 20 + 2 * step, reward: step / 20 })))).toEqual([]);
  });

  test("a mismatch does no harm when the log-probs are scored again", () => {
    const rows = run(3, () => ({ "sampling/sampling_logp_difference/mean": 0.02, "sampling/rescored": 1 }));
    expect(names(rows)).toEqual([]);
  });

  test("a metric that is absent raises nothing", () => {
    expect(findAlarms([{ step: 0, time: 0, eval_reward: -0.5 }])).toEqual([]);
  });
});

test("to imitate is to become sure: an entropy that falls is no alarm where nothing is rewarded", () => {
  const given = (n: number, beside: Values) =>
    Array.from({ length: n }, (_, i): MetricsRow => {
      const values = { loss: 3 * 0.9 ** i, entropy: 2 * 0.7 ** i, share_weights_changed: 1, nonfinite_steps: 0 };
      return { step: i + 1, time: i, ...values, ...beside };
    });
  for (let n = 1; n <= 60; n++) {
    expect(names(given(n, {}))).toEqual([]);
    expect(names(given(n, { "rewards/margins": n, "rewards/accuracies": 1, eval_reward: 0.5 }))).toEqual([]);
  }
});
