/** Hone as a person starts it: the browser host in a process of its own, with a folder of its own, and a window on it. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { launchBrowser } from "./browser.ts";

export interface Hone {
  /** `HONE_HOME`; the user's caches are below it too. */
  readonly home: string;
  readonly browser: Browser;
  /** The last page that was opened. */
  readonly page: Page;
  /** Console errors and failed requests of all pages. */
  readonly problems: string[];
  /** Another window, as a person with these wishes sees it. `path` is what follows the `#`. */
  open(path?: string, options?: BrowserContextOptions): Promise<Page>;
  /** Ends the process at once, as a crash does. */
  kill(): Promise<void>;
  /** Starts it again with the same folder. */
  restart(): Promise<void>;
  /** Ends everything, and removes the folder. */
  close(): Promise<void>;
}

const root = join(import.meta.dirname, "..", "..");

export async function startHone(env: Record<string, string> = {}): Promise<Hone> {
  const home = mkdtempSync(join(tmpdir(), "hone-e2e-"));
  const browser = await launchBrowser();
  const problems: string[] = [];
  let host = await startHost(home, env);
  let page: Page | undefined;
  const open: Hone["open"] = async (path = "/", options = {}) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-US", ...options });
    page = await context.newPage();
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text());
    });
    page.on("pageerror", (error) => problems.push(error.stack ?? error.message));
    await page.goto(await host.url());
    if (path !== "/") await page.goto(`${page.url().split("#")[0]}#${path}`);
    await page.getByRole("navigation").first().waitFor();
    return page;
  };
  return {
    home,
    browser,
    problems,
    get page() {
      if (page === undefined) throw new Error("no page was opened yet");
      return page;
    },
    open,
    kill: () => host.end("SIGKILL"),
    restart: async () => {
      host = await startHost(home, env);
    },
    close: async () => {
      await browser.close();
      await host.end("SIGTERM");
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function startHost(home: string, env: Record<string, string>) {
  const child: ChildProcess = spawn(process.execPath, [join(root, "core", "cli.ts"), "app", "--host"], {
    env: {
      ...process.env,
      HONE_HOME: home,
      HF_HOME: join(home, "hf"),
      MODELSCOPE_CACHE: join(home, "modelscope"),
      HOME: home,
      ...env,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const first = await new Promise<string>((resolve, reject) => {
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const url = /http:\S+/.exec(output)?.[0];
      if (url !== undefined) resolve(url);
    });
    child.once("exit", () => reject(new Error(`Hone ended before it could be opened:\n${errors}`)));
  });
  let unused: string | undefined = first;
  return {
    /** A one-time address: the printed one first, then one for each line on stdin. */
    async url(): Promise<string> {
      if (unused !== undefined) {
        const url = unused;
        unused = undefined;
        return url;
      }
      const before = output.length;
      child.stdin?.write("\n");
      while (!/http:\S+\n/.test(output.slice(before))) await new Promise((resolve) => setTimeout(resolve, 20));
      return /http:\S+/.exec(output.slice(before))?.[0] ?? "";
    },
    async end(signal: NodeJS.Signals): Promise<void> {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill(signal);
      await ended;
    },
  };
}
