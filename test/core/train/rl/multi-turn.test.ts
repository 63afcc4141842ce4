/** Training on episodes of several turns: which tokens are in the loss, what a trajectory shares, and who leaves a group. */

import { describe, expect, test } from "vitest";
import type { RunConfigInput } from "../../../../core/contract/config.ts";
import { EnvironmentError } from "../../../../core/tasks/task.ts";
import { startTraining } from "../../../../core/train/run.ts";
import { guessConfig, guessModelFolder, guessRun, rolloutLines, type GuessRunOptions } from "../guess-run.ts";
import { comparableMetrics } from "../toy-run.ts";

const model = guessModelFolder();

async function train(extra: RunConfigInput = {}, options: GuessRunOptions = {}) {
  const run = guessRun(options);
  const input = { ...guessConfig, model, output_dir: run.output, eval_steps: 0, eval_on_start: false, ...extra };
  await startTraining(run.context, input);
  return { ...run, rows: comparableMetrics(run.output), model: run.engine.opened[0] };
}

/** Answers in the forward passes with gradients: their tokens and masks. */
function trainedRows({ model: { forwards } }: Awaited<ReturnType<typeof train>>) {
  return forwards
    .filter(({ options }) => options.grad === true)
    .flatMap(({ batch }) => {
      let at = 0;
      return batch.segments.flatMap(({ length, parent }) => {
        const begin = at;
        at += length;
        if (parent === undefined) return [];
        const mask = batch.mask?.subarray(begin, at) ?? new Uint8Array(length);
        return [{ ids: [...batch.tokens.subarray(begin, at)], mask: [...mask] }];
      });
    });
}

describe("rows", () => {
  test("one row for a whole trajectory: what the environment said has no loss", async () => {
    const run = await train({ max_steps: 1, method: "grpo", num_mini_batches: 1 });
    const lines = rolloutLines(run.output, 1);
    const rows = trainedRows(run);
    expect(rows).toHaveLength(16);
    expect(lines.some(({ turns }) => turns?.length === 3)).toBe(true);
    for (const [i, { ids, mask }] of rows.entries()) {
      expect(ids.filter((_, t) => mask[t] === 1)).toEqual(lines[i].completion_ids);
      for (const turn of lines[i].turns?.slice(1) ?? []) {
        expect(turn).toMatchObject({ continues: true });
        expect(turn.prompt_ids).toHaveLength(1);
      }
    }
    expect(rows.flatMap(({ mask }) => mask).some((bit) => bit === 0)).toBe(true);
  });

  test("where the history is rewritten, one row a turn, with the prompt that the model saw (B6)", async () => {
    const run = await train({ max_steps: 1, method: "grpo", num_mini_batches: 1 }, { rewritesHistory: true });
    const lines = rolloutLines(run.output, 1);
    const written = lines.flatMap(({ turns, completion_ids }) =>
      turns === undefined ? [completion_ids] : turns.map((turn) => turn.completion_ids),
    );
    const rows = trainedRows(run);
    expect(rows.map(({ ids }) => ids)).toEqual(written);
    expect(rows.every(({ mask }) => mask.every((bit) => bit === 1))).toBe(true);
    for (const line of lines) {
      for (const [i, turn] of line.turns?.entries() ?? []) {
        expect(turn.continues).toBe(false);
        if (i > 0) expect(turn.prompt_ids.slice(0, 2)).toEqual([12, 0]);
      }
      expect(line.messages?.filter(({ role }) => role === "assistant").length ?? 1).toBe(line.turns?.length ?? 1);
    }
  });

  test("the step is the same whichever way its turns are packed, and GSPO has one ratio for a trajectory", async () => {
    for (const rewritesHistory of [false, true]) {
      const steps = async (micro_batch_tokens: number) =>
        (await train({ max_steps: 3, num_iterations: 2, micro_batch_tokens }, { rewritesHistory })).rows;
      const [whole, small] = [await steps(4096), await steps(6)];
      for (let i = 0; i < 3; i++) {
        for (const name of ["loss", "grad_norm", "ratio_mean", "clip_ratio/region_mean"]) {
          expect(small[i][name], name).toBeCloseTo(whole[i][name], 6);
        }
      }
    }
  });

  test("train_tool_results puts the environment's text into the loss (B13)", async () => {
    const without = await train({ max_steps: 1, num_mini_batches: 1 });
    const withThem = await train({ max_steps: 1, num_mini_batches: 1, train_tool_results: true });
    const masked = (run: typeof without) =>
      trainedRows(run)
        .flatMap(({ mask }) => mask)
        .filter((bit) => bit === 0).length;
    expect(masked(without)).toBeGreaterThan(5);
    expect(masked(withThem)).toBe(0);
    // They were not drawn, so their log-probs before the update come from the training pass.
    expect(withThem.rows[0]["sampling/rescored"]).toBe(1);
    expect(Number.isFinite(withThem.rows[0].loss)).toBe(true);
    expect(withThem.rows[0].grad_norm).not.toBe(without.rows[0].grad_norm);
    expect(withThem.rows[0].ratio_mean).toBeCloseTo(1, 5);
  });

  test("it learns: fewer turns, more found", async () => {
    for (const method of ["gspo", "grpo", "ppo"] as const) {
      const { rows } = await train({
        method,
        max_steps: 60,
        prompts_per_step: 9,
        num_generations: 8,
        learning_rate: 0.1,
        ...(method === "ppo" && { critic_learning_rate: 0.1, critic_warmup_steps: 5 }),
      });
      const mean = (name: string, from: number, to: number) =>
        rows.slice(from, to).reduce((sum, row) => sum + row[name], 0) / (to - from);
      expect(mean("reward", 50, 60), method).toBeGreaterThan(mean("reward", 0, 5) + 0.25);
      expect(mean("outcomes/found", 50, 60), method).toBeGreaterThan(mean("outcomes/found", 0, 5) + 0.15);
    }
  });
});

