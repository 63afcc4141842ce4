/** A disk that really is full, as far as this machine lets a test make one. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Session } from "../../../core/app/session.ts";
import { resumeRun, trainModel } from "../../../core/app/train-model.ts";
import { comparableMetrics } from "./toy-run.ts";
import { tinyModel } from "./tiny-model.ts";

const disk = mkdtempSync(join(tmpdir(), "hone-disk-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=16m", "tmpfs", disk]).status === 0;

if (!mounted) writeSync(2, "skipped: a disk that is really full (no right to mount one here)\n");

afterAll(() => {
  if (mounted) spawnSync("umount", [disk]);
});

describe.skipIf(!mounted)("a small disk of its own (D4)", () => {
  let model: string;
  beforeAll(async () => {
    model = await tinyModel();
  });

  test("full in the middle of a run: a clear error, then the run goes on as if it had not been", async () => {
    const session = await Session.open();
    const signal = new AbortController().signal;
    const input = {
      model,
      task: "tic-tac-toe",
      finetuning_type: "full" as const,
      prompts_per_step: 4,
      num_generations: 4,
      max_completion_length: 32,
      max_steps: 8,
      eval_steps: 0,
      eval_on_start: false,
      save_steps: 1,
      save_total_limit: 1,
      threads: 2,
    };
    const whole = mkdtempSync(join(tmpdir(), "hone-whole-"));
    await trainModel(session, { ...input, output_dir: whole }, { command: [], listen: () => undefined, signal });

    const output_dir = join(disk, "run");
    const filler = join(disk, "filler");
    const failing = trainModel(
      session,
      { ...input, output_dir },
      {
        command: [],
        signal,
        listen: (event) => {
          if (event.type !== "step" || event.row.step !== 3) return;
          const { bavail, bsize } = statfsSync(disk);
          writeFileSync(filler, Buffer.alloc(bavail * bsize - 200_000));
        },
      },
    );
    await expect(failing).rejects.toMatchObject({ code: "disk-full", fix: expect.stringContaining("hone resume") });
    rmSync(filler);
    const kept = readdirSync(join(output_dir, "checkpoints"));
    expect(kept.filter((name) => /^checkpoint-\d+$/.test(name)).length).toBeGreaterThanOrEqual(1);
    await resumeRun(session, output_dir, {}, { command: [], listen: () => undefined, signal });
    expect(comparableMetrics(output_dir)).toEqual(comparableMetrics(whole));
  });

  test("too small from the beginning: refused with both numbers, and nothing is written", async () => {
    const session = await Session.open();
    const output_dir = join(disk, "never");
    const training = trainModel(
      session,
      { model, task: "tic-tac-toe", output_dir, save_total_limit: 50, max_completion_length: 32 },
      { command: [], listen: () => undefined, signal: new AbortController().signal },
    );
    await expect(training).rejects.toMatchObject({
      code: "disk-space",
      message: expect.stringMatching(/MB.*MB are free/),
    });
    expect(readdirSync(disk)).not.toContain("never");
  });
});
