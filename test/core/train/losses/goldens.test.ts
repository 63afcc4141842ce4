/** Every case of `losses.json` (float64, torch autograd; DPO, GRPO and GSPO agree with TRL's own losses). */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { AdvantageOptions } from "../../../../core/train/rl/advantages.ts";
import { groupAdvantages } from "../../../../core/train/rl/advantages.ts";
import { dpoLoss, maskedSum } from "../../../../core/train/losses/dpo.ts";
import { gae } from "../../../../core/train/losses/gae.ts";
import { grpoLoss } from "../../../../core/train/losses/grpo.ts";
import { gspoLoss } from "../../../../core/train/losses/gspo.ts";
import { ppoLoss } from "../../../../core/train/losses/ppo.ts";
import { sftLoss } from "../../../../core/train/losses/sft.ts";
import { statMean, type Stat } from "../../../../core/train/losses/stats.ts";
import { stepNormalisers, type LossType } from "../../../../core/train/losses/types.ts";
import { valueLoss } from "../../../../core/train/losses/value.ts";

type Matrix = number[][];

interface Case {
  name: string;
  kind: string;
  params: Record<string, number | string | null>;
  inputs: Record<string, Matrix>;
  outputs: Record<string, number | number[] | Matrix>;
}

const { cases } = JSON.parse(readFileSync(new URL("../../../fixtures/losses.json", import.meta.url), "utf8")) as {
  cases: Case[];
};

const ofKind = (...kinds: string[]) =>
  cases.filter(({ kind }) => kinds.includes(kind)).map((one) => [one.name, one] as const);
const floats = (values: number[]) => Float64Array.from(values);
const mask = (values: number[]) => Uint8Array.from(values);
const number = (value: number | string | null) => value as number;

function expectClose(actual: number | ArrayLike<number> | ArrayLike<ArrayLike<number>>, expected: unknown): void {
  if (typeof actual === "number") expect(Math.abs(actual - (expected as number))).toBeLessThan(1e-9);
  else {
    expect(actual.length).toBe((expected as unknown[]).length);
    Array.from<number | ArrayLike<number>>(actual).forEach((one, i) => expectClose(one, (expected as unknown[])[i]));
  }
}

const share = (...stats: (Stat | undefined)[]) => stats.reduce((total, stat) => total + statMean(stat!), 0);

test("there are 24 cases, each of a kind that is tested below", () => {
  expect(cases).toHaveLength(24);
  const kinds = ["sft", "dpo", "grpo", "gspo", "ppo_policy", "ppo_value", "gae", "group_advantage"];
  expect(cases.filter(({ kind }) => !kinds.includes(kind))).toEqual([]);
});

test.each(ofKind("sft"))("%s", (_, { inputs, outputs }) => {
  const rows = inputs["new_logprobs"].map((lp, i) => ({ lp: floats(lp), mask: mask(inputs["mask"][i]) }));
  const { loss, dLogprobs } = sftLoss(rows, stepNormalisers(rows));
  expectClose(loss, outputs["loss"]);
  expectClose(dLogprobs, outputs["d_new_logprobs"]);
});

test.each(ofKind("dpo"))("%s", (_, { params, inputs, outputs }) => {
  const answer = (side: string, i: number) => ({
    lp: floats(inputs[`${side}_logprobs`][i]),
    ref: maskedSum(floats(inputs[`ref_${side}_logprobs`][i]), mask(inputs[`${side}_mask`][i])),
    mask: mask(inputs[`${side}_mask`][i]),
  });
  const pairs = inputs["chosen_logprobs"].map((__, i) => ({
    chosen: answer("chosen", i),
    rejected: answer("rejected", i),
  }));
  const options = { beta: number(params["beta"]), label_smoothing: number(params["label_smoothing"]) };
  const { loss, dChosen, dRejected, stats } = dpoLoss(pairs, options, { pairs: pairs.length });
  expectClose(loss, outputs["loss"]);
  expectClose(dChosen, outputs["d_chosen_logprobs"]);
  expectClose(dRejected, outputs["d_rejected_logprobs"]);
  expectClose(share(stats["rewards/accuracies"]), outputs["accuracy"]);
  const margins = pairs.map((pair) => statMean(dpoLoss([pair], options, { pairs: 1 }).stats["rewards/margins"]!));
  expectClose(margins, outputs["reward_margin"]);
});

