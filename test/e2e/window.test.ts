import { afterAll, beforeAll, expect, test } from "vitest";
import { pages } from "./pages.ts";
import { startHone, type Hone } from "./hone.ts";

let hone: Hone;
beforeAll(async () => {
  hone = await startHone();
});
afterAll(() => hone.close());

test("every page opens, under its name, without an error", async () => {
  const page = await hone.open();
  for (const [path, name] of pages) {
    await page.goto(`${page.url().split("#")[0]}#${path}`);
    await page.getByRole("heading", { level: 1, name }).waitFor();
  }
  expect(hone.problems).toEqual([]);
});
