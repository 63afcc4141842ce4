import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startDesktop, type Desktop } from "./desktop.ts";
import { lastStep, startTraining, waitForStep } from "./train-in-app.ts";

let desktop: Desktop | undefined;
afterEach(async () => {
  await desktop?.close();
  desktop = undefined;
});

async function open(): Promise<Desktop> {
  desktop = await startDesktop();
  await desktop.window();
  return desktop;
}

test("the window shows Hone through its own scheme, and knows that it is the desktop", async () => {
  const hone = await open();
  const page = await hone.window();
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByText("Opened as a desktop app").waitFor();
  expect(await page.evaluate(() => Object.keys(window.hone ?? {}).sort())).toEqual(["channel", "pathOf"]);
  expect(await page.evaluate(() => typeof (globalThis as { require?: unknown }).require)).toBe("undefined");
});

test("two windows see the same work; a second start wakes the first", async () => {
  const hone = await open();
  const first = await hone.window();
  expect(await hone.startAnother()).toBeNull();
  await hone.main(({ Menu }) => {
    const menu = Menu.getApplicationMenu();
    const file = menu?.items.find(({ label }) => label === "File")?.submenu;
    file?.items.find(({ label }) => label === "New Window")?.click();
  });
  await expect.poll(() => hone.windows().length).toBe(2);
  const second = hone.windows().find((page) => page !== first);
  await second?.getByRole("navigation").first().waitFor();
  await startTraining(first, hone.home, "both", { max_steps: 60 });
  await second?.getByText("1 at work").waitFor();
  await first.getByText("1 at work").waitFor();
});

test("only Hone's own page is heard", async () => {
  const hone = await open();
  const page = await hone.window();
  await page.goto("data:text/html,<h1>Foreign</h1>");
  const answer = await page.evaluate(async () => {
    const heard: unknown[] = [];
    window.hone?.channel.listen(
      (message) => heard.push(message),
      () => undefined,
    );
    window.hone?.channel.send({ kind: "call", id: 1, name: "app.info", input: {} });
    await new Promise((resolve) => setTimeout(resolve, 500));
    return heard;
  });
  expect(answer).toEqual([]);
});

test("messages that are none are not heard, bad input is refused by its field, and the app goes on", async () => {
  const hone = await open();
  const page = await hone.window();
  const answers = await page.evaluate(async () => {
    const { channel } = window.hone!;
    const heard: { id?: number }[] = [];
    channel.listen(
      (message) => heard.push(message as { id?: number }),
      () => undefined,
    );
    const nonsense = [
      null,
      7,
      "text",
      [],
      {},
      { kind: "call" },
      { kind: "call", id: "x", name: 3 },
      { kind: "error", id: 1 },
    ];
    for (const message of nonsense) channel.send(message);
    channel.send({ kind: "call", id: 9001, name: "settings.set", input: { theme: "pink" } });
    channel.send({ kind: "call", id: 9002, name: "no.such", input: {} });
    channel.send({ kind: "call", id: 9003, name: "internal.secret", input: "huggingface" });
    channel.send({ kind: "call", id: 9004, name: "shell.openExternal", input: { url: "file:///etc/passwd" } });
    channel.send({ kind: "call", id: 9005, name: "jobs.list", input: {} });
    const wanted = [9001, 9002, 9003, 9004, 9005];
    while (!wanted.every((id) => heard.some((one) => one.id === id)))
      await new Promise((resolve) => setTimeout(resolve, 20));
    return wanted.map(
      (id) => heard.find((one) => one.id === id) as { error?: { code: string; message: string }; value?: unknown },
    );
  });
  expect(answers.map(({ error }) => error?.code)).toEqual([
    "bad-input",
    "unknown-call",
    "unknown-call",
    "bad-input",
    undefined,
  ]);
  expect(answers[0]?.error?.message).toContain("theme");
  expect(answers[4]?.value).toEqual([]);
});