describe("limits and faults", () => {
  test("a full context keeps its place in the group (B12)", async () => {
    const { rows, output } = await train({ max_steps: 1, max_length: 6, max_turns: 9 });
    expect(rows[0]["stop_reason/context_full"]).toBeGreaterThan(0.1);
    expect(rows[0]["completions/clipped_ratio"]).toBeGreaterThan(0.1);
    expect(rows[0]["skipped_rows/invalid"]).toBe(0);
    expect(rolloutLines(output, 1)).toHaveLength(16);
  });

  test("turns: max_turns instead of the task's own", async () => {
    const { rows, output } = await train({ max_steps: 1, max_turns: 2 });
    expect(rows[0]["turns/max"]).toBe(2);
    expect(rows[0]["stop_reason/max_turns"]).toBeGreaterThan(0.1);
    expect(rolloutLines(output, 1).some(({ stop_reason }) => stop_reason === "max_turns")).toBe(true);
  });

  test("invalid episodes leave their group before its mean, and are counted; the rest is trained", async () => {
    let failed = 0;
    const { rows, output, events } = await train(
      { max_steps: 1, num_mini_batches: 1 },
      {
        beforeStep() {
          failed += 1;
          if (failed <= 3) throw new EnvironmentError("the desk is away");
        },
      },
    );
    expect(rows[0]["skipped_rows/invalid"]).toBe(3);
    const lines = rolloutLines(output, 1);
    expect(lines).toHaveLength(13);
    for (const group of Map.groupBy(lines, ({ prompt_index }) => prompt_index).values()) {
      const sum = group.reduce((total, { advantage }) => total + advantage, 0);
      expect(sum).toBeCloseTo(0, 9);
    }
    expect(events).toContainEqual({
      type: "note",
      message: expect.stringMatching(/step 1.*3 of 16.*the desk is away/),
    });
  });

  test("an environment that hangs is invalid after episode_seconds", async () => {
    const { rows } = await train(
      { max_steps: 1, episode_seconds: 0.02 },
      { beforeStep: ({ secret }) => (secret > 5 ? new Promise(() => undefined) : undefined) },
    );
    expect(rows[0]["skipped_rows/invalid"]).toBeGreaterThan(0);
  });

  test("when every episode is invalid the run ends and says why", async () => {
    const away = () => {
      throw new EnvironmentError("the desk is away");
    };
    await expect(train({}, { beforeStep: away })).rejects.toMatchObject({
      code: "no-valid-episode",
      message: expect.stringContaining("the desk is away"),
    });
  });

  test("a reward that is no number stops the run, or drops its sample", async () => {
    const reward = ({ secret }: { secret: number }, turn: number) => (secret % 2 === 0 && turn === 2 ? NaN : turn);
    await expect(train({}, { reward })).rejects.toMatchObject({
      code: "bad-reward",
      message: expect.stringMatching(/task guess, row g\d, sample \d, turn 2: the reward is NaN/),
    });
    const { rows } = await train({ max_steps: 2, invalid_rewards: "drop" }, { reward });
    expect(rows[0]["skipped_rows/invalid"] + rows[1]["skipped_rows/invalid"]).toBeGreaterThan(0);
    expect(rows[1].reward).toBeGreaterThan(0);
  });
});

describe("metrics", () => {
  test("turns, calls, reasons", async () => {
    const { rows, output } = await train({ max_steps: 1 });
    const lines = rolloutLines(output, 1);
    const turns = lines.map((line) => line.turns?.length ?? 1);
    const share = (reason: string) => lines.filter(({ stop_reason }) => stop_reason === reason).length / lines.length;
    expect(rows[0]).toMatchObject({
      "turns/mean": turns.reduce((sum, n) => sum + n, 0) / 16,
      "turns/max": Math.max(...turns),
      "stop_reason/terminal": share("terminal"),
      "stop_reason/max_turns": share("max_turns"),
      "completions/mean_length": lines.reduce((sum, { completion_ids }) => sum + completion_ids.length, 0) / 16,
      "tools/failure_frequency": 0,
    });
    expect(rows[0]["tools/call_frequency"]).toBeGreaterThan(1);
    expect(rows[0]["tools/call_frequency"]).toBeLessThanOrEqual(rows[0]["turns/mean"]);
    for (const { turns: several } of lines) {
      for (const turn of several?.slice(0, -1) ?? []) expect(turn.stop_reason).toBe("tool_call");
    }
  });
});
