/**
 * `node test/e2e/newcomer.ts [FOLDER]`: a newcomer's way from `hone app` to the end of the whole tutorial, in a browser
 * and with the whole training. Prints the seconds and the clicks and keys it took; screenshots go to FOLDER.
 * Reading is not in the seconds: the words that stood on the way are counted instead.
 */

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Locator, Page } from "playwright-core";
import { startHone } from "./hone.ts";

/** Words that an adult reads in a minute, for the estimate of the reading time. */
const wordsPerMinute = 200;

const folder = process.argv[2] === undefined ? undefined : resolve(process.argv[2]);
if (folder !== undefined) mkdirSync(folder, { recursive: true });

const print = (line: string) => process.stdout.write(`${line}\n`);
const begun = performance.now();
const elapsed = () => (performance.now() - begun) / 1000;
const counts = { clicks: 0, keys: 0, words: 0 };
const times: [step: string, seconds: number][] = [];
let shots = 0;

async function click(target: Locator): Promise<void> {
  counts.clicks++;
  await target.click({ timeout: 20_000 });
}

async function press(page: Page, key: string): Promise<void> {
  counts.keys++;
  await page.keyboard.press(key);
}

async function shoot(page: Page, name: string): Promise<void> {
  if (folder === undefined) return;
  await page.screenshot({ path: join(folder, `${String(++shots).padStart(2, "0")}-${name}.png`) });
}

async function beginStep(page: Page, title: string): Promise<void> {
  await page.getByRole("heading", { name: title, exact: true }).waitFor();
  const text = await page.locator("section[aria-labelledby=lesson-step]").innerText();
  counts.words += text.split(/\s+/).length;
  times.push([title, elapsed()]);
  await shoot(page, title.toLowerCase().replaceAll(" ", "-"));
}

async function guess(page: Page, option?: string): Promise<void> {
  if (option !== undefined) await click(page.getByRole("radio", { name: option }));
  await click(page.getByRole("button", { name: "That is my guess" }));
}

/** The squares are tried in the order in which people like them; keys choose them. */
async function playOneGame(page: Page): Promise<string> {
  const status = page.getByTestId("lesson-game");
  const late = performance.now() + 120_000;
  while (performance.now() < late) {
    await page.waitForFunction(
      () => !/choosing/.test(document.querySelector("[data-testid=lesson-game]")?.textContent ?? "choosing"),
      undefined,
      { timeout: 60_000 },
    );
    const text = await status.innerText();
    if (text.includes("choosing")) continue;
    if (!text.startsWith("Your turn")) return text;
    const labels = await page
      .getByRole("gridcell")
      .evaluateAll((cells) => cells.map((cell) => cell.getAttribute("aria-label") ?? cell.textContent));
    const free = new Set(labels.filter((label) => label.includes("free")).map((label) => /\d/.exec(label)?.[0]));
    const square = ["5", "1", "3", "7", "9", "2", "4", "6", "8"].find((one) => free.has(one));
    if (square === undefined) throw new Error(`no free square is named on the board: ${text}`);
    await press(page, square);
    await page.waitForTimeout(50);
  }
  throw new Error(`the game does not end: ${await status.innerText()}`);
}

async function finishStep(page: Page, name: string): Promise<void> {
  const next = page.getByTestId("lesson-next");
  await page.waitForFunction(
    () => !(document.querySelector("[data-testid=lesson-next]") as HTMLButtonElement).disabled,
    undefined,
    { timeout: 900_000 },
  );
  await shoot(page, name);
  await click(next);
}

const hone = await startHone();
try {
  const page = await hone.open();
  times.push(["Home", elapsed()]);
  await shoot(page, "home");
  await click(page.getByRole("link", { name: "Start the tutorial" }));
  const begin = page.getByRole("button", { name: "Begin", exact: true });
  await page.getByRole("heading", { name: "Meet the model" }).or(begin).first().waitFor();
  if (await begin.isVisible()) await click(begin);

  await beginStep(page, "Meet the model");
  await guess(page, "I win");
  const first = await playOneGame(page);
  await finishStep(page, "met");

  await beginStep(page, "Measure it");
  await guess(page);
  await click(page.getByRole("button", { name: "Measure now" }));
  await finishStep(page, "measured");

  await beginStep(page, "Say what good means");
  await guess(page, "0, as much");
  await page.getByRole("columnheader", { name: "Worth" }).waitFor({ timeout: 120_000 });
  // `legal: 1` becomes `legal: 0`: a click behind it and two keys, as a person does.
  const line = page.locator(".cm-line", { hasText: "legal: 1," });
  const behind = await line.evaluate((element) => {
    const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let seen = 0, node = text.nextNode(); node !== null; node = text.nextNode()) {
      const content = node.textContent ?? "";
      const at = (element.textContent ?? "").indexOf("legal: 1") + "legal: 1".length - seen;
      if (at <= content.length) {
        const range = document.createRange();
        range.setStart(node, at);
        const { x, y, height } = range.getBoundingClientRect();
        return { x, y: y + height / 2 };
      }
      seen += content.length;
    }
    throw new Error("the weight is not on the page");
  });
  counts.clicks++;
  await page.mouse.click(behind.x, behind.y);
  await press(page, "Backspace");
  await press(page, "0");
  await page.getByText(/of these answers (is|are) worth something else now/).waitFor({ timeout: 60_000 });
  await shoot(page, "reward-changed");
  await click(page.getByRole("button", { name: "As it was" }));
  await finishStep(page, "rewarded");

  await beginStep(page, "Train");
  await guess(page);
  await click(page.getByRole("button", { name: "Start the training" }));
  await page.getByText(/step \d\d+ of 400/).waitFor({ timeout: 300_000 });
  await page.waitForTimeout(2000);
  await shoot(page, "training");
  await finishStep(page, "trained");

  await beginStep(page, "Measure again");
  await guess(page);
  await click(page.getByRole("button", { name: "Measure now" }));
  await finishStep(page, "measured-again");

  await beginStep(page, "Play again");
  await guess(page, "Yes");
  const second = await playOneGame(page);
  await finishStep(page, "played-again");

  await beginStep(page, "Make it yours");
  await click(page.getByRole("button", { name: "Finish" }));
  await page.getByRole("heading", { name: "Last results" }).waitFor();
  times.push(["end", elapsed()]);
  await page.waitForTimeout(1000);
  await shoot(page, "the-end");

  for (const [index, [step, at]] of times.entries()) {
    const next = times.at(index + 1);
    if (next !== undefined) print(`${step.padEnd(22)} ${(next[1] - at).toFixed(1).padStart(6)} s`);
  }
  const reading = (60 * counts.words) / wordsPerMinute;
  print(`first game: ${first}  second game: ${second}`);
  print(`${elapsed().toFixed(0)} seconds, ${counts.clicks} clicks, ${counts.keys} keys`);
  print(`${counts.words} words to read, about ${reading.toFixed(0)} seconds more`);
  if (hone.problems.length > 0) print(`problems in the browser:\n${hone.problems.join("\n")}`);
} finally {
  await hone.close();
}
