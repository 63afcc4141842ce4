import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seriousFindings } from "./axe.ts";
import { startHone, type Hone } from "./hone.ts";
import { callApi, startTraining } from "./train-in-app.ts";

const run = "short";
let hone: Hone;

beforeAll(async () => {
  hone = await startHone();
  const page = await hone.open();
  await startTraining(page, hone.home, run, {
    max_steps: 20,
    save_steps: 10,
    prompts_per_step: 32,
    num_generations: 8,
  });
  const [job] = await callApi(page, "jobs.list", {});
  expect(await callApi(page, "jobs.wait", { id: job.id })).toMatchObject({ state: "done" });
}, 60_000);
afterAll(() => hone.close());

const soon = <T>(look: () => T) => expect.poll(look, { timeout: 15_000 });
const status = (page: Page) => page.getByTestId("game-status");
const cells = (page: Page) => page.getByRole("grid").getByRole("gridcell");
const labels = (page: Page) =>
  cells(page).evaluateAll((all) => all.map((one) => one.querySelector(".hone-unseen")?.textContent ?? ""));
const freeSquares = async (page: Page) =>
  (await labels(page)).flatMap((label, i) => (/, free/.test(label) ? [i + 1] : []));

/** The person takes free squares until the game is over, by `press`. Returns how it ended. */
async function playOut(page: Page, press: (square: number) => Promise<void>): Promise<string> {
  const over = /win|draw/i;
  for (let turn = 0; turn < 9; turn++) {
    await soon(() => status(page).innerText()).toMatch(/Your turn|win|draw/i);
    const text = await status(page).innerText();
    if (!text.startsWith("Your turn")) {
      expect(text).toMatch(over);
      return text;
    }
    const [square] = await freeSquares(page);
    await press(square);
    await soon(async () => (await labels(page))[square - 1]).toMatch(/, [XO]/);
  }
  return status(page).innerText();
}

