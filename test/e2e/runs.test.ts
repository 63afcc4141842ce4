import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startHone, type Hone } from "./hone.ts";
import { startTraining } from "./train-in-app.ts";

const root = join(import.meta.dirname, "..", "..");
/** The machine may be busy with other tests. */
const patience = { timeout: 15_000 };

let hone: Hone;

function train(home: string, ...flags: string[]): void {
  const cli = join(root, "core", "cli.ts");
  const args = [cli, "train", "--model", "starter", "--task", "tic-tac-toe", "--eval-steps", "3", "--eval-size", "40"];
  execFileSync(process.execPath, [...args, ...flags], { env: { ...process.env, HONE_HOME: home }, stdio: "pipe" });
}

beforeAll(async () => {
  hone = await startHone();
  train(hone.home, "--max-steps", "6", "--save-steps", "3", "--seed", "1");
  train(hone.home, "--max-steps", "6", "--save-steps", "3", "--seed", "2", "--learning-rate", "1e-3");
});
afterAll(() => hone.close());

test("runs are found, tagged and compared", async () => {
  const page = await hone.open("/runs");
  await page.getByRole("link", { name: "tic-tac-toe-gspo-starter-001" }).click();
  await page.getByRole("tab", { name: "Notes" }).click();
  await page.getByRole("combobox", { name: "Tags" }).fill("keeper");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Notes" }).fill("seed one");
  await page.getByRole("button", { name: "Save" }).click();
  await expect
    .poll(() => existsSync(join(hone.home, "runs", "tic-tac-toe-gspo-starter-001", "notes.json")), patience)
    .toBe(true);

  await page.goto(`${page.url().split("#")[0]}#/runs`);
  await page.getByRole("textbox", { name: "Find" }).fill("seed one");
  await expect.poll(() => page.getByRole("row").count(), patience).toBe(2);
  await page.getByRole("textbox", { name: "Find" }).fill("");
  for (const box of await page.getByRole("checkbox").all()) await box.check();
  await page.getByRole("button", { name: "Compare 2 runs" }).click();
  await page.getByRole("heading", { name: "Compare runs" }).waitFor();
  const options = page.getByRole("table", { name: "Options" });
  await options.getByText("learning_rate").waitFor();
  await options.getByText("seed").first().waitFor();
  expect(await options.getByText("temperature").count()).toBe(0);
  expect(hone.problems).toEqual([]);
});

test("the list follows a training to its end by itself", async () => {
  const page = await hone.open("/runs");
  await startTraining(page, hone.home, "followed", { max_steps: 2 });
  const row = page.getByRole("row").filter({ hasText: "followed" });
  await row.getByText("finished", { exact: true }).waitFor();
  expect(await row.getByText("2 / 2").count()).toBe(1);
});

test("answers are filtered, seen in their groups, and followed from step to step", async () => {
  const page = await hone.open("/runs/tic-tac-toe-gspo-starter-001?tab=answers");
  await page.getByText("256 answers").waitFor();
  await page.getByLabel("Reward to").fill("-1");
  await expect
    .poll(async () => Number(/^\d+/.exec(await page.getByText(/\d+ answers/).innerText())?.[0]), patience)
    .toBeLessThan(256);
  for (const reward of await page.getByText(/^reward /).allInnerTexts()) expect(reward).toBe("reward -1.00");
  await page.getByRole("button", { name: "How it changed" }).first().click();
  await page.getByText(/Answers to .* over the training/).waitFor();
  await page.getByRole("button", { name: "Back to the step" }).click();
  expect(hone.problems).toEqual([]);
});

test("a run is deleted only after it was asked for twice; a damaged one is named", async () => {
  const broken = join(hone.home, "runs", "tic-tac-toe-gspo-starter-002", "config.json");
  const text = readFileSync(broken, "utf8");
  writeFileSync(broken, "{ no json");
  const page = await hone.open("/runs");
  await page.getByText("1 folder cannot be read").waitFor();
  await page.getByRole("link", { name: "tic-tac-toe-gspo-starter-001" }).waitFor();
  writeFileSync(broken, text);
  await page.reload();
  await page.getByRole("button", { name: "More for tic-tac-toe-gspo-starter-002" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect.poll(() => existsSync(broken), patience).toBe(false);
  await expect.poll(() => page.getByRole("link", { name: "tic-tac-toe-gspo-starter-002" }).count(), patience).toBe(0);
  expect(hone.problems).toEqual([]);
});
