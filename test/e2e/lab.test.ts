/** Rewards and tasks as a person meets them: in a real window, with real scoring, checking and files. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startHone, type Hone } from "./hone.ts";

let hone: Hone;
let page: Page;
beforeAll(async () => {
  hone = await startHone();
  page = await hone.open();
});
afterAll(() => hone.close());

async function go(path: string): Promise<void> {
  await page.goto(`${page.url().split("#")[0]}#${path}`);
}

/** Takes the place of all that an editor holds. */
async function write(label: RegExp, text: string): Promise<void> {
  const editor = page.getByRole("textbox", { name: label });
  await editor.click();
  await page.keyboard.press("Control+A");
  // Inserted in one piece: typed letter by letter the editor would close brackets by itself.
  await page.keyboard.insertText(text);
}

const tile = (name: string) => page.getByText(name, { exact: true }).locator("..");

test("a reward is made, edited, seen to change, stopped when it never ends, saved, and trained with", async () => {
  await go("/rewards");
  await page.getByRole("button", { name: "New reward" }).first().click();
  await page.getByLabel("Name").fill("short-answers");
  await page.getByRole("radio", { name: /TypeScript/ }).click();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { level: 1, name: "short-answers.ts" }).waitFor();
  // Two of four answers are right, all are short: (2 × 1.2 + 2 × 0.2) / 4.
  await tile("Mean").getByText("0.700").waitFor();

  await write(/Text of/, "export default ({ answer }: { answer: string }) =>\n  answer.length < 3 ? 2 : -1;\n");
  await page.getByText("Not saved yet").waitFor();
  await tile("Mean").getByText("0.500").waitFor();
  await page.getByText("(0.700)").waitFor();
  await page.getByText("4 answers are worth something else: 2 more, 2 less.").waitFor();

  await write(/Text of/, "export default () => {\n  while (true) {}\n};\n");
  await page
    .getByText(/longer than 1 s/)
    .first()
    .waitFor();
  await write(/Text of/, "export default () => {\n  return 1\n");
  await page.getByText(/Line \d+: /).waitFor();
  await write(
    /Text of/,
    "export default ({ answer }) => {\n  if (answer === '4') throw new Error('four');\n  return 1;\n};\n",
  );
  await page.getByRole("radio", { name: "Errors (1)" }).waitFor({ state: "attached" });
  await tile("Not scored").getByText("1", { exact: true }).waitFor();

  const final = "export default ({ answer }: { answer: string }) => Number(answer.trim() === '4');\n";
  await write(/Text of/, final);
  await tile("Mean").getByText("0.250").waitFor();
  await page.getByLabel("Answer", { exact: true }).first().fill("4");
  await page.getByText("1.000").first().waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  const path = join(hone.home, "rewards", "short-answers.ts");
  expect(readFileSync(path, "utf8")).toBe(final);
  await page.getByRole("button", { name: "History (1)" }).waitFor();

  // Another program writes into the file while something else stands in the editor.
  await write(/Text of/, "export default () => 0;\n");
  writeFileSync(path, "export default () => 3;\n");
  await page.getByText("Another program has changed this file").waitFor();
  await page.getByRole("button", { name: "Read the file again" }).click();
  await tile("Mean").getByText("3.000").waitFor();

  const train = page.getByRole("link", { name: "Train with it" });
  expect(await train.getAttribute("href")).toContain(encodeURIComponent(path));
});

test("a reward of built-in parts is changed by its form, and asks before it asks a judge", async () => {
  await go("/rewards");
  await page.getByRole("button", { name: "New reward" }).first().click();
  await page.getByLabel("Name").fill("parts");
  await page.getByRole("button", { name: "Create" }).click();
  await tile("Mean").getByText("0.800").waitFor();
  const first = page.getByRole("group", { name: "Part 1: correct" });
  await first.getByLabel("weight").fill("3");
  await tile("Mean").getByText("1.800").waitFor();
  await page.getByRole("button", { name: "Add a part" }).click();
  await page.getByRole("menuitem", { name: /A model as judge/ }).click();
  await page.getByText("This reward asks others over the network.", { exact: false }).waitFor();
  await page.getByRole("button", { name: "Run …" }).click();
  await page.getByRole("dialog").getByText("on this machine").waitFor();
  await page.getByRole("dialog").getByText("up to 4").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
});

