import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lessonSchema } from "../../core/contract/lesson.ts";
import { startHone, type Hone } from "./hone.ts";

const own = join(import.meta.dirname, "..", "..", "assets", "lessons", "tic-tac-toe.json");

let hone: Hone;
beforeAll(async () => {
  hone = await startHone();
  // The lesson as it is, with a shorter training and fewer rows: a lesson of the person's folder takes its place.
  const lesson = lessonSchema.parse(JSON.parse(readFileSync(own, "utf8")));
  for (const step of lesson.steps) {
    if (step.kind === "train") step.config = { ...step.config, max_steps: 16, save_steps: 8, eval_steps: 8 };
    if (step.kind === "measure") Object.assign(step, { limit: 60, games: 0 });
  }
  mkdirSync(join(hone.home, "lessons"), { recursive: true });
  writeFileSync(join(hone.home, "lessons", "short.json"), JSON.stringify(lesson));
});
afterAll(() => hone.close());

async function playToTheEnd(page: Page) {
  const status = page.getByTestId("lesson-game");
  for (let turn = 0; turn < 12; turn++) {
    await expect.poll(async () => /choosing/.test(await status.innerText()), { timeout: 20_000 }).toBe(false);
    if (!/Your turn/.test(await status.innerText())) return;
    const free = page.getByRole("gridcell", { name: /free/ }).first();
    await free.click();
    await page.waitForTimeout(50);
  }
}

async function answerChoice(page: Page) {
  await page.getByRole("radio").first().check();
  await page.getByRole("button", { name: "That is my guess" }).click();
}

const next = (page: Page) => page.getByTestId("lesson-next").click();

test("the whole tutorial, with a real training", { timeout: 240_000 }, async () => {
  let page = await hone.open("/");
  await page.getByRole("link", { name: "Start the tutorial" }).click();
  await page.getByRole("button", { name: "Begin" }).click();

  await page.getByRole("heading", { name: "Meet the model" }).waitFor();
  expect(await page.getByTestId("lesson-next").isDisabled()).toBe(true);
  await answerChoice(page);
  await playToTheEnd(page);
  await next(page);

  await page.getByRole("heading", { name: "Measure it" }).waitFor();
  await page.getByRole("button", { name: "That is my guess" }).click();
  await page.getByRole("button", { name: "Measure now" }).click();
  await page.getByText(/You guessed 0.00; it is -0\.\d\d/).waitFor({ timeout: 60_000 });
  await next(page);

  await page.getByRole("heading", { name: "Say what good means" }).waitFor();
  await answerChoice(page);
  await page.getByText("All answers are worth what the task itself says.").waitFor({ timeout: 60_000 });
  const editor = page.locator(".cm-content");
  await editor.click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(
    "export const parts = { legal: 0, win: 1, optimal: 0.8 };\nexport default ({ row }: any) => ({ parts: row.judged.parts });\n",
  );
  await page.getByText(/of these answers (is|are) worth something else now/).waitFor({ timeout: 30_000 });
  await page.getByRole("button", { name: "As it was" }).click();
  await next(page);

  // A lesson can be left and taken up again, in another window.
  await page.getByRole("heading", { name: "Train" }).waitFor();
  page = await hone.open("/tutorial");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("heading", { name: "Train" }).waitFor();
  await page.getByRole("button", { name: "That is my guess" }).click();
  await page.getByRole("button", { name: "Start the training" }).click();
  await page.getByText("step 16 of 16").waitFor({ timeout: 120_000 });
  await expect.poll(() => page.getByTestId("lesson-next").isEnabled(), { timeout: 30_000 }).toBe(true);
  await next(page);

  await page.getByRole("heading", { name: "Measure again" }).waitFor();
  await page.getByRole("button", { name: "That is my guess" }).click();
  await page.getByRole("button", { name: "Measure now" }).click();
  await page.getByRole("columnheader", { name: "After" }).waitFor({ timeout: 60_000 });
  await page.getByRole("columnheader", { name: "Before" }).waitFor();
  await next(page);

  await page.getByRole("heading", { name: "Play again" }).waitFor();
  await answerChoice(page);
  await playToTheEnd(page);
  await next(page);

  await page.getByRole("heading", { name: "Make it yours" }).waitFor();
  await page.getByRole("button", { name: "Finish" }).click();
  await page.getByRole("heading", { name: "Last results" }).waitFor();
  expect(hone.problems).toEqual([]);
});
