/** The Datasets page as a person uses it: import, mend, edit, look at tokens, scroll, and on to training. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seriousFindings } from "./axe.ts";
import { startHone, type Hone } from "./hone.ts";

let hone: Hone;
beforeAll(async () => {
  hone = await startHone();
});
afterAll(() => hone.close());

function write(name: string, text: string): string {
  const path = join(hone.home, name);
  writeFileSync(path, text);
  return path;
}

async function importPage(path: string): Promise<Page> {
  return hone.open(`/data/-/import?file=${encodeURIComponent(path)}`);
}

test("a malformed CSV: rows set aside are shown, the mapping is mended, a row edited and undone, its tokens seen", async () => {
  const path = write(
    "colours.csv",
    "question;answer;source\nWhat colour is grass?;green;a\nWhat colour is snow?;white;b\nhalf a row\nWhat colour is coal?;;d\n",
  );
  const page = await importPage(path);
  // No column has a name that rows are read by; the usual names are a first guess, which the form shows.
  const copy = page.getByRole("button", { name: /^Import .* good rows$/ });
  await page.getByText("By the columns that are chosen here: question, answer.").waitFor();
  await page.getByText("2 good", { exact: true }).waitFor();
  await page.getByText("2 set aside", { exact: true }).waitFor();
  const aside = page.getByRole("table", { name: "Rows set aside" });
  const broken = aside.getByRole("row").filter({ hasText: "1 cell where the header has 3" });
  expect(await broken.getByRole("cell").nth(0).textContent()).toBe("4");
  const missing = aside.getByRole("row").filter({ hasText: "answer is missing" });
  expect((await missing.getByRole("cell").allTextContents()).slice(0, 3)).toEqual(["5", "4", "answer"]);
  await copy.click();

  await page.getByRole("heading", { level: 1, name: "colours" }).waitFor();
  const grid = page.getByRole("grid", { name: "Rows of colours" });
  await grid.getByText("What colour is snow?").waitFor();
  expect(await grid.getAttribute("aria-rowcount")).toBe("3");

  // By keyboard alone: to the answer of row 1, in place.
  await grid.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Edit completion" }).fill("green, mostly");
  await page.keyboard.press("Enter");
  await grid.getByText("green, mostly").waitFor();
  await page.getByRole("tab", { name: "History (1)" }).waitFor();
  // What would be no row is refused, and stays to be mended.
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Edit completion" }).fill("{}");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+z");
  await grid.getByText("green", { exact: true }).waitFor();
  await page.keyboard.press("Control+y");
  await grid.getByText("green, mostly").waitFor();

  await page.getByRole("tab", { name: "Tokens" }).click();
  await page.getByText(/\d+ tokens, \d+ of them trained/).waitFor();
  const trained = await page.locator("[data-trained=true]").allTextContents();
  expect(trained.join("").replace("trained: ", "")).toMatch(/^green, mostly/);

  await page.getByRole("tab", { name: /^History/ }).click();
  await page.getByRole("button", { name: "Show what point 1 changed" }).click();
  await page.locator("ins", { hasText: ", mostly" }).waitFor();
  await page.getByRole("button", { name: "Go back to here: point 0" }).click();
  await page.getByText("back to point 0").last().waitFor();

  await page.getByRole("tab", { name: /^Set aside/ }).click();
  await page.getByRole("button", { name: "Mend row 4" }).click();
  const json = page.getByRole("textbox", { name: "The row as JSON" });
  await json.fill('{"prompt": "What colour is coal?"}');
  await page.getByRole("button", { name: "Add this row" }).click();
  await page.getByRole("alert").getByText("completion is missing").first().waitFor();
  await json.fill('{"prompt": "What colour is coal?", "completion": "black"}');
  await page.getByRole("button", { name: "Add this row" }).click();
  await page.getByText("Mended and added: row 4").waitFor();
  await page.getByRole("tab", { name: "Rows" }).click();
  await grid.getByText("black").waitFor();

  await page.getByRole("link", { name: "Train · SFT on colours" }).click();
  await page.waitForURL(/#\/train\?data=colours&method=sft$/);
  expect(hone.problems).toEqual([]);
}, 60_000);

test("100,000 rows scroll without a pause, are found, and are edited at the end", async () => {
  const rows = Array.from({ length: 100_000 }, (_, i) =>
    JSON.stringify({ prompt: `What is ${i} + 1?`, completion: `It is ${i + 1}.` }),
  );
  const page = await importPage(write("sums.jsonl", rows.join("\n")));
  await page.getByRole("button", { name: "Import 100,000 good rows" }).click();
  const grid = page.getByRole("grid", { name: "Rows of sums" });
  await grid.getByText("What is 0 + 1?").waitFor();

  // Through the whole table in 120 frames: how long each frame took, and how many rows exist at all.
  const frames = await grid.evaluate(async (element) => {
    const times: number[] = [];
    const most = { rows: 0 };
    const frame = () => new Promise<number>((done) => requestAnimationFrame(done));
    let last = await frame();
    for (let i = 1; i <= 120; i++) {
      element.scrollTop = (i / 120) * element.scrollHeight;
      const now = await frame();
      times.push(now - last);
      last = now;
      most.rows = Math.max(most.rows, element.querySelectorAll("[role=row]").length);
    }
    return { times: times.sort((a, b) => a - b), rows: most.rows };
  });
  const [median, p95] = [frames.times[60], frames.times[114]];
  process.stdout.write(
    `frames while scrolling 100,000 rows: median ${median.toFixed(1)} ms, 95 % ${p95.toFixed(1)} ms\n`,
  );
  expect(frames.rows).toBeLessThan(100);
  expect(median).toBeLessThan(50);
  expect(p95).toBeLessThan(150);
  const stopped = performance.now();
  await grid.getByText("What is 99999 + 1?").waitFor();
  expect(performance.now() - stopped).toBeLessThan(2000);

  await grid.focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Edit completion" }).fill("Six figures.");
  await page.keyboard.press("Enter");
  await grid.getByText("Six figures.").waitFor();
  await page.getByRole("textbox", { name: "Search the rows" }).fill("six figures");
  await page.getByText("1 of 100,000 rows").waitFor();
  await grid.getByText("What is 99999 + 1?").waitFor();
  // A row has an address: it is there again after the page is loaded anew.
  await page.reload();
  await page.getByRole("region", { name: "Row 100,000" }).getByText("Six figures.").waitFor();
  await grid.getByText("Six figures.").waitFor();
  expect(hone.problems).toEqual([]);
}, 60_000);

test("statistics lead to what is repeated, and take it out; a damaged dataset does not hide the others", async () => {
  const row = JSON.stringify({
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Hello!" },
    ],
  });
  const page = await importPage(write("chats.jsonl", [row, row, row].join("\n")));
  await page.getByRole("button", { name: "Import 3 good rows" }).click();
  await page.getByRole("tab", { name: "Statistics" }).click();
  await page.getByText("2 rows say exactly what an earlier one says.").waitFor();
  await page.getByRole("button", { name: "Keep the first of each" }).click();
  await page.getByText("No repeated rows, no empty answers.").waitFor();
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await page.getByText("2 rows say exactly what an earlier one says.").waitFor();

  mkdirSync(join(hone.home, "datasets", "broken"), { recursive: true });
  writeFileSync(join(hone.home, "datasets", "broken", "dataset.json"), "{");
  await page.goto(`${page.url().split("#")[0]}#/data`);
  await page.getByText("1 dataset cannot be read").waitFor();
  await page.getByRole("link", { name: "chats", exact: true }).waitFor();
  await page.getByRole("button", { name: "Delete chats" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("link", { name: "chats", exact: true }).waitFor({ state: "detached" });
  expect(hone.problems).toEqual([]);
}, 60_000);

test("a file that changed since it was looked at is not imported blindly; what was pasted is looked at first", async () => {
  const path = write("moving.jsonl", '{"text": "one"}\n');
  const page = await importPage(path);
  await page.getByText("1 good", { exact: true }).waitFor();
  writeFileSync(path, '{"text": "one"}\n{"text": "two"}\n');
  await page.getByRole("button", { name: "Import 1 good rows" }).click();
  await page.getByRole("alert").getByText("has changed since you looked at it").first().waitFor();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("2 good", { exact: true }).waitFor();

  await page.getByRole("button", { name: "Paste rows" }).click();
  await page
    .getByRole("textbox", { name: /^Rows as JSON Lines/ })
    .fill('{"prompt": "a", "chosen": "b", "rejected": "c"}');
  await page.getByRole("button", { name: "Look at it" }).click();
  await page.getByText("Its rows are read as: better and worse answers.").waitFor();
  await page.getByRole("button", { name: "Import 1 good rows" }).click();
  await page.getByRole("link", { name: "Train · DPO on pasted" }).waitFor();
  expect(hone.problems).toEqual([]);
}, 60_000);

test("two answers are rated by keyboard, taken back, and become pairs; a dataset is split and exported", async () => {
  const rows = Array.from({ length: 20 }, (_, i) => JSON.stringify({ prompt: `Say ${i}`, completion: String(i) }));
  let page = await importPage(write("ask.jsonl", rows.join("\n")));
  await page.getByRole("button", { name: "Import 20 good rows" }).click();
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Rate two answers…" }).click();
  await page.getByRole("textbox", { name: "Longest answer (tokens)" }).fill("8");
  await page.getByRole("textbox", { name: "Temperature" }).fill("2");
  await page.getByRole("button", { name: "Draw answers" }).click();
  await page.getByText("Row 1 of 20").waitFor();
  await page.getByRole("button", { name: /^Neither, next/ }).waitFor();
  await page.locator("body").press("0");
  await page.getByText("Row 2 of 20").waitFor();
  await page.locator("body").press("1");
  await page.getByText("1 pair kept").waitFor();
  await page.getByText("Row 3 of 20").waitFor();
  await page.locator("body").press("2");
  await page.getByText("2 pairs kept").waitFor();
  await page.getByText("Row 4 of 20").waitFor();
  await page.locator("body").press("u");
  await page.getByText("1 pair kept").waitFor();
  await page.getByRole("link", { name: "Look at the pairs" }).click();
  const grid = page.getByRole("grid", { name: "Rows of ask-pairs" });
  await grid.getByText("user: Say 1", { exact: true }).waitFor();
  expect(await grid.getAttribute("aria-rowcount")).toBe("2");
  await page.getByRole("link", { name: "Train · DPO on ask-pairs" }).waitFor();

  page = await hone.open("/data/ask");
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Split for training and test…" }).click();
  await page.getByRole("button", { name: "Split", exact: true }).click();
  await page.getByRole("link", { name: "ask-train" }).waitFor();
  await page.getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Export to a file…" }).click();
  await page.getByRole("button", { name: "Choose a file and export" }).click();
  await page.getByRole("textbox", { name: "File name" }).fill("out.jsonl");
  const folder = page.getByRole("textbox", { name: "Folder" });
  await folder.fill(hone.home);
  await folder.press("Enter");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("20 rows are in").waitFor();
  const path = (await page.getByText("20 rows are in").textContent())?.replace(/^20 rows are in (.*)\.$/, "$1") ?? "";
  expect(readFileSync(path, "utf8").trim().split("\n")).toEqual(rows);
  expect(hone.problems).toEqual([]);
}, 60_000);

test("no serious fault of accessibility, in either theme", async () => {
  const path = write("seen.csv", "prompt,completion\na,b\nbroken\nc,d\n");
  let page = await importPage(path);
  await page.getByRole("button", { name: "Import 2 good rows" }).click();
  await page.getByRole("grid").getByText("a", { exact: true }).waitFor();
  for (const colorScheme of ["light", "dark"] as const) {
    page = await hone.open("/data", { colorScheme });
    const places = [
      "/data",
      `/data/-/import?file=${encodeURIComponent(path)}`,
      "/data/seen",
      "/data/seen?tab=statistics",
      "/data/seen?tab=history",
      "/data/seen?tab=aside",
      "/data/seen/rate",
    ];
    for (const place of places) {
      await page.goto(`${page.url().split("#")[0]}#${place}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      if (place === "/data/seen") await page.getByRole("gridcell").nth(1).click();
      await page.waitForTimeout(300);
      expect(await seriousFindings(page, "#main"), `${place}, ${colorScheme}`).toEqual([]);
    }
  }
}, 60_000);