test.each(ofKind("grpo", "gspo"))("%s", (_, { kind, params, inputs, outputs }) => {
  const rows = inputs["new_logprobs"].map((lp, i) => ({
    lp: floats(lp),
    old: floats(inputs["old_logprobs"][i]),
    ...(inputs["ref_logprobs"] !== undefined && { ref: floats(inputs["ref_logprobs"][i]) }),
    mask: mask(inputs["mask"][i]),
    advantage: (inputs["advantages"] as unknown as number[])[i],
  }));
  const options = {
    epsilon: number(params["clip_low"]),
    epsilon_high: number(params["clip_high"]),
    beta: number(params["kl_beta"]),
    entropy_coef: 0,
    loss_type: params["aggregation"] as LossType,
  };
  const lossOf = kind === "grpo" ? grpoLoss : gspoLoss;
  const { loss, dLogprobs, stats } = lossOf(rows, options, stepNormalisers(rows, number(params["max_length"] ?? 0)));
  expectClose(loss, outputs["loss"]);
  expectClose(dLogprobs, outputs["d_new_logprobs"]);
  expectClose(share(stats.clip_low, stats.clip_high), outputs["clip_fraction"]);
  if (outputs["mean_kl_k3"] !== undefined) expectClose(share(stats.kl), outputs["mean_kl_k3"]);
  const ratios = outputs["ratio"] as number[] | Matrix;
  const trained = ratios.flatMap((ratio, i) =>
    Array.isArray(ratio) ? ratio.filter((__, t) => inputs["mask"][i][t] !== 0) : [ratio],
  );
  expectClose(share(stats.ratio), trained.reduce((sum, ratio) => sum + ratio, 0) / trained.length);
});

test.each(ofKind("ppo_policy"))("%s", (_, { params, inputs, outputs }) => {
  const rows = inputs["new_logprobs"].map((lp, i) => ({
    lp: floats(lp),
    old: floats(inputs["old_logprobs"][i]),
    mask: mask(inputs["mask"][i]),
    advantages: floats(inputs["advantages"][i]),
  }));
  const options = {
    epsilon: number(params["clip_low"]),
    epsilon_high: number(params["clip_high"]),
    dual_clip: params["dual_clip"] as number | null,
    beta: 0,
    entropy_coef: 0,
  };
  const { loss, dLogprobs, stats } = ppoLoss(rows, options, stepNormalisers(rows));
  expectClose(loss, outputs["loss"]);
  expectClose(dLogprobs, outputs["d_new_logprobs"]);
  expectClose(share(stats.clip_low, stats.clip_high), outputs["clip_fraction"]);
  expectClose(share(stats.dual_clip), outputs["dual_clip_fraction"]);
});

test.each(ofKind("ppo_value"))("%s", (_, { params, inputs, outputs }) => {
  const rows = inputs["values"].map((values, i) => ({
    values: floats(values),
    oldValues: floats(inputs["old_values"][i]),
    returns: floats(inputs["returns"][i]),
    mask: mask(inputs["mask"][i]),
  }));
  const options = { value_clip: number(params["value_clip"]), value_coef: 1 };
  const { loss, dValues, stats } = valueLoss(rows, options, stepNormalisers(rows));
  expectClose(loss, outputs["loss"]);
  expectClose(dValues, outputs["d_values"]);
  expectClose(share(stats.clip_fraction), outputs["clip_fraction"]);
});

test.each(ofKind("gae"))("%s", (_, { params, inputs, outputs }) => {
  const options = { gamma: number(params["gamma"]), lambda: number(params["lambda"]) };
  inputs["rewards"].forEach((rewards, i) => {
    const row = { rewards: floats(rewards), values: floats(inputs["values"][i]), mask: mask(inputs["mask"][i]) };
    const { advantages, returns } = gae([row], (inputs["bootstrap_values"] as unknown as number[])[i], options);
    expectClose(advantages[0], (outputs["advantages"] as Matrix)[i]);
    expectClose(returns[0], (outputs["returns"] as Matrix)[i]);
  });
});

describe("group advantages", () => {
  const estimators: Record<string, Omit<AdvantageOptions, "epsilon">> = {
    std_pop: { estimator: "group_std" },
    std_sample: { estimator: "group_std", std: "sample" },
    mean: { estimator: "group_mean" },
    rloo: { estimator: "rloo" },
  };
  test.each(ofKind("group_advantage"))("%s", (_, { params, inputs, outputs }) => {
    const rewards = inputs["rewards"] as unknown as number[];
    const groups = inputs["group_ids"] as unknown as number[];
    const options = { ...estimators[params["method"] as string], epsilon: number(params["eps"]) };
    expectClose(groupAdvantages(rewards, groups, options).advantages, outputs["advantages"]);
  });
});
