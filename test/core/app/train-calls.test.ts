/** The calls about training and measuring, on the starter, through the app as a window reaches it. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createApp, type App } from "../../../core/app/service/app.ts";
import type { CallInput, CallName, CallResult } from "../../../core/contract/api/api.ts";
import type { RunConfigInput } from "../../../core/contract/config.ts";

let home: string;
let app: App;
const config: RunConfigInput = {
  model: "starter",
  task: "tic-tac-toe",
  max_steps: 2,
  prompts_per_step: 2,
  num_generations: 4,
  eval_steps: 0,
  eval_on_start: false,
};

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "hone-train-calls-"));
  vi.stubEnv("HONE_HOME", home);
  app = createApp("browser");
});

afterAll(async () => {
  await app.close();
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

function call<Name extends CallName>(name: Name, input: CallInput<Name>): Promise<CallResult<Name>> {
  return app.call(name, input, new AbortController().signal) as Promise<CallResult<Name>>;
}

async function done(job: string) {
  const ended = await call("jobs.wait", { id: job });
  expect(ended.error).toBeNull();
  return ended;
}

test("an estimate has the memory at once, and the time from the last run that was alike", async () => {
  const before = await call("train.estimate", { config });
  expect(before.steps).toBe(2);
  expect(before.memory?.total).toBeGreaterThan(50e6);
  expect(before.memory?.verdict).toBe("fits");
  expect(before.disk?.total).toBeGreaterThan(1e6);
  expect(before.seconds).toBeNull();

  const { run } = await done((await call("train.start", { config })).job);
  const { metrics } = await call("runs.read", { run: run ?? "" });
  const mean = metrics.reduce((sum, row) => sum + row["step_time"], 0) / metrics.length;
  const after = await call("train.estimate", { config: { ...config, prompts_per_step: 4, max_steps: 10 } });
  expect(after.seconds?.run).toBe(run);
  // Twice the answers, twice the time.
  expect(after.seconds?.per_step).toBeCloseTo(2 * mean, 9);
  expect(after.seconds?.total).toBeCloseTo(20 * mean, 8);
  expect((await call("train.estimate", { config: { ...config, method: "grpo" } })).seconds).toBeNull();

  const { answers, prompts } = await call("train.answers", { run: run ?? "", step: 1 });
  expect(prompts).toBe(2);
  expect(answers.map(({ prompt_index, sample_index }) => [prompt_index, sample_index])).toEqual([
    [0, 0],
    [1, 0],
  ]);
  for (const { tokens, completion } of answers) {
    const text = tokens.map((token) => token.text).join("");
    expect(text.startsWith(completion.trim().slice(0, 8))).toBe(true);
    for (const { logprob } of tokens) expect(logprob).toBeLessThanOrEqual(0);
  }
  const group = await call("train.answers", { run: run ?? "", step: 2, prompt: 1 });
  expect(group.answers.map((line) => line.prompt_index)).toEqual([1, 1, 1, 1]);
  await expect(call("train.answers", { run: run ?? "", step: 3 })).rejects.toThrow("no answers of step 3");
});

test("an estimate of epochs counts the task's rows", async () => {
  const { steps } = await call("train.estimate", {
    config: { ...config, max_steps: null, num_train_epochs: 1, prompts_per_step: 32 },
  });
  const { rows } = await call("tasks.read", { task: "tic-tac-toe" });
  expect(steps).toBe(Math.round(rows.train / 32));
});

test("a wrong configuration is refused in words", async () => {
  await expect(call("train.estimate", { config: { ...config, num_generations: 1 } })).rejects.toThrow(
    "with num_generations 1 every advantage is 0",
  );
  await expect(call("train.estimate", { config: { ...config, model: "no-such" } })).rejects.toThrow("no-such");
});

test("a measurement can be cancelled", async () => {
  const abort = new AbortController();
  const measured = app.call("train.measure", { config: { ...config, prompts_per_step: 64 } }, abort.signal);
  setTimeout(() => abort.abort(), 100);
  await expect(measured).rejects.toThrow();
});

test("a configuration is written to a file and read again, with other tools' names", async () => {
  const path = join(home, "train.json");
  await call("train.write_config", { path, config });
  expect(await call("train.read_config", { path })).toEqual(config);
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), lr: 0.001 }));
  expect(await call("train.read_config", { path })).toEqual({ ...config, learning_rate: 0.001 });
  writeFileSync(path, '{"learnig_rate": 1}');
  await expect(call("train.read_config", { path })).rejects.toThrow('there is no option "learnig_rate"');
  writeFileSync(path, "{");
  await expect(call("train.read_config", { path })).rejects.toThrow(path);
  await expect(call("train.write_config", { path: "x.json", config })).rejects.toThrow("which folder");
  await expect(call("train.write_config", { path: join(home, "no", "such", "x.json"), config })).rejects.toThrow();
});

test("measurements are kept, listed, compared and deleted", async () => {
  const asked = { model: "starter", task: "tic-tac-toe", limit: 16, games: 0, greedy: false } as const;
  const ids: string[] = [];
  for (const _ of [1, 2]) {
    const { result } = await done((await call("train.evaluate", asked)).job);
    ids.push((result as { id: string }).id);
  }
  const { evaluations } = await call("evaluations.list", { model: "starter" });
  expect(evaluations.map(({ id }) => id)).toEqual([...ids].reverse());
  expect((await call("evaluations.list", { model: "another" })).evaluations).toEqual([]);
  const { report } = await call("evaluations.read", { id: ids[0] });
  expect(report.rows).toBeGreaterThan(0);
  // The same seed gives the same answers.
  const change = await call("evaluations.compare", { before: ids[0], after: ids[1] });
  expect(change?.reward?.mean).toBe(0);
  writeFileSync(join(home, "evaluations", "broken.json"), "{");
  expect((await call("evaluations.list", {})).evaluations).toHaveLength(2);
  await call("evaluations.delete", { id: ids[0] });
  await expect(call("evaluations.read", { id: ids[0] })).rejects.toThrow("there is no stored evaluation");
  await expect(call("evaluations.read", { id: "../settings" })).rejects.toThrow("there is no stored evaluation");
});

test("a run that cannot be saved says so before it begins", async () => {
  const { job } = await call("train.start", { config: { ...config, save_total_limit: 1_000_000 } });
  const { state, error } = await call("jobs.wait", { id: job });
  expect(state).toBe("failed");
  expect(error?.message).toMatch(/this run.*free/);
});

test("a run that is stopped at once goes on from its last checkpoint", async () => {
  const { job } = await call("train.start", { config: { ...config, max_steps: 14, save_steps: 2 } });
  const name = await new Promise<string>((resolve) => {
    const timer = setInterval(() => {
      void call("jobs.list", {}).then((jobs) => {
        const found = jobs.find(({ id }) => id === job);
        if (found?.run == null || (found.progress?.done ?? 0) < 3) return;
        clearInterval(timer);
        resolve(found.run);
      });
    }, 30);
  });
  await call("jobs.stop", { id: job, save: false });
  expect((await call("jobs.wait", { id: job })).state).toBe("stopped");
  const stopped = await call("runs.read", { run: name });
  expect(stopped.state).toBe("unfinished");
  const last = stopped.checkpoints.at(-1) ?? 0;
  expect(last).toBeGreaterThanOrEqual(2);
  const resumed = await done((await call("train.resume", { run: name, max_steps: null })).job);
  expect(resumed.state).toBe("done");
  const whole = await call("runs.read", { run: name });
  expect(whole.metrics.map(({ step }) => step)).toEqual(Array.from({ length: 14 }, (_, i) => i + 1));
  expect(whole.seams.map(({ step }) => step)).toEqual([last]);
});
