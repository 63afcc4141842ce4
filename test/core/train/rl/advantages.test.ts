import { expect, test } from "vitest";
import { advantageEstimators } from "../../../../core/contract/config.ts";
import { Random } from "../../../../core/contract/random.ts";
import { groupAdvantages } from "../../../../core/train/rl/advantages.ts";

test.each(advantageEstimators)("%s: equal rewards give exactly 0, for every size, value and offset", (estimator) => {
  for (let n = 2; n <= 32; n++) {
    for (let step = 0; step <= 400; step++) {
      for (const offset of [0, 1e3, -1e3]) {
        const reward = step * 0.0025 + offset;
        // A second group with a spread, so that the batch's own spread is not 0.
        const rewards = [...Array<number>(n).fill(reward), 0, 1];
        const groups = [...Array<number>(n).fill(0), 1, 1];
        const { advantages, fracRewardZeroStd } = groupAdvantages(rewards, groups, { estimator, epsilon: 0 });
        for (let i = 0; i < n; i++) if (advantages[i] !== 0) expect.fail(`${n} × ${reward}: ${advantages[i]}`);
        if (fracRewardZeroStd !== 0.5) expect.fail(`${n} × ${reward}: ${fracRewardZeroStd} of the groups are equal`);
      }
    }
  }
});

test.each(advantageEstimators)("%s: a shift of all rewards changes nothing", (estimator) => {
  const random = new Random(estimator);
  const rewards = Array.from({ length: 32 }, () => 0.3 * random.next());
  const groups = rewards.map((_, i) => i >> 3);
  const plain = groupAdvantages(rewards, groups, { estimator }).advantages;
  for (const offset of [1e3, -1e3]) {
    const shifted = groupAdvantages(
      rewards.map((reward) => reward + offset),
      groups,
      { estimator },
    ).advantages;
    shifted.forEach((advantage, i) => expect(Math.abs(advantage - plain[i])).toBeLessThan(1e-9));
  }
  expect(Math.max(...plain)).toBeGreaterThan(0.1);
});

test.each(advantageEstimators)("%s: a group of one has 0", (estimator) => {
  const { advantages, fracRewardZeroStd } = groupAdvantages([0.7, 0, 1], ["a", "b", "b"], { estimator });
  expect(advantages[0]).toBe(0);
  expect(fracRewardZeroStd).toBe(0.5);
});

test("equal rewards have a spread of exactly 0, however they round", () => {
  for (const reward of [0.1, 0.8, 1e3 + 0.3]) {
    expect(
      groupAdvantages(Array<number>(7).fill(reward), Array<number>(7).fill(0), { estimator: "group_std" }),
    ).toEqual({ advantages: new Float64Array(7), groups: 1, fracRewardZeroStd: 1, rewardStd: 0 });
  }
});

test("groups may be interleaved; the batch's spread scales batch_std", () => {
  const together = groupAdvantages([1, 0, 5, 3], [0, 0, 1, 1], { estimator: "batch_std", epsilon: 0 });
  const mixed = groupAdvantages([1, 5, 0, 3], [0, 1, 0, 1], { estimator: "batch_std", epsilon: 0 });
  expect([mixed.advantages[0], mixed.advantages[2], mixed.advantages[1], mixed.advantages[3]]).toEqual([
    ...together.advantages,
  ]);
  const sigma = Math.sqrt((1.25 ** 2 + 2.25 ** 2 + 2.75 ** 2 + 0.75 ** 2) / 4);
  expect(together.advantages[2]).toBeCloseTo(1 / sigma, 12);
  expect(together.rewardStd).toBe(0.75);
});

test("a reward that is no finite number is an error that names the sample", () => {
  for (const bad of [NaN, Infinity]) {
    expect(() => groupAdvantages([0, bad], ["board 7", "board 7"], { estimator: "group_std" })).toThrow(
      /sample 1 \(group board 7\)/,
    );
  }
});
