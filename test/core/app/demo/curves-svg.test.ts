import { expect, test } from "vitest";
import type { MetricsRow } from "../../../../core/contract/run.ts";
import { curvesSvg, escapeXml, smooth, ticks } from "../../../../core/app/demo/curves-svg.ts";

const rows: MetricsRow[] = Array.from({ length: 21 }, (_, step) => ({
  step,
  time: step,
  ...(step > 0 && { reward: -0.5 + step / 20, "completions/mean_length": 40 - step }),
  ...(step % 10 === 0 && { eval_reward: step / 40, "eval_completions/mean_length": 30 }),
}));

test("both curves, the reference lines and the validation dots are drawn, inside the picture", () => {
  const svg = curvesSvg(rows, [{ label: "best <possible>", value: 0.923 }]);
  expect(svg.match(/class="smooth"/g)).toHaveLength(2);
  expect(svg.match(/<circle/g)).toHaveLength(6);
  expect(svg).toContain("best &lt;possible&gt; 0.923");
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  const [, width, height] = (/viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? []).map(Number);
  for (const [, x, y] of svg.matchAll(/[ML]([\d.]+) ([\d.]+)/g)) {
    expect(Number(x)).toBeLessThanOrEqual(width);
    expect(Number(y)).toBeLessThanOrEqual(height);
  }
});

const titles = (svg: string) => [...svg.matchAll(/class="title"[^>]*>([^<]*)</g)].map(([, title]) => title);
const steps = (metrics: Record<string, number>): MetricsRow[] =>
  [1, 2].map((step) => ({ step, time: step, ...metrics }));

test("what is drawn fits the method", () => {
  const rl = steps({ loss: 0.01, reward: 0.5, eval_reward: 0.4, "completions/mean_length": 20 });
  expect(titles(curvesSvg(rl, []))).toEqual(["Mean reward", "Response length, tokens"]);
  const sft = steps({ loss: 2, eval_loss: 2.1, mean_token_accuracy: 0.5 });
  expect(titles(curvesSvg(sft, []))).toEqual(["Loss, per token"]);
  expect(titles(curvesSvg(steps({ loss: 2, eval_loss: 2.1, eval_reward: 0.2 }), []))).toEqual([
    "Mean reward",
    "Loss, per token",
  ]);
  const dpo = steps({ loss: 0.6, "rewards/accuracies": 0.7, eval_preference_accuracy: 0.6, "rewards/margins": -0.1 });
  expect(titles(curvesSvg(dpo, []))).toEqual([
    "Better answer more likely, share of pairs",
    "Pairs moved the right way, share",
    "Margin between the answers",
  ]);
  for (const rows of [rl, sft, dpo]) expect(curvesSvg(rows, [])).not.toMatch(/NaN|undefined|Infinity/);
});

test("values of any size stay inside the picture", () => {
  for (const reward of [-1, 0, 1e-6, 0.5, 1, 250, -40]) {
    const svg = curvesSvg(steps({ reward, loss: reward }), []);
    const [, , height] = (/viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? []).map(Number);
    for (const [, , y] of svg.matchAll(/[ML]([\d.]+) (-?[\d.]+)/g)) {
      expect(Number(y)).toBeGreaterThanOrEqual(0);
      expect(Number(y)).toBeLessThanOrEqual(height);
    }
  }
});

test("a run without any step still gives a picture", () => {
  const svg = curvesSvg([{ step: 0, time: 0 }], []);
  expect(svg).not.toMatch(/NaN|Infinity/);
  expect(svg).not.toContain("<path");
});

test("a constant stays what it is when smoothed, from the first value on", () => {
  for (const value of smooth([3, 3, 3, 3], 0.9)) expect(value).toBeCloseTo(3, 12);
  expect(smooth([0, 1], 0.5)[1]).toBeCloseTo(2 / 3, 12);
});

test("ticks are round and cover the range", () => {
  expect(ticks(-1, 1)).toEqual([-1, -0.5, 0, 0.5, 1]);
  expect(ticks(0, 400)).toEqual([0, 100, 200, 300, 400]);
  expect(ticks(0, 7).at(-1)).toBeLessThanOrEqual(7);
});

test("markup in a text stays text", () => {
  expect(escapeXml('<b a="1">&')).toBe("&lt;b a=&quot;1&quot;&gt;&amp;");
});
