/** The reward lab: stored rollouts read back as samples, figures, groups, and what looks like reward hacking. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import {
  distribution,
  rankCorrelation,
  standardErrorsBetween,
} from "../../../../core/app/rewards/reward-statistics.ts";
import { tryReward } from "../../../../core/app/rewards/reward-lab.ts";
import { rolloutsOfFile, rolloutsOfRun } from "../../../../core/app/data/stored-rollouts.ts";
import { trialText } from "../../../../core/app/rewards/reward-text.ts";
import { Random } from "../../../../core/contract/random.ts";
import { resolveConfig } from "../../../../core/contract/resolve-config.ts";
import { rewardTrialSchema } from "../../../../core/contract/reward.ts";
import type { RolloutLine, RunRecord } from "../../../../core/contract/run.ts";
import { ticTacToe } from "../../../../core/tasks/tic-tac-toe/tic-tac-toe.ts";
import { RunFolder } from "../../../../core/train/run-folder/run-folder.ts";
import { failure } from "../../rewards/sample.ts";

const scratch = mkdtempSync(join(tmpdir(), "hone-lab-"));

function file(name: string, content: string | readonly unknown[]): string {
  const path = join(scratch, name);
  writeFileSync(
    path,
    typeof content === "string" ? content : content.map((row) => JSON.stringify(row) + "\n").join(""),
  );
  return path;
}

const right = file("right.json", JSON.stringify({ parts: [{ name: "right", type: "exact_match" }] }));

describe("figures", () => {
  test("a distribution", () => {
    expect(distribution([4, 0, 1, 3, 2])).toEqual({
      mean: 2,
      std: Math.SQRT2,
      min: 0,
      max: 4,
      quantiles: { p10: 0.4, p25: 1, p50: 2, p75: 3, p90: 3.6 },
      histogram: [1, 0, 1, 0, 0, 1, 0, 1, 0, 1],
    });
    expect(distribution([0.1, 0.1, 0.1]).histogram).toEqual([3]);
  });

  test("rank correlation with ties, against values computed by hand", () => {
    expect(rankCorrelation([1, 2, 3], [10, 100, 1000])).toBeCloseTo(1, 12);
    expect(rankCorrelation([1, 2, 3], [3, 2, 1])).toBeCloseTo(-1, 12);
    // Ranks 0.5 0.5 2 3 and 0 1 2.5 2.5.
    expect(rankCorrelation([1, 1, 2, 3], [1, 2, 3, 3])).toBeCloseTo(4 / 4.5, 12);
    expect(rankCorrelation([1, 1], [1, 2])).toBeNull();
  });

  test("standard errors between two means", () => {
    expect(standardErrorsBetween([0, 2], [10, 12])).toBeCloseTo(10 / Math.SQRT2, 12);
    expect(standardErrorsBetween([1, 1], [1, 1])).toBe(0);
  });
});

describe("rollouts of a file", () => {
  const lines = [
    { prompt: "2 + 2?", answer: "4", completion: "4", reward: 1 },
    { prompt: "2 + 2?", answer: "4", completion: "5", reward: 0 },
    { prompt: "3 + 3?", answer: "6", completion: "<think>hm</think>6", reward: 1 },
    { prompt: [{ role: "user", content: "3 + 3?" }], answer: "6", completion: "6", reward: 0 },
  ];

  test("other keys are columns; equal prompts of a step are a group; reasoning is taken out", () => {
    const { rollouts } = rolloutsOfFile(file("four.jsonl", lines));
    expect(rollouts.map(({ sample }) => [sample.prompt_index, sample.sample_index, sample.answer, sample.row])).toEqual(
      [
        [0, 0, "4", { answer: "4" }],
        [0, 1, "5", { answer: "4" }],
        [1, 0, "6", { answer: "6" }],
        [2, 0, "6", { answer: "6" }],
      ],
    );
    expect(rollouts[2].sample.reasoning).toBe("hm");
    expect(rollouts[0].stored).toEqual({ reward: 1, parts: {} });
  });

  test("a trial: groups, agreement, best and worst, and its JSON as the contract has it", async () => {
    const trial = await tryReward({ reward: right, from: { file: file("four.jsonl", lines) } });
    expect(rewardTrialSchema.strict().parse(trial)).toEqual(trial);
    expect(trial).toMatchObject({ samples: 4, failed: 0, steps: [0], usage: null });
    expect(trial.total.mean).toBe(0.75);
    expect(trial.parts["right"]).toMatchObject({ weight: 1, mean: 0.75, histogram: [1, 0, 0, 0, 0, 0, 0, 0, 0, 3] });
    expect(trial.groups).toEqual({ count: 3, zero_variance: 2, stored_zero_variance: 2 });
    expect(trial.agreement).toEqual([
      { a: "reward", b: "stored_reward", rank_correlation: expect.closeTo(1 / Math.sqrt(3), 12) },
    ]);
    expect(trial.worst[0]).toMatchObject({ completion: "5", reward: 0, stored_reward: 0, row_id: "0" });
    expect(trial.best.map(({ reward }) => reward)).toEqual([1, 1, 1]);
    expect(trial.notes).toEqual(["the rollouts have no completion_ids: a part that counts tokens sees none"]);
    expect(trialText(trial)).toContain("2 of 3 groups teach nothing");
  });

  test("rollouts that cannot be scored are counted and told; when none can, the first says why", async () => {
    const some = file("some.jsonl", [...lines, { prompt: "x", completion: "y" }]);
    const trial = await tryReward({ reward: right, from: { file: some } });
    expect(trial).toMatchObject({ samples: 4, failed: 1, groups: { stored_zero_variance: 2 } });
    expect(trial.failures[0].message).toContain('its row has no column "answer"');
    expect(trialText(trial)).toContain("1 rollout could not be scored");
    const none = file("none.jsonl", [{ prompt: "x", completion: "y" }]);
    expect(await failure(tryReward({ reward: right, from: { file: none } }))).toMatch(/^bad-reward: /);
  });

  test.each([
    ["nowhere.jsonl", undefined, "no-such-file: there is no file"],
    ["empty.jsonl", "", "no-rollouts: "],
    ["torn.jsonl", "{]\n", "bad-jsonl: "],
    ["other.jsonl", '{"prompt": "x"}\n', "bad-data: "],
  ])("%s", async (name, content, words) => {
    const path = content === undefined ? join(scratch, name) : file(name, content);
    expect(await failure(tryReward({ reward: right, from: { file: path } }))).toContain(words);
  });
});

describe("rollouts of a run", () => {
  const path = join(scratch, "run");
  const [row] = ticTacToe.rows("train");
  const call = (square: number) =>
    `<tool_call>\n{"name": "choose_square", "arguments": {"square": ${square}}}\n</tool_call>`;
  const line = (step: number, sample: number, completion: string): RolloutLine => ({
    step,
    prompt_index: 0,
    sample_index: sample,
    trajectory_id: `${step}-0-${sample}`,
    row_id: row.id,
    prompt: "the prompt as the model saw it",
    prompt_ids: [1, 2],
    completion,
    completion_ids: [3, 4, 5],
    logprobs: [-1, -2, -3],
    reward: sample,
    reward_parts: { legal: sample },
    advantage: 0,
    stop_reason: "eos",
    failure: null,
  });

  beforeAll(async () => {
    const config = resolveConfig({ model: "starter", task: "tic-tac-toe" });
    const record: RunRecord = {
      hone_version: "0",
      engine_version: "0",
      created: "2026-01-01T00:00:00.000Z",
      command: [],
      model: { path: "", architecture: "", parameters: 0, trainable_parameters: 0, sha256: "" },
      data: { task: "tic-tac-toe", split_seed: 0, train: 0, validation: 0, held_out: 0, train_sha256: "" },
      total_steps: 12,
    };
    const folder = await RunFolder.create(path, config, record);
    folder.writeRollouts(1, [line(1, 0, call(5)), line(1, 1, "I take the middle")]);
    folder.writeRollouts(12, [line(12, 0, call(1)), line(12, 1, call(2))]);
  });

  test("steps in their order, with the task's rows, prompts and calls", async () => {
    const { rollouts, notes } = await rolloutsOfRun(path, "all");
    expect(notes).toEqual([]);
    expect(rollouts.map(({ step }) => step)).toEqual([1, 1, 12, 12]);
    const [first, second] = rollouts.map(({ sample }) => sample);
    // What the task itself said stands beside the row, as in training.
    expect(first.row).toEqual({ ...row, judged: { reward: 0, parts: { legal: 0 }, failure: null } });
    expect(first.prompt).toEqual(ticTacToe.prompt(row));
    expect(first.tool_calls).toEqual([{ name: "choose_square", arguments: { square: 5 } }]);
    expect(first).toMatchObject({
      answer: "",
      problems: [],
      completion_ids: [3, 4, 5],
      loss_mask: [1, 1, 1],
      stop_reason: "eos",
    });
    expect(second).toMatchObject({ tool_calls: [], problems: [{ code: "no_call" }] });
  });

  test("one step; one that is not there; a run that is not there", async () => {
    const calls = file("calls.ts", "export default ({ tool_calls }) => tool_calls.length;");
    const trial = await tryReward({ reward: calls, from: { run: path, step: 1 } });
    expect(trial).toMatchObject({ samples: 2, steps: [1], source: path, total: { mean: 0.5 } });
    expect(trial.agreement).toEqual([{ a: "reward", b: "stored_reward", rank_correlation: expect.closeTo(-1, 12) }]);
    expect(await failure(rolloutsOfRun(path, 3))).toBe(
      "no-rollouts: the run run has no rollouts of step 3 → it has steps 1 to 12",
    );
    expect(await failure(rolloutsOfRun(join(scratch, "elsewhere"), "all"))).toContain("no-such-run");
  });
});

describe("suspected reward hacking", () => {
  const random = new Random(7);
  const words = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu".split(" ");
  const prose = (n: number) => random.shuffle(words).slice(0, n).join(" ");

  /** Twelve steps of sixteen answers; `answer` writes one for a share of progress from 0 to 1. */
  const run = (name: string, answer: (progress: number, i: number) => string, reward?: (progress: number) => number) =>
    file(
      `${name}.jsonl`,
      Array.from({ length: 12 }, (_, step) =>
        Array.from({ length: 16 }, (_, i) => ({
          prompt: `Tell me about the city number ${i} of the long list that I gave you`,
          step: step + 1,
          completion: answer(step / 11, i),
          ...(reward !== undefined && { reward: reward(step / 11) + random.next() * 0.1 }),
        })),
      ).flat(),
    );
  const suspect = async (code: string, rollouts: string) => {
    const trial = await tryReward({ reward: file("hack.ts", code), from: { file: rollouts } });
    return trial.suspicions;
  };
  const byLength = "export default ({ answer }) => answer.split(' ').length / 100;";

  test("answers that grow without end", async () => {
    const found = await suspect(
      byLength,
      run("long", (progress) => prose(3 + Math.floor(progress * 6) + random.integer(3))),
    );
    expect(found.map(({ measure }) => measure)).toEqual(["length"]);
    expect(found[0].message).toMatch(
      /^the reward rises from 0\.0\d+ to 0\.0\d+, while answers grew from \d to \d+: length may be what is paid for$/,
    );
    expect(found[0].change?.[1]).toBeGreaterThan(1.5 * (found[0].change?.[0] ?? 0));
  });

  test("answers that shrink to nothing", async () => {
    const code = "export default ({ answer }) => -answer.split(' ').length;";
    const found = await suspect(
      code,
      run("short", (progress) => prose(10 - Math.floor(progress * 9) + random.integer(2))),
    );
    expect(found.map(({ measure }) => measure)).toContain("length");
    expect(found[0].message).toContain("answers shrank");
  });

  test("answers that repeat themselves, and the same answer to everything", async () => {
    const code = "export default ({ answer }) => (answer.match(/good/g) ?? []).length;";
    const found = await suspect(
      code,
      run("same", (progress) => (random.next() < progress ? "good good good good good good" : prose(6))),
    );
    expect(found.map(({ measure }) => measure)).toEqual(["distinct_2", "different_answers"]);
  });

  test("answers copied from the prompt", async () => {
    const code = "export default ({ answer }) => Number(answer.includes('long list'));";
    const copied = (i: number) => `city number ${i} of the long list ${prose(2)}`;
    const found = await suspect(
      code,
      run("copied", (progress, i) => (random.next() < progress ? copied(i) : prose(8))),
    );
    expect(found.map(({ measure }) => measure)).toEqual(["copied_prompt"]);
  });

  test("one part given up for another, and the run's own reward falling", async () => {
    const code =
      "export const parts = { long: 1, kind: 0.1 };\nexport default ({ answer }) => ({ parts: { long: answer.length / 10, kind: Number(answer.includes('please')) } });";
    const rollouts = run(
      "parts",
      (progress) => (random.next() < progress ? prose(9) : `please ${prose(6)}`),
      (progress) => 1 - progress,
    );
    const found = await suspect(code, rollouts);
    expect(found.map(({ measure }) => measure)).toEqual(["kind", "stored_reward"]);
    expect(found[0].message).toContain("the part kind falls from");
  });

  test("an honest gain is not suspected, nor a reward that does not rise", async () => {
    const honest = run("honest", (progress) => `${prose(7)} ${random.next() < 0.2 + 0.6 * progress ? "yes" : "no"}`);
    expect(await suspect("export default ({ answer }) => Number(answer.endsWith('yes'));", honest)).toEqual([]);
    const falling = run("falling", (progress) => prose(3 + Math.floor(progress * 8)));
    expect(await suspect("export default ({ answer }) => -answer.length;", falling)).toEqual([]);
  });

  test("with too few steps for a trend, what goes along with the reward is told", async () => {
    const few = file(
      "few.jsonl",
      Array.from({ length: 40 }, (_, i) => ({ prompt: "x", completion: prose(1 + (i % 12)) })),
    );
    const [found] = await suspect(byLength, few);
    expect(found.message).toContain("the reward rises with the response length (rank correlation 1.00)");
    expect(found).toMatchObject({ measure: "length", reward: null, change: null });
  });
});
