/** The app never blocks: a click reaches the screen in time while training computes on all cores. */

import { writeSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { startHone, type Hone } from "./hone.ts";
import { startTraining, waitForStep } from "./train-in-app.ts";

let hone: Hone;
beforeAll(async () => {
  hone = await startHone();
});
afterAll(() => hone.close());

const clicks = 30;

/**
 * Milliseconds from a click to the frame that shows its effect, for each of `clicks` clicks on two links in turn. Both
 * pages are loaded before. After the effect is in the page, the second animation frame begins when the first was painted.
 */
async function clickToPaint(page: Page): Promise<number[]> {
  return page.evaluate(async (count) => {
    const names = ["settings", "train"];
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const times: number[] = [];
    for (let i = 0; i < count; i++) {
      const name = names[i % 2] ?? "";
      const link = document.querySelector<HTMLAnchorElement>(`nav a[href="#/${name}"]`);
      if (link === null) throw new Error(`there is no link to ${name}`);
      const begin = performance.now();
      link.click();
      while (link.getAttribute("aria-current") !== "page") await new Promise((resolve) => setTimeout(resolve, 0));
      await frame();
      await frame();
      times.push(performance.now() - begin);
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    return times;
  }, clicks);
}

/** Milliseconds from asking Hone's main thread to its answer. */
async function callTimes(page: Page): Promise<number[]> {
  return page.evaluate(async (count) => {
    const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/api`);
    await new Promise((resolve) => (socket.onopen = resolve));
    const times: number[] = [];
    for (let id = 1; id <= count; id++) {
      const begin = performance.now();
      const answered = new Promise((resolve) => (socket.onmessage = resolve));
      socket.send(JSON.stringify({ kind: "call", id, name: "settings.get", input: {} }));
      await answered;
      times.push(performance.now() - begin);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    socket.close();
    return times;
  }, clicks);
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

function tell(what: string, times: readonly number[]): void {
  const words = [0.5, 0.95].map((share) => `${quantile(times, share).toFixed(0)} ms`);
  writeSync(2, `measured: ${what}: median ${words[0]}, 95th percentile ${words[1]}\n`);
}

test("a click is on the screen at once while training runs on all cores", { timeout: 120_000 }, async () => {
  const page = await hone.open("/train");
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
  const idle = await clickToPaint(page);
  const run = await startTraining(page, hone.home, "busy", { num_generations: 16, max_completion_length: 64 });
  await waitForStep(hone.home, run, 2);
  const busy = await clickToPaint(page);
  const calls = await callTimes(page);
  tell("click to paint, nothing else running", idle);
  tell("click to paint while training", busy);
  tell("a call's answer while training", calls);
  // The figure to hold is 100 ms for the median on a quiet machine; tests share theirs with other work.
  expect(quantile(busy, 0.5)).toBeLessThan(200);
  expect(quantile(busy, 0.95)).toBeLessThan(1000);
  expect(quantile(calls, 0.5)).toBeLessThan(100);
});