test("a whole game at two checkpoints, as O and as X, without a mouse", async () => {
  const page = await hone.open(`/play?model=${run}:20`);
  await soon(() => status(page).innerText()).toContain("you play O");
  await playOut(page, (square) => page.keyboard.press(String(square)));
  // The model's own words stand beside the board.
  await page.getByRole("region", { name: "What the model wrote" }).getByText(`${run}:20`).waitFor();

  // Another checkpoint, and the other side.
  await page.goto(`${page.url().split("#")[0]}#/play?model=${run}:0`);
  await page.getByRole("radio", { name: "O, second" }).focus();
  await page.keyboard.press("Space");
  await soon(() => status(page).innerText()).toContain("you play X");
  await cells(page).nth(4).focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowUp");
  expect(await page.evaluate(() => document.activeElement?.getAttribute("data-square"))).toBe("1");
  await playOut(page, async (square) => {
    await cells(page)
      .nth(square - 1)
      .focus();
    await page.keyboard.press("Enter");
  });
  await page.getByRole("button", { name: "New game" }).press("Enter");
  await soon(() => status(page).innerText()).toContain("you play X");
  expect(await freeSquares(page)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("the slider replays the same position: the squares show each checkpoint's own exact odds", async () => {
  const page = await hone.open(`/play?model=${run}:0`);
  await page.getByText("Exact part").click();
  const shown = async () => (await labels(page)).map((label) => /with (\S+ %)/.exec(label)?.[1]);
  const expected = async (step: number) => {
    const { squares } = await callApi(page, "play.odds", { model: `${run}:${step}`, moves: [] });
    return squares.map((share) => (share > 0 && share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %`));
  };
  await soon(shown).toEqual(await expected(0));
  const slider = page.getByRole("slider", { name: "Checkpoint" });
  await slider.focus();
  await page.keyboard.press("End");
  await soon(() => page.getByTestId("checkpoint").innerText()).toBe("Step 20");
  await soon(shown).toEqual(await expected(20));
  expect(await expected(20)).not.toEqual(await expected(0));
  expect(page.url()).toContain(encodeURIComponent(`${run}:20`));
  // Every frame of the film has been asked by itself.
  await soon(() =>
    page
      .getByRole("group", { name: "The position at every checkpoint" })
      .getByRole("button", { name: /% on best moves/ })
      .count(),
  ).toBe(3);
  // A long training has many frames: the strip scrolls, not the page.
  const film = page.getByRole("group", { name: "The position at every checkpoint" });
  const wider = await film.evaluate((strip) => {
    const before = strip.innerHTML;
    strip.innerHTML = before.repeat(12);
    const over = document.documentElement.scrollWidth - window.innerWidth;
    strip.innerHTML = before;
    return over;
  });
  expect(wider).toBe(0);
});

test("a model against a model over many games, and the score", async () => {
  const page = await hone.open(`/play?model=${run}:20`);
  const match = page.getByRole("region", { name: "Many games" });
  await match.getByLabel("Against").click();
  await page.getByRole("option", { name: "Before training" }).click();
  await match.getByLabel("Games per side").click();
  await page.getByRole("option", { name: "10", exact: true }).click();
  await match.getByRole("button", { name: "Play" }).click();
  await soon(() => match.getByTestId("match-score").innerText()).toContain("20 of 20 games");
  const [win, draw, loss] = (
    /: (\d+) won, (\d+) drawn, (\d+) lost/.exec(await match.getByTestId("match-score").innerText()) ?? []
  )
    .slice(1)
    .map(Number);
  expect(win + draw + loss).toBe(20);
});

test("a game is kept as rows of a dataset", async () => {
  const page = await hone.open(`/play?model=${run}:20`);
  await soon(() => status(page).innerText()).toContain("you play O");
  await page.getByRole("button", { name: "Keep …" }).click();
  const dialog = page.getByRole("dialog", { name: "Keep this game as rows" });
  await dialog.getByLabel("Dataset").fill("from-play");
  await dialog.getByRole("button", { name: "Keep", exact: true }).click();
  await page.getByText("from-play has 1 rows").waitFor();
  const history = readFileSync(join(hone.home, "datasets", "from-play", "history.jsonl"), "utf8");
  const { changes } = JSON.parse(history.split("\n")[0]) as { changes: { after: unknown }[] };
  expect(changes[0].after).toMatchObject({
    completion: [{ tool_calls: [{ function: { name: "choose_square" } }] }],
  });
});

test("a checkpoint that was deleted in between is told, and the rest stays playable", async () => {
  const page = await hone.open(`/play?model=${run}:10`);
  await soon(() => status(page).innerText()).toContain("Your turn");
  rmSync(join(hone.home, "runs", run, "checkpoints", "checkpoint-10"), { recursive: true });
  await page.getByRole("button", { name: "New game" }).click();
  await page.getByText('has no checkpoint "10"').first().waitFor();
  await page.getByRole("button", { name: "Step 0" }).click();
  await page.getByRole("button", { name: "New game" }).click();
  await soon(() => status(page).innerText()).toContain("Your turn");
});

test("the starter in two columns: streamed, counted, rated; a context that is full says so", async () => {
  const page = await hone.open(`/chat?model=starter&model=${run}:20`);
  const message = page.getByRole("textbox", { name: "Your message" });
  await message.fill("X O 3\n4 5 6\n7 8 9");
  await message.press("Enter");
  const answers = page.getByRole("list", { name: /^Answer of/ });
  await soon(() => answers.getByText(/\d+ tokens?, .*in use/).count()).toBe(2);
  await page.getByRole("button", { name: "This answer is the best: keep pairs" }).first().click();
  await page.getByText("chat-pairs has 1 rows").waitFor();
  await page.getByRole("button", { name: "Edit and send again" }).click();
  await page.getByRole("textbox", { name: "Edit and send again" }).fill("word ".repeat(3000));
  await page.getByRole("button", { name: "Send again" }).click();
  await page
    .getByText(/the conversation has .* tokens, and the model was made for 1024/)
    .first()
    .waitFor();
  // Nothing is lost: the message can be changed once more.
  await page.getByRole("button", { name: "Edit and send again" }).waitFor();
});

test.each(["light", "dark"] as const)("axe finds nothing serious in the %s theme", async (colorScheme) => {
  for (const path of [`/play?model=${run}:20`, "/chat"]) {
    const page = await hone.open(path, { colorScheme, viewport: { width: 900, height: 800 } });
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForTimeout(600);
    expect(await seriousFindings(page, "#main"), path).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), path).toBe(0);
  }
});