test("the page cannot leave, and opens nothing but the system's browser", async () => {
  const hone = await open();
  const page = await hone.window();
  const before = page.url();
  await hone.main(({ shell }) => {
    const opened: string[] = [];
    Object.assign(globalThis, { openedByTest: opened });
    shell.openExternal = (url) => (opened.push(url), Promise.resolve());
  });
  await page.evaluate(() => {
    location.href = "https://example.com/";
  });
  await page.evaluate(() => window.open("https://example.com/docs", "_blank"));
  await page.evaluate(() => window.open("file:///etc/passwd", "_blank")).catch(() => undefined);
  const opened = () => hone.main(() => (globalThis as unknown as { openedByTest: string[] }).openedByTest);
  await expect.poll(opened).toEqual(["https://example.com/docs"]);
  expect(page.url()).toBe(before);
  expect(hone.windows()).toHaveLength(1);
});

test("a crash of the page stops no training, and the window comes back with it", async () => {
  const hone = await open();
  const page = await hone.window();
  const run = await startTraining(page, hone.home, "through-a-crash", { max_steps: 400 });
  await waitForStep(hone.home, run, 2);
  await hone.main(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.webContents.forcefullyCrashRenderer());
  await expect.poll(() => hone.windows().filter((one) => one !== page).length, { timeout: 20_000 }).toBe(1);
  const [again] = hone.windows().filter((one) => one !== page);
  await again?.getByText("1 at work").waitFor();
  const step = lastStep(hone.home, run);
  await waitForStep(hone.home, run, step + 2);
});

test("closing while training asks: stay, go on in the background, or stop and save", async () => {
  const hone = await open();
  const page = await hone.window();
  const run = await startTraining(page, hone.home, "on-closing", { max_steps: 400 });
  await waitForStep(hone.home, run, 1);
  const closeWith = async (response: number) => {
    await hone.main(({ dialog, BrowserWindow }, answer) => {
      dialog.showMessageBox = () => Promise.resolve({ response: answer, checkboxChecked: false });
      BrowserWindow.getAllWindows()[0]?.close();
    }, response);
  };
  const visible = () =>
    hone.main(({ BrowserWindow }) => BrowserWindow.getAllWindows().map((window) => window.isVisible()));
  const staysAwake = () => hone.main(({ powerSaveBlocker }) => [0, 1, 2].some((id) => powerSaveBlocker.isStarted(id)));
  expect(await staysAwake()).toBe(true);
  await closeWith(2);
  expect(await visible()).toEqual([true]);
  await closeWith(0);
  await expect.poll(visible).toEqual([false]);
  const step = lastStep(hone.home, run);
  await waitForStep(hone.home, run, step + 1);
  await hone.main(({ app }) => void app.emit("second-instance"));
  await expect.poll(visible).toEqual([true]);
  await closeWith(1);
  expect(await hone.ended).toBe(0);
  const saved = readFileSync(join(hone.home, "runs", run, "checkpoints.jsonl"), "utf8")
    .trim()
    .split("\n");
  const { step: at } = JSON.parse(saved.at(-1) ?? "") as { step: number };
  expect(at).toBe(lastStep(hone.home, run));
});

test("a token is locked by the system's keychain and given to no window", async () => {
  const hone = await open();
  const page = await hone.window();
  await page.evaluate(() => {
    location.hash = "/settings";
  });
  await page.getByRole("textbox", { name: "Hugging Face" }).fill("hf_secret_of_mine");
  await page.getByRole("button", { name: "Keep the token for Hugging Face" }).click();
  await page.getByText("keychain").first().waitFor();
  const file = join(hone.home, "secrets.json");
  await expect.poll(() => existsSync(file)).toBe(true);
  expect(readFileSync(file, "utf8")).not.toContain("hf_secret_of_mine");
  expect(await page.content()).not.toContain("hf_secret_of_mine");
});

test("work that ends behind a hidden window goes to its end, and Hone ends with it", async () => {
  const hone = await open();
  const page = await hone.window();
  await hone.main(({ dialog }) => {
    dialog.showMessageBox = () => Promise.resolve({ response: 0, checkboxChecked: false });
  });
  await startTraining(page, hone.home, "unseen", { max_steps: 12 });
  await page.getByText("1 at work").waitFor();
  await hone.main(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close());
  expect(await hone.ended).toBe(0);
  expect(lastStep(hone.home, "unseen")).toBe(12);
});

test("where the window was is kept for the next start", async () => {
  const hone = await open();
  await hone.main(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close());
  expect(await hone.ended).toBe(0);
  const state = JSON.parse(readFileSync(join(hone.home, "desktop", "window.json"), "utf8")) as object;
  expect(state).toMatchObject({ width: 1280, height: 820, maximized: false });
});
