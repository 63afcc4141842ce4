/** Hone is killed in the middle of training, and started again. */

import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RunFolder } from "../../core/train/run-folder/run-folder.ts";
import { startHone, type Hone } from "./hone.ts";
import { lastStep, startTraining, waitForStep } from "./train-in-app.ts";

let hone: Hone;
beforeAll(async () => {
  hone = await startHone();
});
afterAll(() => hone.close());

test(
  "killed while it trains: the run is offered on the home page, and goes on to its end",
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
    const again = await hone.open("/");
    await again.getByRole("heading", { name: "Go on where you stopped" }).waitFor();
    await again.getByRole("button", { name: "Resume" }).click();
    await again.getByText(`step ${steps} of ${steps}`).waitFor({ timeout: 60_000 });
    await again.getByText("finished").first().waitFor();
    const seen = RunFolder.open(join(hone.home, "runs", run))
      .readMetrics()
      .map(({ step }) => step);
    // Every step once: what came after the last checkpoint was done again, not kept twice.
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
    expect(seen.at(-1)).toBe(steps);
  },
);
