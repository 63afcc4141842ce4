/** Every option of GSPO and GRPO changes what it says it changes, on a tabular model. */

import { describe, expect, test } from "vitest";
import type { RunConfigInput } from "../../../../core/contract/config.ts";
import type { SampleRequest } from "../../../../core/engine/types.ts";
import { startTraining } from "../../../../core/train/run.ts";
import { guessConfig, guessModelFolder, guessRun, rolloutLines } from "../guess-run.ts";
import { comparableMetrics, toyConfig, toyModelFolder, toyRun } from "../toy-run.ts";

const model = toyModelFolder();

async function train(extra: RunConfigInput = {}) {
  const toy = toyRun();
  await startTraining(toy.context, {
    ...toyConfig,
    model,
    max_steps: 1,
    num_mini_batches: 1,
    eval_steps: 0,
    eval_on_start: false,
    output_dir: toy.output,
    ...extra,
  });
  return { rows: comparableMetrics(toy.output), lines: rolloutLines(toy.output, 1), model: toy.engine.opened[0] };
}

const trainedAnswers = ({ model: { forwards } }: Awaited<ReturnType<typeof train>>) =>
  forwards
    .filter(({ options }) => options.grad === true)
    .flatMap(({ batch }) => batch.segments.filter(({ parent }) => parent !== undefined)).length;

describe("cut answers", () => {
  test("are kept with the reward they got", async () => {
    const run = await train();
    expect(run.rows[0]["completions/clipped_ratio"]).toBeGreaterThan(0.2);
    expect(trainedAnswers(run)).toBe(16);
  });

  test("mask: out of the loss, and still in the mean of their group", async () => {
    const [plain, masked] = [await train(), await train({ truncated_completions: "mask" })];
    const whole = masked.lines.filter(({ stop_reason }) => stop_reason === "eos");
    expect(trainedAnswers(masked)).toBe(whole.length);
    expect(masked.lines.map(({ advantage }) => advantage)).toEqual(plain.lines.map(({ advantage }) => advantage));
  });

  test("penalise: the penalty is off the reward before advantages are taken", async () => {
    const [plain, penalised] = [
      await train(),
      await train({ truncated_completions: "penalise", truncation_penalty: 0.5 }),
    ];
    for (const [i, line] of penalised.lines.entries()) {
      const cut = line.stop_reason === "length";
      expect(line.reward).toBe(plain.lines[i].reward - (cut ? 0.5 : 0));
      expect(line.reward_parts.truncation_penalty).toBe(cut ? -0.5 : 0);
    }
    expect(penalised.lines.map(({ advantage }) => advantage)).not.toEqual(
      plain.lines.map(({ advantage }) => advantage),
    );
    expect(penalised.rows[0].reward).toBeCloseTo(
      plain.rows[0].reward - 0.5 * plain.rows[0]["completions/clipped_ratio"],
      9,
    );
    expect(penalised.rows[0]["rewards/truncation_penalty/mean"]).toBeLessThan(0);
  });
});

describe("dynamic sampling", () => {
  const few: RunConfigInput = { num_generations: 2, prompts_per_step: 8 };

  test("drops groups of equal rewards and draws further prompts, and says how many", async () => {
    const [plain, dynamic] = [await train(few), await train({ ...few, dynamic_sampling: true })];
    expect(plain.rows[0].frac_reward_zero_std).toBeGreaterThan(0.3);
    expect(plain.rows[0]).not.toHaveProperty("dynamic_sampling/drawn_groups");
    const { "dynamic_sampling/drawn_groups": drawn, "dynamic_sampling/dropped_groups": dropped } = dynamic.rows[0];
    expect(drawn).toBeGreaterThan(8);
    expect(drawn - dropped).toBeLessThanOrEqual(8);
    expect(trainedAnswers(dynamic)).toBe(2 * (drawn - dropped));
    // What was dropped is still shown: it is what the policy does.
    expect(dynamic.lines).toHaveLength(2 * drawn);
    expect(new Set(dynamic.lines.map(({ trajectory_id }) => trajectory_id)).size).toBe(2 * drawn);
    expect(dynamic.rows[0].frac_reward_zero_std).toBeCloseTo(dropped / drawn, 9);
    expect(dynamic.lines.slice(0, 16).map(({ completion_ids }) => completion_ids)).toEqual(
      plain.lines.map(({ completion_ids }) => completion_ids),
    );
  });

  test("draws no more than dynamic_sampling_max extra batches, and shows a step in which nothing could be learnt", async () => {
    const run = guessRun({ reward: () => 0.1 });
    await startTraining(run.context, {
      ...guessConfig,
      model: guessModelFolder(),
      output_dir: run.output,
      max_steps: 1,
      dynamic_sampling: true,
      dynamic_sampling_max: 2,
    });
    const [, row] = comparableMetrics(run.output);
    expect(row).toMatchObject({
      "dynamic_sampling/drawn_groups": 12,
      "dynamic_sampling/dropped_groups": 12,
      frac_reward_zero_std: 1,
      reward: expect.closeTo(0.1, 9),
      grad_norm: 0,
    });
    expect(rolloutLines(run.output, 1)).toHaveLength(48);
  });

  test("goes on in the data where it stopped drawing", async () => {
    const { lines, rows } = await train({ ...few, dynamic_sampling: true, max_steps: 2 });
    expect(new Set(lines.map(({ row_id }) => row_id)).size).toBe(rows[0]["dynamic_sampling/drawn_groups"]);
    expect(rows[1].epoch).toBeGreaterThan(rows[0].epoch);
  });
});

