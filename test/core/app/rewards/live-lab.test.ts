import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { rewardCalls, type LabResult } from "../../../../core/contract/api/reward-calls.ts";
import { labCost } from "../../../../core/app/rewards/lab-cost.ts";
import { tryDraft } from "../../../../core/app/rewards/live-lab.ts";
import {
  createReward,
  deleteReward,
  listRewards,
  renameReward,
  rewardHistory,
  rewardVersion,
  saveReward,
} from "../../../../core/app/rewards/reward-library.ts";

let home: string;
const before = process.env["HONE_HOME"];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "hone-lab-"));
  process.env["HONE_HOME"] = home;
});
afterEach(() => {
  if (before === undefined) delete process.env["HONE_HOME"];
  else process.env["HONE_HOME"] = before;
  rmSync(home, { recursive: true, force: true });
});

const samples = ["4", "The answer is 4.", "five", ""].map((completion) => ({
  prompt: "2 + 2?",
  completion,
  row: { answer: "4" },
}));

function lab(text: string, more: object = {}, path = join(home, "rewards", "mine.ts")): Promise<LabResult> {
  const request = rewardCalls["rewards.try"].input.parse({ path, text, source: { kind: "hand", samples }, ...more });
  return tryDraft(request, new AbortController().signal);
}

const exact = "export default ({ answer, row }) => Number(answer === row.answer);";

test("a text that was never saved is scored, beside the one that it is compared with", async () => {
  const other = "export default ({ answer }) => (answer === '' ? 3 : 0);";
  const {
    trial,
    before: old,
    change,
    samples: scored,
    fault,
  } = await lab(exact, { compare: { kind: "text", text: other } });
  expect(fault).toBeNull();
  expect(trial?.total.mean).toBe(0.25);
  expect(old?.total.mean).toBe(0.75);
  expect(scored.map(({ reward, before: paid }) => [reward, paid])).toEqual([
    [1, 0],
    [0, 0],
    [0, 0],
    [0, 3],
  ]);
  // Of six pairs five are ordered by one of the two; "4" and "" are ordered the other way round.
  expect(change).toEqual({ changed: 2, higher: 1, lower: 1, reversed_pairs: 1, pairs: 5 });
});

test("a fault is told with the file's own name and its line, and without a value", async () => {
  const syntax = await lab("export default () => {\n  return 1\n");
  expect(syntax.trial).toBeNull();
  expect(syntax.fault?.line).toBe(2);
  const thrown = await lab("export default () => {\n  throw new Error('no');\n};");
  expect(thrown.fault).toMatchObject({ line: 2, column: expect.any(Number) as number });
  expect(thrown.fault?.error.message).toContain(join(home, "rewards", "mine.ts:2"));
});

test("one answer that cannot be scored leaves the others", async () => {
  const {
    fault,
    trial,
    samples: scored,
    sample_faults,
  } = await lab("export default ({ answer }) => {\n  if (answer === 'five') throw new Error('five');\n  return 1;\n};");
  expect(fault).toBeNull();
  expect(trial?.failed).toBe(1);
  expect(scored[2]).toMatchObject({ reward: null, error: expect.stringContaining("five") as string });
  expect(sample_faults).toHaveLength(1);
  expect(sample_faults[0].line).toBe(2);
});

test("an endless loop and too much memory end with a message, and not after every sample", async () => {
  const begun = performance.now();
  const endless = await lab("export default () => { while (true) {} };");
  expect(endless.fault?.error.message).toContain("longer than 1 s");
  expect(performance.now() - begun).toBeLessThan(5000);
  const greedy = await lab("export default () => { const a = []; for (;;) a.push('x'.repeat(1e6) + a.length); };");
  expect(greedy.fault?.error.message).toContain("64 MB");
});

test("a mistake in a reward of parts is told with the line of its part", async () => {
  const text = '{\n  "parts": [\n    { "type": "exact_match" },\n    { "type": "lenght", "max": 3 }\n  ]\n}\n';
  const { fault } = await lab(text, {}, join(home, "rewards", "parts.json"));
  expect(fault?.line).toBe(4);
  expect(fault?.error.fix).toContain("length");
  const broken = await lab('{ "parts": [\n', {}, join(home, "rewards", "parts.json"));
  expect(broken.fault?.line).toBe(1);
});

test("a judge is not asked before a person has agreed, and its cost is told", async () => {
  const path = join(home, "rewards", "judge.json");
  const text = JSON.stringify({ parts: [{ type: "judge", url: "http://127.0.0.1:1/v1", model: "m" }] });
  const { fault } = await lab(text, {}, path);
  expect(fault?.error.code).toBe("asks-others");
  const source = { kind: "hand" as const, samples: [...samples, samples[0]] };
  const { judges } = await labCost({ path, text, source, limit: 400 });
  // Five answers, two of them equal.
  expect(judges).toMatchObject([{ model: "m", local: true, calls: 4 }]);
  expect(judges[0].prompt_tokens).toBeGreaterThan(0);
});

test("many rollouts are taken as whole groups, evenly", async () => {
  const file = join(home, "rollouts.jsonl");
  const lines = Array.from({ length: 40 }, (_, i) =>
    JSON.stringify({ prompt: `q${Math.floor(i / 4)}`, completion: `${i % 4}`, reward: i % 4 }),
  );
  writeFileSync(file, `${lines.join("\n")}\n`);
  const {
    samples: scored,
    available,
    trial,
  } = await lab("export default ({ answer }) => -Number(answer);", {
    source: { kind: "file", path: file },
    limit: 12,
    compare: { kind: "stored" },
  });
  expect(available).toBe(40);
  expect(scored).toHaveLength(12);
  expect(new Set(scored.map(({ prompt }) => prompt)).size).toBe(3);
  expect(trial?.agreement.find(({ b }) => b === "stored_reward")?.rank_correlation).toBeCloseTo(-1);
});

test("a reward is saved with its history, not over another program's change", () => {
  const made = createReward("My reward", "script", null);
  expect(() => createReward("My reward", "script", null)).toThrow("already");
  expect(() => createReward("../x", "script", null)).toThrow("cannot be a reward's name");
  const saved = saveReward(made.path, exact, made.version);
  expect(saved.history).toHaveLength(1);
  expect(rewardVersion(made.path, saved.history[0].id)).toBe(made.text);
  writeFileSync(made.path, "export default () => 9;");
  expect(() => saveReward(made.path, "x", saved.version)).toThrow("changed or removed by another program");
  const renamed = renameReward(made.path, "other");
  expect(rewardHistory(renamed.path)).toHaveLength(1);
  deleteReward(renamed.path);
  expect(listRewards().every(({ example }) => example)).toBe(true);
  const example = listRewards()[0];
  expect(() => saveReward(example.path, "x", "y")).toThrow("comes with Hone");
  expect(() => deleteReward(example.path)).toThrow("not in Hone's folder");
  expect(readFileSync(example.path, "utf8")).not.toBe("x");
});
