import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

const cli = join(import.meta.dirname, "..", "..", "..", "core", "cli.ts");
const home = mkdtempSync(join(tmpdir(), "hone-app-command-"));
const renderer = join(home, "renderer");
mkdirSync(renderer);
writeFileSync(join(renderer, "index.html"), "<title>Hone</title>");

const started: ChildProcess[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
});

interface Running {
  child: ChildProcess;
  /** Resolves with what the pattern finds in what it says, on either stream. */
  says: (pattern: RegExp) => Promise<string>;
}

function app(args: readonly string[], env: Record<string, string> = {}): Running {
  const child = spawn(process.execPath, [cli, "app", ...args], {
    env: { ...process.env, HONE_HOME: home, HONE_RENDERER: renderer, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  started.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  return {
    child,
    async says(pattern) {
      await expect.poll(() => output, { timeout: 15_000 }).toMatch(pattern);
      return pattern.exec(output)?.[0] ?? "";
    },
  };
}

test("it prints a one-time address and how to reach it from elsewhere, another one for Enter, and ends in order", async () => {
  const { child, says } = app(["--host"]);
  const first = await says(/http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+/);
  const port = new URL(first).port;
  await says(new RegExp(`ssh -L ${port}:127\\.0\\.0\\.1:${port} \\S+`));
  expect((await fetch(first, { redirect: "manual" })).status).toBe(303);
  expect((await fetch(first, { redirect: "manual" })).status).toBe(403);
  child.stdin?.write("\n");
  await says(/token=[\w-]+\n[^]*token=[\w-]+\n/);
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
});

test("a port in use is told, with the way out", async () => {
  const first = app(["--host"]);
  const port = new URL(await first.says(/http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+/)).port;
  const second = app(["--host", "--port", port]);
  await second.says(/port \d+ is in use/);
  await second.says(/--port/);
  if (second.child.exitCode === null) await once(second.child, "exit");
  expect(second.child.exitCode).not.toBe(0);
});

test.skipIf(process.platform !== "linux")(
  "where no browser can be started, the address is to be opened by hand",
  async () => {
    const { says } = app([], { PATH: "/nowhere" });
    await says(/no browser could be started/);
  },
);

test("a page that was not built is told", async () => {
  await app(["--host"], { HONE_RENDERER: join(home, "none") }).says(/no built page/);
});
