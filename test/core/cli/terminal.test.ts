import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { textTable } from "../../../core/contract/text-table.ts";
import {
  formatBytes,
  formatCount,
  formatSeconds,
  parseBytes,
  plural,
  shellWord,
} from "../../../core/contract/units.ts";
import type { TrainEvent } from "../../../core/train/events.ts";
import { commaList, normalizeFlags, readConfigFlags } from "../../../core/cli/config-flags.ts";
import { asTyped, sparkline } from "../../../core/cli/terminal.ts";
import { cutVisible, TrainProgress } from "../../../core/cli/train-progress.ts";
import { TimeLeft } from "../../../core/train/clock.ts";

test("quantities in words", () => {
  expect([0, 999, 1500, 2.5e9].map(formatBytes)).toEqual(["0 B", "999 B", "1.5 kB", "2.5 GB"]);
  expect([0.04, 8, 59.4, 200, 3599.6, 7500].map(formatSeconds)).toEqual([
    "0 s",
    "8 s",
    "59 s",
    "3 min 20 s",
    "1 h 00 min",
    "2 h 05 min",
  ]);
  expect(formatCount(1234567.4)).toBe("1,234,567");
  expect([plural(1, "step"), plural(2000, "step"), plural(0, "answer")]).toEqual([
    "1 step",
    "2,000 steps",
    "0 answers",
  ]);
});

test("amounts of memory as people write them", () => {
  expect(["4000000000", "4GB", "4 gb", "4G", "1.5 GiB", "512MiB", "12b"].map(parseBytes)).toEqual([
    4e9,
    4e9,
    4e9,
    4e9,
    1.5 * 2 ** 30,
    512 * 2 ** 20,
    12,
  ]);
  expect(["", "GB", "4XB", "-1", "4 GB free"].map(parseBytes)).toEqual(Array(5).fill(undefined));
});

test("a path is quoted where a shell would take it apart", () => {
  expect(["/home/me/runs/one-1", "C:/x", "/home/möbius/字"].map(shellWord)).toEqual([
    "/home/me/runs/one-1",
    "C:/x",
    "/home/möbius/字",
  ]);
  expect(shellWord("/my runs/it's")).toBe("'/my runs/it'\\''s'");
});

test("commands are told as they have to be typed", () => {
  vi.stubEnv("npm_lifecycle_event", "demo");
  expect(asTyped("go on with `hone resume x`")).toBe("go on with `npm run -s hone -- resume x`");
  vi.stubEnv("npm_lifecycle_event", undefined);
  expect(asTyped("go on with `hone resume x`")).toBe("go on with `hone resume x`");
  vi.unstubAllEnvs();
});

test("tables: labels left, values right", () => {
  expect(
    textTable([
      ["", "before", "after"],
      ["reward", "-0.5", "0.75"],
    ]),
  ).toBe("        before  after\nreward    -0.5   0.75");
});

test("a sparkline spans its values and never grows beyond its width", () => {
  expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8)).toBe("▁▂▃▄▅▆▇█");
  expect(sparkline([1, 1, 1], 8)).toBe("▄▄▄");
  expect(
    sparkline(
      Array.from({ length: 1000 }, (_, i) => i),
      24,
    ),
  ).toHaveLength(24);
  expect(sparkline([], 8)).toBe("");
});

test("lines are cut by what is seen, colours kept", () => {
  expect(cutVisible("\u001b[36mabcdef\u001b[0mgh", 4)).toBe("\u001b[36mabcd\u001b[0m");
});

test("flags may be written with underscores, values may not change", () => {
  expect(normalizeFlags(["--learning_rate", "a_b", "--output_dir=my_run", "--", "--x_y"])).toEqual([
    "--learning-rate",
    "a_b",
    "--output-dir=my_run",
    "--",
    "--x_y",
  ]);
});

test("flags become typed options", () => {
  const flags = {
    learningRate: "1e-5",
    logCompletions: "false",
    decayAll: true,
    loraTargetModules: commaList("v_proj, o_proj", commaList("q_proj")),
    method: "grpo",
    maxSteps: "1_000",
    lr: "0.1",
    epsilon: "wide",
  };
  expect(readConfigFlags(flags)).toEqual({
    learning_rate: 1e-5,
    log_completions: false,
    decay_all: true,
    lora_target_modules: ["q_proj", "v_proj", "o_proj"],
    method: "grpo",
    max_steps: 1000,
    lr: 0.1,
    epsilon: "wide",
  });
});

