/** Runs the real command line in a process of its own. */

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const cli = fileURLToPath(new URL("../../../core/cli.ts", import.meta.url));

export interface Finished {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface HoneOptions {
  input?: string;
  /** HONE_HOME; default: a new empty folder. */
  home?: string;
  cwd?: string;
  /** As `npm run hone` starts it. */
  fromNpm?: boolean;
}

export interface Running {
  child: ChildProcess;
  finished: Promise<Finished>;
  /** Resolves when stderr has matched. */
  says: (pattern: RegExp) => Promise<void>;
}

export function newHome(): string {
  return mkdtempSync(join(tmpdir(), "hone-home-"));
}

export function start(args: readonly string[], options: HoneOptions = {}): Running {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", cli, ...args], {
    env: environment(options),
    cwd: options.cwd ?? tmpdir(),
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  const waiting: { pattern: RegExp; resolve: () => void }[] = [];
  child.stdout.on("data", (data: Buffer) => (stdout += data.toString()));
  child.stderr.on("data", (data: Buffer) => {
    stderr += data.toString();
    for (const { pattern, resolve } of waiting) if (pattern.test(stderr)) resolve();
  });
  // A command that ends without reading its input closes the pipe.
  child.stdin.on("error", () => undefined);
  child.stdin.end(options.input ?? "");
  const finished = new Promise<Finished>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      for (const { resolve: release } of waiting) release();
      resolve({ code, signal, stdout, stderr });
    });
  });
  const says = (pattern: RegExp) =>
    new Promise<void>((resolve) => {
      if (pattern.test(stderr)) resolve();
      else waiting.push({ pattern, resolve });
    });
  return { child, finished, says };
}

/** Node keeps compiled code here, by its content: a hundred processes need not strip the types of the same files. */
const compileCache = join(tmpdir(), "hone-compile-cache");

/** As in a user's own terminal, whatever runs the tests. */
function environment({ home, fromNpm = false }: HoneOptions): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    HONE_HOME: home ?? newHome(),
    NO_COLOR: "1",
    NODE_COMPILE_CACHE: compileCache,
  };
  delete env["npm_lifecycle_event"];
  return fromNpm ? { ...env, npm_lifecycle_event: "hone" } : env;
}

export function hone(args: readonly string[], options: HoneOptions = {}): Promise<Finished> {
  return start(args, options).finished;
}
