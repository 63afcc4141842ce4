import { existsSync, readFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startHone, type Hone } from "./hone.ts";

const root = join(import.meta.dirname, "..", "..");
const name = "tic-tac-toe-gspo-starter-001";
const patience = { timeout: 60_000 };

let hone: Hone;
beforeAll(async () => {
  hone = await startHone();
});
afterAll(() => hone.close());

const steps = () =>
  readFileSync(join(hone.home, "runs", name, "metrics.jsonl"), "utf8")
    .split("\n")
    .flatMap((line) => (/^\{"step":/.test(line) ? [(JSON.parse(line) as { step: number }).step] : []));
const hasCheckpoint = (step: number) => existsSync(join(hone.home, "runs", name, "checkpoints", `checkpoint-${step}`));

test("a run that was killed twice is offered, and goes on to its end", { timeout: 240_000 }, async () => {
  const flags = ["--max-steps", "40", "--save-steps", "4", "--eval-steps", "0", "--save-total-limit", "20"];
  const args = [join(root, "core", "cli.ts"), "train", "--model", "starter", "--task", "tic-tac-toe", ...flags];
  const child = spawn(process.execPath, args, { env: { ...process.env, HONE_HOME: hone.home }, stdio: "ignore" });
  await expect.poll(() => hasCheckpoint(4), patience).toBe(true);
  child.kill("SIGKILL");

  let page = await hone.open("/");
  await page.getByRole("heading", { name: "Go on where you stopped" }).waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor(patience);
  await expect.poll(() => hasCheckpoint(16), patience).toBe(true);
  await hone.kill();

  await hone.restart();
  page = await hone.open("/");
  await page.getByRole("heading", { name: "Go on where you stopped" }).waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("step 40 of 40").waitFor({ timeout: 120_000 });
  await page.getByText("finished").first().waitFor();
  expect(hasCheckpoint(40)).toBe(true);
  expect(steps().sort((a, b) => a - b)).toEqual(Array.from({ length: 41 }, (_, index) => index));
  // The killed host's page lost its socket, which is no defect of the page.
  expect(hone.problems.filter((problem) => !/WebSocket|ERR_CONNECTION/.test(problem))).toEqual([]);
});
