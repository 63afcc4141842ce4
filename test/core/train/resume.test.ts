/** Stopped, killed, damaged, full: a run goes on as if nothing had happened, on a tabular model. */

import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readJsonLines } from "../../../core/files/jsonl.ts";
import { checkpointFolder, listCheckpoints, readTrainerState } from "../../../core/train/run-folder/checkpoints.ts";
import { resumeTraining, startTraining } from "../../../core/train/run.ts";
import { comparableMetrics, toyConfig, toyModelFolder, toyRun } from "./toy-run.ts";

const model = toyModelFolder();
const config = { ...toyConfig, model };

async function unbroken(extra: object = {}) {
  const toy = toyRun();
  await startTraining(toy.context, { ...config, output_dir: toy.output, ...extra });
  return toy.output;
}

describe("resume (D2)", () => {
  test.each([
    {},
    { finetuning_type: "lora" },
    { beta: 0.01 },
    { lr_scheduler_type: "cosine" },
    { dynamic_sampling: true },
    // Stopped with the critic warmed up, and before that.
    { method: "ppo", critic_warmup_steps: 3, critic_learning_rate: 0.05 },
    { method: "ppo", critic_warmup_steps: 8, critic_learning_rate: 0.05, finetuning_type: "lora" },
  ] as const)("stopped while sampling, the run goes on as if it had not been: %j", async (extra) => {
    const whole = await unbroken(extra);
    const toy = toyRun((event, { abort }) => {
      if (event.type === "phase" && event.phase === "sampling" && event.step === 6) abort.abort();
    });
    const stopped = await startTraining(toy.context, { ...config, output_dir: toy.output, ...extra });
    expect(stopped).toMatchObject({ finished: false, state: { step: 5 } });
    expect(await listCheckpoints(toy.output)).toContain(5);
    const again = toyRun();
    const { finished } = await resumeTraining(again.context, toy.output);
    expect(finished).toBe(true);
    expect(comparableMetrics(toy.output)).toEqual(comparableMetrics(whole));
    expect(readFileSync(join(checkpointFolder(toy.output, 10), "optimizer.safetensors"), "utf8")).toBe(
      readFileSync(join(checkpointFolder(whole, 10), "optimizer.safetensors"), "utf8"),
    );
    const seams = readJsonLines(join(toy.output, "metrics.jsonl")).rows.filter(
      (row) => (row as { event?: string }).event === "resume",
    );
    expect(seams).toEqual([expect.objectContaining({ step: 5, dropped_steps: [] })]);
  });

  test("stopped during an evaluation, the evaluation is done on resume and no step is lost", async () => {
    const whole = await unbroken();
    const toy = toyRun((event, { abort }) => {
      if (event.type === "phase" && event.phase === "evaluating" && event.step === 8) abort.abort();
    });
    const stopped = await startTraining(toy.context, { ...config, output_dir: toy.output });
    expect(stopped.state).toMatchObject({ step: 8, pending: { step: 8 } });
    await resumeTraining(toyRun().context, toy.output);
    expect(comparableMetrics(toy.output)).toEqual(comparableMetrics(whole));
  });

  test("stopped during the last evaluation, the run is not finished", async () => {
    const toy = toyRun((event, { abort }) => {
      if (event.type === "phase" && event.phase === "evaluating" && event.step === 10) abort.abort();
    });
    expect(await startTraining(toy.context, { ...config, output_dir: toy.output })).toMatchObject({ finished: false });
    expect(await resumeTraining(toyRun().context, toy.output)).toMatchObject({ finished: true, state: { step: 10 } });
  });

  test("a crash after the last checkpoint costs the steps since, which are done again (D7)", async () => {
    const whole = await unbroken();
    const toy = toyRun();
    const crashing = startTraining(
      {
        ...toy.context,
        listen: (event) => {
          if (event.type !== "step" || event.row.step !== 5) return;
          // What a kill leaves: an optimizer step half done, so that nothing can be saved.
          toy.engine.opened[0].before.optimStep = () => {
            throw new Error("killed");
          };
        },
      },
      { ...config, output_dir: toy.output },
    );
    await expect(crashing).rejects.toThrow("killed");
    expect(await listCheckpoints(toy.output)).not.toContain(5);
    const again = toyRun();
    await resumeTraining(again.context, toy.output);
    expect(comparableMetrics(toy.output)).toEqual(comparableMetrics(whole));
    expect(comparableMetrics(toy.output).map(({ step }) => step)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(readJsonLines(join(toy.output, "logs", "dropped-metrics.jsonl")).rows).toHaveLength(1);
    expect(again.events).toContainEqual({ type: "note", message: expect.stringContaining("done again") });
  });

  test("a failure between two steps saves what was learnt", async () => {
    const toy = toyRun();
    const failing = startTraining(
      {
        ...toy.context,
        listen: (event) => {
          if (event.type === "step" && event.row.step === 5) {
            toy.engine.opened[0].before.sample = () => {
              throw new Error("lost the sampler");
            };
          }
        },
      },
      { ...config, output_dir: toy.output },
    );
    await expect(failing).rejects.toThrow("lost the sampler");
    expect(await listCheckpoints(toy.output)).toContain(5);
  });

  test("without any checkpoint the run begins again", async () => {
    const whole = await unbroken();
    const toy = toyRun();
    await expect(
      startTraining(
        {
          ...toy.context,
          listen: (event) => {
            if (event.type === "step") throw new Error("killed");
          },
        },
        { ...config, output_dir: toy.output },
      ),
    ).rejects.toThrow("killed");
    rmSync(join(toy.output, "checkpoints"), { recursive: true });
    await resumeTraining(toyRun().context, toy.output);
    expect(comparableMetrics(toy.output)).toEqual(comparableMetrics(whole));
  });

  test("an incomplete or damaged checkpoint is passed over (D3)", async () => {
    const whole = await unbroken();
    const toy = toyRun((event, { abort }) => {
      if (event.type === "phase" && event.phase === "sampling" && event.step === 10) abort.abort();
    });
    await startTraining(toy.context, { ...config, output_dir: toy.output });
    const newest = checkpointFolder(toy.output, 9);
    const weights = readFileSync(join(newest, "model.safetensors"), "utf8");
    writeFileSync(
      join(newest, "model.safetensors"),
      weights.replace(/\d(?=\]\]\]$)/, (digit) => String(9 - Number(digit))),
    );
    const partial = join(toy.output, "checkpoints", "checkpoint-10.partial-4711");
    mkdirSync(partial);
    const again = toyRun();
    await resumeTraining(again.context, toy.output);
    expect(again.events).toContainEqual({
      type: "note",
      message: expect.stringMatching(/checkpoint 9 is damaged.*model\.safetensors/),
    });
    expect(existsSync(partial)).toBe(false);
    expect(comparableMetrics(toy.output)).toEqual(comparableMetrics(whole));
  });

  test("a finished run can be made longer, without a jump of the learning rate", async () => {
    const output = await unbroken({ lr_scheduler_type: "linear", min_lr: 0.01 });
    await expect(resumeTraining(toyRun().context, output)).rejects.toMatchObject({
      code: "run-finished",
      fix: expect.stringContaining("--max-steps"),
    });
    await resumeTraining(toyRun().context, output, { maxSteps: 13 });
    const rates = comparableMetrics(output).map((row) => row.learning_rate);
    expect(rates).toHaveLength(14);
    for (const rate of rates.slice(11)) expect(rate).toBeCloseTo(0.01, 3);
  });

  test("another process in the folder, and another base model, are refused", async () => {
    const own = toyModelFolder();
    const toy = toyRun((event, { abort }) => {
      if (event.type === "phase" && event.phase === "sampling" && event.step === 3) abort.abort();
    });
    await startTraining(toy.context, { ...config, model: own, finetuning_type: "lora", output_dir: toy.output });
    writeFileSync(
      join(toy.output, "run.lock"),
      JSON.stringify({ pid: 1, host: (await import("node:os")).hostname(), began: null }),
    );
    await expect(resumeTraining(toyRun().context, toy.output)).rejects.toMatchObject({ code: "run-busy" });
    rmSync(join(toy.output, "run.lock"));
    writeFileSync(join(own, "model.safetensors"), '[["1",[1,0,0,0,0,0,0,0,0,0,0,0]]]');
    await expect(resumeTraining(toyRun().context, toy.output)).rejects.toMatchObject({ code: "other-model" });
  });
});

