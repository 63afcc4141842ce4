/** The Train page as a person uses it: options with errors, a real run that is watched, paused, resumed and finished. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startHone, type Hone } from "./hone.ts";

let hone: Hone;
beforeAll(async () => {
  hone = await startHone();
});
afterAll(() => hone.close());

const small = "prompts_per_step=8&num_generations=8&eval_size=16&learning_rate=0.0003";

/** An option's input, by its TRL name. */
function option(page: Page, name: string) {
  return page.locator(".mantine-TextInput-root", { has: page.getByText(name, { exact: true }) }).getByRole("textbox");
}

test("presets, the command, and errors where they belong", async () => {
  const page = await hone.open("/train");
  await page.getByRole("radio", { name: "Quick" }).click();
  await page
    .getByText("hone train --model starter --task tic-tac-toe --method gspo --max-steps 100 --save-steps 25")
    .waitFor();
  await page.getByRole("radio", { name: "Balanced" }).click();
  await page.getByText("hone train --model starter --task tic-tac-toe --method gspo", { exact: true }).waitFor();

  // What it takes is there without being asked for.
  const estimate = page.getByRole("region", { name: "What it takes" });
  await estimate.getByText(/Fits: .* are free/).waitFor();

  await page.getByLabel("Advanced").click();
  const start = page.getByRole("button", { name: "Start training" });
  await page.getByLabel("Search options").fill("learning_rate");
  const rate = option(page, "learning_rate");
  await rate.fill("fast");
  await page.getByText("A number is needed here, such as 0.001 or 3e-4").waitFor();
  expect(await start.isDisabled()).toBe(true);
  await rate.fill("0");
  await page.getByText("Above 0", { exact: true }).waitFor();
  await rate.fill("3e-4");
  expect(await start.isEnabled()).toBe(true);
  // 3e-4 is the default here, so nothing has changed.
  await page.getByText("Only changed ones (0)").waitFor();

  await page.getByLabel("Search options").fill("answers per");
  await option(page, "num_generations").fill("1");
  await page
    .getByText("With num_generations 1 every advantage is 0 and nothing can be learnt", { exact: false })
    .waitFor();
  expect(await start.isDisabled()).toBe(true);
  await page.getByRole("button", { name: /^Answers per prompt: back to 8/ }).click();
  expect(await start.isEnabled()).toBe(true);

  // Options of other methods are not there.
  await page.getByLabel("Search options").fill("gamma");
  await page.getByText("0 options").waitFor();
  await page.locator("label", { hasText: "PPO" }).click();
  await option(page, "gamma").waitFor();
  await page.locator("label", { hasText: "GSPO" }).click();
  expect(hone.problems).toEqual([]);
}, 60_000);

test("a run is begun by keyboard, watched, paused, resumed and finished", async () => {
  const page = await hone.open(`/train?max_steps=40&eval_steps=20&save_steps=20&${small}`);
  await page.getByText("--max-steps 40", { exact: false }).waitFor();
  await page.keyboard.press("Control+Enter");
  await page.waitForURL(/job=/);
  const reward = page.getByTestId("chart-reward");
  await reward.locator(".recharts-line-curve").first().waitFor({ timeout: 30_000 });
  await page.getByRole("button", { name: "Pause" }).click();
  const resume = page.getByRole("button", { name: "Resume" });
  await resume.waitFor({ timeout: 30_000 });
  await page.getByText("stopped", { exact: true }).first().waitFor();
  const name = await page.getByRole("heading", { level: 1 }).innerText();
  const lines = () =>
    readFileSync(join(hone.home, "runs", name, "metrics.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { event?: string; step: number });
  const paused = lines().at(-1)?.step ?? 0;
  expect(paused).toBeGreaterThan(0);
  expect(paused).toBeLessThan(40);
  await page.getByText(`step ${paused} of 40`).waitFor();

  await page
    .getByText(/Answers of step \d+/)
    .first()
    .waitFor();
  // Tokens by how likely they were.
  await page.getByTitle(/%/).first().waitFor();

  await resume.click();
  await page.getByText("finished", { exact: true }).first().waitFor({ timeout: 60_000 });
  await page.getByText("step 40 of 40").waitFor();

  // Every step is in the table once, and the seam is marked.
  await page.getByRole("switch", { name: "Reward as a table" }).click();
  const steps = await reward.getByRole("rowheader").allInnerTexts();
  expect(steps.map(Number)).toEqual(Array.from({ length: 41 }, (_, step) => step));
  const seams = lines().filter(({ event }) => event !== undefined);
  expect(seams).toMatchObject([{ event: "resume", step: paused }]);
  await page.getByRole("switch", { name: "Reward as a table" }).click();
  // Three players to hold it against, checkpoints, and the seam.
  await expect.poll(() => reward.locator(".recharts-reference-line").count(), { timeout: 10_000 }).toBeGreaterThan(5);

  // Looking back holds the answers where they are.
  await page.getByRole("slider", { name: "Step whose answers are shown" }).press("Home");
  await page.getByText("Answers of step 1", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Follow" }).waitFor();
  expect(hone.problems).toEqual([]);
}, 120_000);

test("a run that the disk cannot hold is refused in words, and the form is still there", async () => {
  const page = await hone.open(`/train?max_steps=4&save_total_limit=1000000&${small}`);
  await page.getByText(/Only .* are free on the disk/).waitFor();
  await page.getByRole("button", { name: "Start training" }).click();
  await page
    .getByRole("alert")
    .getByText(/this run .*free/)
    .first()
    .waitFor({ timeout: 30_000 });
  await page.getByRole("link", { name: "Another run" }).click();
  await page.getByRole("button", { name: "Start training" }).waitFor();
  await page.getByText("--save-total-limit 1000000", { exact: false }).waitFor();
  expect(hone.problems).toEqual([]);
}, 60_000);

test("a second run waits for the first one, and can be taken back", async () => {
  const page = await hone.open(`/train?max_steps=300&${small}`);
  await page.getByRole("button", { name: "Start training" }).click();
  await page.getByTestId("chart-reward").waitFor({ timeout: 30_000 });
  await page.getByRole("link", { name: "Another run" }).click();
  await page.getByText(/is at work. A run that you start now waits/).waitFor();
  expect(await page.getByRole("button", { name: "Measure on this machine" }).isDisabled()).toBe(true);
  await page.getByRole("button", { name: "Start training" }).click();
  await page.getByText("Waiting: other work is going on", { exact: false }).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("link", { name: "Watch" }).click();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByRole("menuitem", { name: "Stop at once, without saving" }).click();
  await page.getByRole("button", { name: "Resume" }).waitFor({ timeout: 30_000 });
  expect(hone.problems).toEqual([]);
}, 90_000);