describe("the objective", () => {
  const twice: RunConfigInput = { max_steps: 2, num_iterations: 3, method: "grpo" };
  test.each<[RunConfigInput, string]>([
    [{ epsilon: 0.01 }, "clip_ratio/low_mean"],
    [{ epsilon_high: 0.01 }, "clip_ratio/high_mean"],
    [{ beta: 0.5 }, "loss"],
    [{ entropy_coef: 0.1 }, "loss"],
    [{ loss_type: "seq_mean" }, "grad_norm"],
    [{ loss_type: "const_length" }, "grad_norm"],
    [{ advantage_estimator: "group_mean" }, "advantages/std"],
    [{ advantage_estimator: "rloo" }, "advantages/std"],
    [{ advantage_estimator: "batch_std" }, "advantages/std"],
    [{ num_iterations: 1 }, "ratio_std"],
    [{ num_mini_batches: 2 }, "grad_norm"],
    [{ learning_rate: 0.01 }, "ratio_std"],
    [{ rescore_logprobs: true }, "sampling/rescored"],
    [{ max_grad_norm: 0.001, adam_epsilon: 0.1 }, "ratio_std"],
    [{ weight_decay: 0.9 }, "ratio_mean"],
    [{ max_completion_length: 2 }, "completions/max_length"],
    [{ seed: 7 }, "reward"],
  ])("%j", async (extra, metric) => {
    const [plain, changed] = [await train(twice), await train({ ...twice, ...extra })];
    expect(changed.rows[1][metric]).not.toBe(plain.rows[1][metric]);
  });

  async function requestsOf(extra: RunConfigInput): Promise<SampleRequest[]> {
    const asked: SampleRequest[] = [];
    const toy = toyRun();
    toy.engine.onOpen = (one) => {
      const sample = one.sample.bind(one);
      one.sample = (requests, options) => {
        asked.push(...requests);
        return sample(requests, options);
      };
    };
    const input = { ...toyConfig, model, output_dir: toy.output, max_steps: 1, eval_steps: 0, eval_on_start: false };
    await startTraining(toy.context, { ...input, ...extra });
    return asked;
  }

  test("every prompt of a run is drawn for with a seed of its own, which follows from the run's", async () => {
    const seeds = async (seed: number) => (await requestsOf({ seed, max_steps: 3 })).map((request) => request.seed);
    const first = await seeds(1);
    expect(new Set(first).size).toBe(3 * 4);
    expect(await seeds(1)).toEqual(first);
    expect((await seeds(2)).some((seed) => first.includes(seed))).toBe(false);
  });

  test.each([
    ["top_k", "topK", 2],
    ["top_p", "topP", 0.5],
    ["min_p", "minP", 0.5],
    ["temperature", "temperature", 0.5],
  ] as const)("%s reaches the sampler", async (option, field, value) => {
    const asked = await requestsOf({ [option]: value });
    expect(asked.length).toBeGreaterThan(0);
    for (const request of asked) expect(request[field]).toBe(value);
  });
});

test("what a setting takes away is told when the run begins, once", async () => {
  const notes = async (extra: RunConfigInput) => {
    const toy = toyRun();
    const stop = { ...toyConfig, model, output_dir: toy.output, max_steps: 1, eval_steps: 0, eval_on_start: false };
    await startTraining(toy.context, { ...stop, ...extra });
    return toy.events.flatMap((event) => (event.type === "note" ? [event.message] : []));
  };
  expect(await notes({})).toEqual([]);
  expect(await notes({ num_mini_batches: 1 })).toEqual([expect.stringContaining("the clip bounds never act")]);
  expect(await notes({ num_mini_batches: 1, num_iterations: 2 })).toEqual([]);
  for (const cut of [{ top_p: 0.9 }, { top_k: 5 }, { min_p: 0.1 }]) {
    expect(await notes(cut)).toEqual([expect.stringContaining("no ratio corrects for it")]);
  }
  expect(await notes({ temperature: 0.7 })).toEqual([expect.stringMatching(/temperature 0\.7.*in training too/)]);
});

describe("nothing to learn (A11)", () => {
  test("a group of one is refused, except with a critic", async () => {
    await expect(train({ num_generations: 1 })).rejects.toMatchObject({ code: "bad-config" });
    expect((await train({ method: "ppo", num_generations: 1 })).lines).toHaveLength(4);
  });

  test("a reward that is always the same raises an alarm within two steps", async () => {
    const run = guessRun({ reward: () => 1 });
    await startTraining(run.context, {
      ...guessConfig,
      model: guessModelFolder(),
      output_dir: run.output,
      max_steps: 2,
    });
    const alarms = run.events.flatMap((event) => (event.type === "alarm" ? [event.alarm.name] : []));
    expect(alarms).toContain("constant_reward");
  });
});