describe("trouble", () => {
  test("a full disk while saving is told as such, and the run goes on from the checkpoint before (D4)", async () => {
    const whole = await unbroken();
    const toy = toyRun();
    const failing = startTraining(
      {
        ...toy.context,
        listen: (event) => {
          if (event.type !== "step" || event.row.step !== 4) return;
          toy.engine.opened[0].before.saveWeights = () => {
            throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
          };
        },
      },
      { ...config, output_dir: toy.output },
    );
    await expect(failing).rejects.toMatchObject({ code: "disk-full", fix: expect.stringContaining("hone resume") });
    expect(readdirSync(join(toy.output, "checkpoints")).filter((name) => name.includes("partial"))).toEqual([]);
    await resumeTraining(toyRun().context, toy.output);
    expect(comparableMetrics(toy.output)).toEqual(comparableMetrics(whole));
  });

  test("a run that cannot fit on the disk is refused before it begins", async () => {
    const toy = toyRun();
    const input = { ...config, output_dir: toy.output, max_steps: 1e9, max_completion_length: 1e6, max_length: 2e6 };
    await expect(startTraining(toy.context, input)).rejects.toMatchObject({ code: "disk-space" });
    expect(existsSync(toy.output)).toBe(false);
  });

  test("steps without a finite gradient are skipped and told; three in a row end the run, with batch and checkpoint (D6)", async () => {
    const toy = toyRun();
    const failing = startTraining(
      {
        ...toy.context,
        listen: (event) => {
          toy.context.listen(event);
          if (event.type !== "step" || event.row.step !== 4) return;
          toy.engine.opened[0].before.optimStep = () => {
            toy.engine.opened[0].gradients.set("1", [NaN]);
          };
        },
      },
      { ...config, output_dir: toy.output, log_completions: false },
    );
    await expect(failing).rejects.toMatchObject({ code: "non-finite" });
    const rows = comparableMetrics(toy.output);
    expect(rows[5]).toMatchObject({ nonfinite_steps: 2 });
    expect(rows[5].grad_norm).toBeUndefined();
    expect(toy.events).toContainEqual({
      type: "alarm",
      alarm: expect.objectContaining({ name: "non_finite", step: 5 }),
    });
    expect(await listCheckpoints(toy.output)).toContain(6);
    expect(readdirSync(join(toy.output, "logs"))).toContain("nonfinite-step_6.jsonl");
    expect(readdirSync(join(toy.output, "rollouts"))).toEqual([]);
  });

  test("a memory limit that training cannot keep is refused with numbers", async () => {
    const toy = toyRun();
    await expect(
      startTraining(toy.context, { ...config, output_dir: toy.output, memory_limit: 40_000 }),
    ).rejects.toMatchObject({
      code: "out-of-memory",
      message: expect.stringMatching(/kB.*kB/),
    });
    expect(toy.engine.opened.every((one) => one.closed)).toBe(true);
  });

  test("a sampler that disagrees with the trainer is seen", async () => {
    const toy = toyRun();
    toy.engine.onOpen = (opened) => (opened.samplerError = 0.05);
    await startTraining(toy.context, { ...config, output_dir: toy.output, max_steps: 4 });
    expect(comparableMetrics(toy.output)[2]["sampling/sampling_logp_difference/mean"]).toBeCloseTo(0.05, 3);
    expect(toy.events).toContainEqual({ type: "alarm", alarm: expect.objectContaining({ name: "sampler_mismatch" }) });
  });

  test("an unknown schedule, task or model is refused before anything is opened (A13)", async () => {
    for (const [extra, code] of [
      [{ lr_scheduler_type: "polynomial" }, "bad-config"],
      [{ task: "chess" }, "unknown-task"],
      [{ model: "/nowhere" }, "no-such-model"],
    ] as const) {
      const toy = toyRun();
      await expect(startTraining(toy.context, { ...config, ...extra } as typeof config)).rejects.toMatchObject({
        code,
      });
      expect(toy.engine.opened).toEqual([]);
    }
  });
});

test("the trainer's state names everything that is needed to go on", async () => {
  const output = await unbroken();
  expect(readTrainerState(checkpointFolder(output, 10))).toMatchObject({
    step: 10,
    global_step: 20,
    data_cursor: { epoch: 0, index: 40, seed: 42 },
    rng: { seed: 42 },
    has_critic: false,
    has_reference: false,
    pending: null,
  });
});
