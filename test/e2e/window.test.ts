import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pages } from "./pages.ts";
import { startHone, type Hone } from "./hone.ts";
import { callApi } from "./train-in-app.ts";

let hone: Hone;
beforeAll(async () => {
  hone = await startHone();
});
afterAll(() => hone.close());

const settings = () => JSON.parse(readFileSync(join(hone.home, "settings.json"), "utf8")) as Record<string, unknown>;

test("every page opens, under its name, without an error", async () => {
  const page = await hone.open();
  for (const [path, name] of pages) {
    await page.goto(`${page.url().split("#")[0]}#${path}`);
    await page.getByRole("heading", { level: 1, name }).first().waitFor();
  }
  expect(hone.problems).toEqual([]);
});

test("everything by keyboard: the palette finds pages and actions, the list of shortcuts opens, the sidebar goes and comes", async () => {
  const page = await hone.open("/models");
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.keyboard.press("Control+k");
  const search = page.getByRole("textbox", { name: "Find a page or an action" });
  await search.fill("datas");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Datasets" }).first().waitFor();
  expect(await page.title()).toBe("Datasets · Hone");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");

  await page.keyboard.press("Control+/");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });

  const sidebar = page.getByRole("link", { name: "Runs", exact: true });
  await page.keyboard.press("Control+b");
  await expect.poll(() => sidebar.evaluate((link) => link.getBoundingClientRect().right <= 0)).toBe(true);
  await page.keyboard.press("Control+b");
  await expect.poll(() => sidebar.evaluate((link) => link.getBoundingClientRect().left >= 0)).toBe(true);

  await page.keyboard.press("Control+,");
  await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
});

test("theme and language change at once, in every window, and are kept", async () => {
  const other = await hone.open("/");
  const page = await hone.open("/settings");
  const theme = (of: typeof page) => of.evaluate(() => document.documentElement.dataset["mantineColorScheme"]);
  await page.getByText("Dark", { exact: true }).click();
  await expect.poll(() => theme(page)).toBe("dark");
  await expect.poll(() => theme(other)).toBe("dark");
  await callApi(page, "settings.set", { language: "zh" });
  await page.getByRole("heading", { level: 1, name: "设置" }).waitFor();
  await other.getByRole("link", { name: "数据集" }).first().waitFor();
  expect(await page.evaluate(() => document.documentElement.lang)).toBe("zh-CN");
  expect(settings()).toMatchObject({ theme: "dark", language: "zh" });
  await callApi(page, "settings.set", { language: null, theme: "system" });
});

test("a model folder is chosen in Hone's own picker, and where it cannot look it says so", async () => {
  mkdirSync(join(hone.home, "my models", "small"), { recursive: true });
  const page = await hone.open("/settings");
  await page.getByRole("button", { name: "Add a folder" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a folder" });
  const folder = dialog.getByRole("textbox", { name: "Folder" });
  await folder.fill(join(hone.home, "nowhere"));
  await folder.press("Enter");
  await dialog.getByRole("alert").getByText("cannot be read").first().waitFor();
  await folder.fill(hone.home);
  await folder.press("Enter");
  await dialog.getByRole("button", { name: "my models" }).click();
  await dialog.getByRole("button", { name: "small" }).waitFor();
  await dialog.getByRole("button", { name: "Use this folder" }).click();
  await page.getByText(join(hone.home, "my models")).waitFor();
  expect(settings()).toMatchObject({ model_folders: [join(hone.home, "my models")] });
});

test("a settings file that is damaged is set aside, and Hone starts all the same", async () => {
  await hone.kill();
  writeFileSync(join(hone.home, "settings.json"), '{"theme": ');
  await hone.restart();
  const page = await hone.open("/settings");
  await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
  expect(readFileSync(join(hone.home, "settings.json.damaged"), "utf8")).toBe('{"theme": ');
});

test.skipIf(process.platform === "win32")(
  "a disk that does not answer holds up what is read from it, and nothing else",
  async () => {
    // Opening a pipe that nobody writes to blocks, as a dead network drive does.
    const runs = join(hone.home, "runs", "on-a-slow-disk");
    mkdirSync(join(runs, "checkpoints"), { recursive: true });
    execFileSync("mkfifo", [join(runs, "config.json")]);
    const page = await hone.open("/settings");
    let answered = false;
    void callApi(page, "runs.list", {}).then(
      () => (answered = true),
      () => (answered = true),
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    const begin = performance.now();
    await callApi(page, "settings.get", {});
    await page.getByRole("link", { name: "Chat", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Chat" }).first().waitFor();
    expect(performance.now() - begin).toBeLessThan(10_000);
    expect(answered).toBe(false);
    await hone.kill();
    execFileSync("rm", ["-r", runs]);
    await hone.restart();
  },
);
