/** SIGKILL and Ctrl-C at random moments: a run can always be taken up again, and ends as if nothing had happened. */

import { existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { Random } from "../../../core/contract/random.ts";
import { sha256File } from "../../../core/files/manifest.ts";
import { readJsonLines } from "../../../core/files/jsonl.ts";
import {
  checkpointFolder,
  listCheckpoints,
  newestIntactCheckpoint,
} from "../../../core/train/run-folder/checkpoints.ts";
import { RunFolder } from "../../../core/train/run-folder/run-folder.ts";
import { comparableMetrics } from "../train/toy-run.ts";
import { tinyModel } from "../train/tiny-model.ts";
import { hone, newHome, start } from "./hone.ts";

const steps = 60;
const saveSteps = 2;

let model: string;

beforeAll(async () => {
  model = await tinyModel();
});

function trainArgs(output: string): string[] {
  return [
    ...["train", "--model", model, "--task", "tic-tac-toe", "--finetuning-type", "full", "--output-dir", output],
    ...["--max-steps", String(steps), "--save-steps", String(saveSteps), "--save-total-limit", "2"],
    ...["--learning-rate", "1e-3", "--prompts-per-step", "4", "--num-generations", "4", "--threads", "2"],
    ...["--max-completion-length", "32", "--eval-steps", "7", "--eval-size", "8"],
  ];
}

function newOutput(): string {
  return join(mkdtempSync(join(tmpdir(), "hone-kill-")), "run");
}

/** What must hold whenever a run was killed. Returns the step it can go on from. */
async function checkKilled(output: string): Promise<number> {
  const folder = RunFolder.open(output);
  folder.readConfig();
  const done = folder.readMetrics().map(({ step }) => step);
  expect(done).toEqual([...new Set(done)].sort((a, b) => a - b));
  const { step, damaged } = await newestIntactCheckpoint(output);
  expect(damaged).toEqual([]);
  const last = done.at(-1) ?? 0;
  // Lost at most: the step that was running, and what came after the last checkpoint that was due.
  expect(step ?? 0).toBeGreaterThanOrEqual(Math.floor(Math.max(0, last - 1) / saveSteps) * saveSteps);
  return step ?? 0;
}

test(
  "killed at 24 random moments, the run ends as an unbroken one does, bit for bit",
  { timeout: 240_000 },
  async () => {
    const whole = newOutput();
    const home = newHome();
    expect(await hone(trainArgs(whole), { home })).toMatchObject({ code: 0 });

    // Moments are spread over about two steps; fewer when a run gets through, however fast this machine is.
    const rows = new RunFolder(whole).readMetrics().slice(1);
    let spread = (2000 * ((rows.at(-1)?.time ?? 0) - rows[0].time)) / (rows.length - 1);
    const random = new Random("kill moments");
    const isWhole = async (output: string) => {
      expect(comparableMetrics(output)).toEqual(comparableMetrics(whole));
      const weights = (run: string) => sha256File(join(checkpointFolder(run, steps), "model.safetensors"));
      expect(await weights(output)).toBe(await weights(whole));
      expect(readdirSync(join(output, "checkpoints")).filter((name) => name.includes("partial"))).toEqual([]);
      expect(readdirSync(join(output, "rollouts"))).toHaveLength(steps);
    };

    let output = newOutput();
    let furthest = 0;
    for (let kills = 0; kills < 24;) {
      const args = existsSync(output) ? ["resume", output] : trainArgs(output);
      const running = start(args, { home });
      // From the very beginning of the process on, or from the first step on.
      const early = random.next() < 0.2;
      if (!early) await running.says(/step \d+\/60|going on after/);
      await new Promise((resolve) => setTimeout(resolve, random.next() * (early ? 600 : spread)));
      running.child.kill("SIGKILL");
      const { signal, code, stderr } = await running.finished;
      if (signal !== "SIGKILL") {
        expect(code, stderr).toBe(0);
        await isWhole(output);
        output = newOutput();
        furthest = 0;
        spread /= 2;
        continue;
      }
      kills += 1;
      if (!existsSync(output)) continue;
      const step = await checkKilled(output);
      expect(step).toBeGreaterThanOrEqual(furthest);
      furthest = step;
      if (step === steps) {
        output = newOutput();
        furthest = 0;
      }
    }
    const last = await hone(existsSync(output) ? ["resume", output] : trainArgs(output), { home });
    expect(last.code, last.stderr).toBe(0);
    await isWhole(output);
  },
);

test.each(["SIGINT", "SIGTERM"] as const)(
  "%s saves the last step and ends with 130; resume goes on from there",
  async (signal) => {
    const output = newOutput();
    const running = start(trainArgs(output).map((arg, i, all) => (all[i - 1] === "--save-steps" ? "1000" : arg)));
    await running.says(/step \d+\/60/);
    running.child.kill(signal);
    const { code, stderr, stdout } = await running.finished;
    expect(code).toBe(130);
    expect(stdout).toBe("");
    const done = RunFolder.open(output).readMetrics().at(-1)?.step ?? 0;
    expect(await listCheckpoints(output)).toContain(done);
    expect(stderr).toContain(`stopped after step ${done}; go on with \`hone resume ${output}\``);
    const resumed = await hone(["train", "--resume", output, "--json"]);
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ finished: true, steps });
    const seams = readJsonLines(join(output, "metrics.jsonl")).rows.filter((row) =>
      Object.hasOwn(row as object, "event"),
    );
    expect(seams).toEqual([expect.objectContaining({ event: "resume", step: done, dropped_steps: [] })]);
  },
);
