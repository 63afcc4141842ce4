import { expect, test } from "vitest";
import { bench } from "../../../core/bench/bench.ts";

test("a step of a method has a speed and says where its time went", { timeout: 60_000 }, async () => {
  const { results } = await bench({ only: "gspo_step", runs: 1 });
  expect(results.map(({ name }) => name)).toEqual(["gspo_step_tok_s"]);
  const [{ value, shares = { rollout: NaN, reward: NaN, training: NaN } }] = results;
  expect(value).toBeGreaterThan(0);
  for (const share of Object.values(shares)) expect(share).toBeGreaterThan(0);
  const total = shares.rollout + shares.reward + shares.training;
  expect(total).toBeGreaterThan(0.8);
  expect(total).toBeLessThan(1.001);
});