test("every task that comes with Hone can be looked at, and checked", async () => {
  const titles = [
    "Business process",
    "Structured extraction",
    "Instruction following",
    "Tic-tac-toe",
    "Tool-call repair",
  ];
  for (const title of [...titles, "Writing format"]) {
    await go("/tasks");
    await page.getByRole("link", { name: title }).click();
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
    await page.getByRole("heading", { name: /What the model sees/ }).waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("tab", { name: "Reward and rules" }).click();
    await page.getByRole("heading", { name: "What is paid for" }).waitFor();
    await page.getByRole("tab", { name: "Check" }).click();
    await page.getByText(/It can be trained on\.|Nothing is wrong\./).waitFor();
  }
});

test("a task is made from a template, broken, told what is wrong, and mended", async () => {
  await go("/tasks");
  await page.getByRole("button", { name: "New task" }).click();
  await page.getByLabel("Name").fill("my-units");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { level: 1, name: "My units" }).waitFor();
  await page.getByText("Nothing is wrong.").waitFor();
  const path = join(hone.home, "tasks", "my-units", "task.json");
  expect(existsSync(path)).toBe(true);
  const good = readFileSync(path, "utf8");
  await write(/Text of task\.json/, good.replace('"generator"', '"generater"'));
  await page
    .getByText(/there is no key "generater"/)
    .first()
    .waitFor();
  await page.getByText('What to do: did you mean "generator"?').first().waitFor();
  await page.getByRole("tab", { name: "Rows" }).click();
  await page.getByRole("link", { name: "Mend it in its files" }).click();
  await write(/Text of task\.json/, good);
  await page.getByText("Nothing is wrong.").waitFor();
  expect(readFileSync(path, "utf8")).toBe(good);
  await go("/tasks");
  await page.getByRole("link", { name: "My units" }).waitFor();
});

test("whether to train is answered by a person's words and by figures together", async () => {
  await go("/tasks/advise/writing-format");
  await page.getByRole("radiogroup", { name: "Does the task recur?" }).getByLabel("no", { exact: true }).check();
  await page.getByText("Do not train yet.").waitFor();
  await page.getByText("For a few cases, put examples into the prompt.").waitFor();
  await page.getByRole("radiogroup", { name: "Does the task recur?" }).getByLabel("yes", { exact: true }).check();
  await page.getByText("Not settled yet.").waitFor();
  await page.getByRole("button", { name: "Measure" }).click();
  await page
    .getByText(/^Measured: /)
    .first()
    .waitFor({ timeout: 60_000 });
  await page.getByText(/rows to train on, of \d+ different problems/).waitFor();
}, 90_000);

test("fresh answers of a model are drawn, and the reward is tried on them", async () => {
  await go(`/rewards/lab/${encodeURIComponent(join(hone.home, "rewards", "short-answers.ts"))}`);
  await page.getByRole("button", { name: "Draw fresh answers" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox", { name: "Task" }).click();
  await page.getByRole("option", { name: "Tic-tac-toe" }).click();
  await dialog.getByLabel("Rows", { exact: true }).fill("3");
  await dialog.getByLabel("Answers to each").fill("2");
  await dialog.getByRole("button", { name: "Draw 6 answers" }).click();
  await dialog.waitFor({ state: "detached", timeout: 60_000 });
  await page.getByText("6 of 6 answers").waitFor();
}, 90_000);

test("no page complains in the console", () => {
  expect(hone.problems).toEqual([]);
});