test("time left counts steps and evaluations, judged from the latest", () => {
  const left = new TimeLeft();
  expect(left.estimate(10, 1)).toBeUndefined();
  left.addStep(100);
  for (let i = 0; i < 20; i++) left.addStep(2);
  expect(left.estimate(10, 3)).toBe(20);
  left.addEvaluation(5);
  expect(left.estimate(10, 3)).toBe(35);
});

describe("progress of a run", () => {
  let out = "";
  beforeEach(() => {
    out = "";
    vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      out += String(text);
      return true;
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const step = (n: number): TrainEvent => ({
    type: "step",
    totalSteps: 400,
    secondsLeft: 400 - n,
    row: {
      step: n,
      time: n,
      reward: n / 400,
      "completions/mean_length": 20,
      "outcomes/legal": 0.5,
      entropy: 1,
      tokens_per_second: 5000,
    },
  });

  test("plain: about forty lines, remarks and alarms in full", () => {
    const progress = new TrainProgress(false);
    for (let n = 1; n <= 400; n++) progress.listen(step(n));
    progress.listen({
      type: "alarm",
      alarm: { name: "no_signal", kind: "alarm", step: 400, message: "nothing learnt", action: "look" },
    });
    progress.end();
    const lines = out.trimEnd().split("\n");
    expect(lines.length).toBeLessThan(50);
    expect(lines[0]).toBe(
      "step 1/400  reward 0.003  length 20.0  legal moves 50 %  entropy 1.000  5,000 tok/s  6 min 39 s left",
    );
    expect(lines.at(-2)).toBe("! step 400: nothing learnt");
    expect(lines.at(-1)).toBe("  → look");
    expect(out).not.toContain("\u001b");
  });

  test("live: one panel that is redrawn in place, with a sparkline", () => {
    const progress = new TrainProgress(true);
    for (let n = 1; n <= 100; n++) progress.listen(step(n));
    const panel = out.slice(out.lastIndexOf("\u001b[J") + 3);
    expect(panel).toContain("step 100/400");
    expect(panel).toMatch(/reward +0\.250 +▁.*█/);
    expect(panel.split("\n").length).toBeLessThan(10);
    const moves = [...out.matchAll(/\u001b\[(\d+)A/g)].map(([, lines]) => Number(lines));
    expect(moves).toHaveLength(99);
    expect(new Set(moves).size).toBe(1);
  });

  test("the bar tells done from left without colours", () => {
    vi.stubEnv("NO_COLOR", "1");
    try {
      const progress = new TrainProgress(true);
      progress.listen(step(100));
      expect(out).toContain(`step 100/400  ${"━".repeat(7)}${"─".repeat(21)}  25 %`);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test("SFT and DPO show their own quantities, and their own evaluations", () => {
    const run = (method: "sft" | "dpo", metric: string, rows: Record<string, number>[]) => {
      out = "";
      const progress = new TrainProgress(false);
      const better = metric === "eval_loss" ? "lower" : "higher";
      progress.listen({ type: "begin", run: "runs/a", method, totalSteps: 1, best: { metric, better } });
      rows.forEach((metrics, step) => progress.listen({ type: "evaluation", step, metrics, best: step > 0 }));
      const row = {
        step: 1,
        time: 1,
        loss: 0.5,
        mean_token_accuracy: 0.75,
        "rewards/margins": 0.25,
        tokens_per_second: 1,
      };
      progress.listen({ type: "step", totalSteps: 1, secondsLeft: undefined, row });
      return out;
    };
    expect(run("sft", "eval_loss", [{ eval_loss: 2 }, { eval_loss: 1.5 }, { eval_loss: 1.75 }])).toBe(
      [
        "validation loss 2.000 at step 0",
        "validation loss 1.500 at step 1, the best so far",
        "validation loss 1.750 at step 2",
        "step 1/1  loss 0.500  next token right 75 %  1 tok/s\n",
      ].join("\n"),
    );
    const metric = "eval_rewards/accuracies";
    expect(run("dpo", metric, [{ [metric]: 0.5, eval_reward: 0.25 }])).toBe(
      [
        "validation pairs moved right 50 %, validation reward 0.250 at step 0",
        "step 1/1  loss 0.500  margin 0.250  1 tok/s\n",
      ].join("\n"),
    );
  });

  test("a task without a legal rate has no line for it", () => {
    const progress = new TrainProgress(false);
    progress.listen({
      type: "step",
      totalSteps: 1,
      secondsLeft: undefined,
      row: { step: 1, time: 1, reward: 0, tokens_per_second: 1 },
    });
    expect(out).toBe("step 1/1  reward 0.000  1 tok/s\n");
  });
});
