/**
 * The desktop app as a person starts it: `dist/app` as it is built, in the Electron that HONE_ELECTRON names, or else in
 * the stand-in of the `electron` module. The same tests run on both.
 */

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type * as Electron from "electron";
import { _electron, chromium, type Page } from "playwright-core";
import { buildApp } from "../../electron/build.ts";
import { builtRenderer } from "../../core/host/page-files.ts";

export interface Desktop {
  readonly home: string;
  /** Hone's windows that are open now. */
  windows(): Page[];
  /** The first window, once it shows a page; waits for it. */
  window(): Promise<Page>;
  /** Runs a function in the main process, on the `electron` module. It sees nothing around it. */
  main<Arg, Result>(
    work: (electron: typeof Electron, arg: Arg) => Result | Promise<Result>,
    arg?: Arg,
  ): Promise<Result>;
  /** Ends the process at once, as a crash does. */
  kill(): Promise<void>;
  /** Starts another one with the same folder; null when it ended by itself, having woken the first. */
  startAnother(): Promise<Desktop | null>;
  /** Resolves when the process has ended. */
  readonly ended: Promise<number | null>;
  /** Ends the process and removes the folder. */
  close(): Promise<void>;
}

const root = join(import.meta.dirname, "..", "..");

export async function startDesktop(home = mkdtempSync(join(tmpdir(), "hone-desktop-"))): Promise<Desktop> {
  const folder = mkdtempSync(join(tmpdir(), "hone-app-"));
  buildApp(folder, builtRenderer);
  const started = await start(folder, home);
  if (started === null) throw new Error("Hone ended before it could be opened");
  return started;
}

function environment(home: string): Record<string, string> {
  const own = { HONE_HOME: home, HF_HOME: join(home, "hf"), MODELSCOPE_CACHE: join(home, "modelscope"), HOME: home };
  return { ...(process.env as Record<string, string>), ...own };
}

async function start(folder: string, home: string): Promise<Desktop | null> {
  const executable = process.env["HONE_ELECTRON"];
  const running = executable === undefined ? await standIn(folder, home) : await real(executable, folder, home);
  if (running === null) return null;
  const { child } = running;
  const ended = once(child, "exit").then(([code]) => code as number | null);
  const isOpen = (page: Page) => !page.isClosed() && /^(hone:|https:\/\/hone-app)/.test(page.url());
  const windows = () => running.pages().filter(isOpen);
  return {
    home,
    windows,
    ended,
    async window() {
      for (;;) {
        const [page] = windows();
        if (page !== undefined && (await page.getByRole("navigation").first().count()) > 0) return page;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    main: (work, arg) => running.main(work as never, arg) as never,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
    startAnother: () => start(folder, home),
    async close() {
      // A plain end would ask about work in progress.
      const isRunning = child.exitCode === null && child.signalCode === null;
      if (isRunning) await running.main(({ app }) => setTimeout(() => app.exit(0), 10) && null, undefined);
      await ended;
      await running.leave();
      rmSync(home, { recursive: true, force: true });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Running {
  child: ChildProcess;
  pages(): Page[];
  main(work: (electron: typeof Electron, arg: unknown) => unknown, arg: unknown): Promise<unknown>;
  leave(): Promise<void>;
}

async function real(executablePath: string, folder: string, home: string): Promise<Running> {
  const app = await _electron.launch({ executablePath, args: [folder, "--no-sandbox"], env: environment(home) });
  return {
    child: app.process(),
    pages: () => app.windows(),
    main: (work, arg) => app.evaluate(work as never, arg),
    leave: () => Promise.resolve(),
  };
}

async function standIn(folder: string, home: string): Promise<Running | null> {
  const port = await freePort();
  const register = join(root, "test", "e2e", "electron-stand-in", "register.ts");
  const child = fork(join(folder, "electron", "main.js"), {
    execArgv: ["--import", register],
    env: { ...environment(home), HONE_STAND_IN_PORT: String(port) },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const isReady = await Promise.race([once(child, "message").then(() => true), once(child, "exit").then(() => false)]);
  if (!isReady) return null;
  const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`);
  let nextId = 1;
  return {
    child,
    pages: () => browser.contexts().flatMap((context) => context.pages()),
    main(work, arg) {
      const id = nextId++;
      return new Promise((resolve, reject) => {
        const listen = (answer: { id: number; value?: unknown; error?: string }) => {
          if (answer.id !== id) return;
          child.off("message", listen);
          if (answer.error === undefined) resolve(answer.value);
          else reject(new Error(answer.error));
        };
        child.on("message", listen);
        child.send({ id, fn: work.toString(), arg });
      });
    },
    leave: () => browser.close(),
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
