import { spawn, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/**
 * A checkout of its own, so that nothing here touches the real one: setup.mjs, the real packages, a native folder that
 * would need a build, and a command line that shows what reaches it.
 */
const REPO = fileURLToPath(new URL("..", import.meta.url));
let root = "";

const CLI = `
process.on("SIGTERM", () => console.log("SIGTERM"));
const [, , command, value] = process.argv;
if (command === "echo") console.log(JSON.stringify({ major: process.versions.node.split(".")[0], value }));
if (command === "exit") process.exitCode = Number(value);
if (command === "die") process.kill(process.pid, "SIGKILL");
if (command === "wait") { console.log("ready"); setTimeout(() => console.log("over"), 1000); }
`;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "hone-setup-"));
  for (const folder of ["bin", "core", "home", "test", "native/binding", "native/engine/src"]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  for (const file of ["setup.mjs", "package.json", "package-lock.json"])
    copyFileSync(join(REPO, file), join(root, file));
  symlinkSync(join(REPO, "node_modules"), join(root, "node_modules"));
  writeFileSync(join(root, "native", "Cargo.toml"), '[workspace.package]\nrust-version = "1.89"\n');
  writeFileSync(join(root, "native", "binding", "Cargo.toml"), '[package]\nname = "hone-binding"\n');
  writeFileSync(join(root, "core", "cli.ts"), CLI);
  // `types` needs no native build: it shows what a command gets once set-up is done.
  writeFileSync(join(root, "test", "run.ts"), CLI.replace("[, , command", "[, , , command"));
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Only this checkout's `bin` is on the path, and the home folder is empty: whatever the machine has is not found. */
function environment(): NodeJS.ProcessEnv {
  const home = join(root, "home");
  return { PATH: join(root, "bin"), HOME: home, USERPROFILE: home, XDG_CACHE_HOME: join(home, ".cache") };
}

function setup(args: string[], options: { node?: string[]; env?: NodeJS.ProcessEnv } = {}) {
  const argv = [...(options.node ?? []), join(root, "setup.mjs"), ...args];
  const env = { ...environment(), ...options.env };
  return spawnSync(process.execPath, argv, { cwd: root, env, encoding: "utf8" });
}

/** Puts a Rust on this checkout's path. Its cargo runs `build` (shell) when it is asked for more than its version. */
function fakeRust(version: string, build: string): void {
  const program = (name: string, script: string) =>
    writeFileSync(join(root, "bin", name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  program("rustc", `printf 'rustc ${version}\\nrelease: ${version}\\nhost: x86_64-unknown-linux-gnu\\n'`);
  program("cargo", `[ "$1" = --version ] && exit 0\n${build}`);
}

describe("what is missing is named, in one message, without a stack trace", () => {
  it("an old Node", () => {
    const old = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.0' } })";
    const { status, stderr, stdout } = setup(["hone"], { node: ["--import", `data:text/javascript,${old}`] });
    expect(status).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toContain("Hone needs Node.js 20 or later");
    expect(stderr).toContain("https://nodejs.org");
    expect(stderr).not.toContain(" at ");
  });

  it("an unknown command", () => {
    const { status, stderr } = setup(["tset"]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^Unknown command "tset". There are: setup, test, /);
  });

  it("no Rust", () => {
    const { status, stderr, stdout } = setup(["hone", "echo"]);
    expect(status).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toContain("rustc was not found");
    expect(stderr).toContain("https://rustup.rs");
    expect(stderr).not.toContain(" at ");
  });

  it.skipIf(process.platform === "win32")("a Rust that is too old", () => {
    fakeRust("1.70.0", "exit 1");
    const { status, stderr } = setup(["hone", "echo"]);
    expect(status).toBe(1);
    expect(stderr).toContain("needs Rust 1.89 or later; this is 1.70.0");
    expect(stderr).toContain("rustup update");
  });

  it.skipIf(process.platform === "win32")("a native build that fails, with what the compiler said", () => {
    fakeRust("1.95.0", "echo 'error: no such crate' >&2; exit 1");
    const { status, stderr } = setup(["hone", "echo"]);
    expect(status).toBe(1);
    expect(stderr).toContain("building the native engine (the first time takes a minute or two) … failed");
    expect(stderr).toContain("no such crate");
    expect(stderr).not.toContain("setup.mjs:");
  });
});

describe("running a command", () => {
  it("uses Node 24, passes arguments, and keeps stdout for the command", () => {
    const { status, stdout, stderr } = setup(["types", "echo", "two words; $HOME"]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({ major: "24", value: "two words; $HOME" });
    expect(status).toBe(0);
  });

  it("ends as the command ends", () => {
    expect(setup(["types", "exit", "7"]).status).toBe(7);
    expect(setup(["types", "die"]).signal).toBe("SIGKILL");
  });

  it.skipIf(process.platform === "win32")("passes a signal on once and waits for the command", async () => {
    const child = spawn(process.execPath, [join(root, "setup.mjs"), "types", "wait"], {
      cwd: root,
      env: environment(),
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (text.includes("ready")) for (let i = 0; i < 3; i++) child.kill("SIGTERM");
      output += text;
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(output).toBe("ready\nSIGTERM\nover\n");
    expect(code).toBe(0);
  });
});

describe("two set-ups at once", () => {
  it.skipIf(process.platform === "win32")("wait for each other, and take over from one that was killed", async () => {
    // A cargo that takes its time: whether two of them overlap shows in the order of the marks.
    const log = join(root, "log");
    const sleep = `'${process.execPath}' -e 'setTimeout(() => {}, 400)'`;
    fakeRust("1.95.0", `echo start >> '${log}'; ${sleep}; echo end >> '${log}'; exit 1`);
    const start = () => spawn(process.execPath, [join(root, "setup.mjs"), "hone"], { cwd: root, env: environment() });
    const finished = (child: ReturnType<typeof start>) => new Promise((resolve) => child.on("close", resolve));
    await Promise.all([finished(start()), finished(start())]);
    expect(readFileSync(log, "utf8")).toBe("start\nend\nstart\nend\n");

    rmSync(log);
    const killed = start();
    while (!existsSync(log)) await new Promise((resolve) => setTimeout(resolve, 20));
    killed.kill("SIGKILL");
    await finished(killed);
    rmSync(log);
    await finished(start());
    expect(readFileSync(log, "utf8")).toContain("start");
  });
});
