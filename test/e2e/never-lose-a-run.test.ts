/** Hone is killed in the middle of training, and started again. */

import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RunFolder } from "../../core/train/run-folder/run-folder.ts";
import { startHone, type Hone } from "./hone.ts";
import { callApi, lastStep, startTraining, waitForStep } from "./train-in-app.ts";

let hone: Hone;
beforeAll(async () => {
  hone = await startHone();
});
afterAll(() => hone.close());

test(
  "killed while it trains: the run is there, is told as unfinished, and goes on to its end",
  { timeout: 120_000 },
  async () => {
    const steps = 14;
    const page = await hone.open();
    const run = await startTraining(page, hone.home, "killed", { max_steps: steps, save_steps: 2 });
    await waitForStep(hone.home, run, 5);
    await hone.kill();
    await page.getByText("The connection to Hone was lost").waitFor();
    const killedAt = lastStep(hone.home, run);
    expect(killedAt).toBeLessThan(steps);

    await hone.restart();
    const again = await hone.open("/runs");
    const { runs } = await callApi(again, "runs.list", {});
    expect(runs.map(({ name, state }) => [name, state])).toEqual([[run, "unfinished"]]);
    await again.getByText(run).first().waitFor();
    const { job } = await callApi(again, "train.resume", { run });
    const ended = await callApi(again, "jobs.wait", { id: job });
    expect(ended).toMatchObject({ state: "done", result: { finished: true, step: steps } });
    const seen = RunFolder.open(join(hone.home, "runs", run))
      .readMetrics()
      .map(({ step }) => step);
    // Every step once: what came after the last checkpoint was done again, not kept twice.
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
    expect(seen.at(-1)).toBe(steps);
  },
);
