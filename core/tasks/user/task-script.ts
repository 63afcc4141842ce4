/**
 * A user's TypeScript or JavaScript that makes rows or is an environment: pure functions, run in the sandbox of rewards.
 * Every call sees a fresh world, so what a function returns follows from its arguments alone.
 */

import { basename } from "node:path";
import { HoneError } from "../../contract/errors.ts";
import { deriveSeed, type Seed } from "../../contract/random.ts";
import { Sandbox } from "../../rewards/sandbox.ts";
import type { SandboxFault } from "../../rewards/sandbox-worker.ts";
import { readCode } from "../../rewards/script.ts";

/** Seconds of one call. */
const callSeconds = 2;
const memoryBytes = 64 * 2 ** 20;

export class TaskScript<Name extends string> {
  readonly path: string;
  readonly #sandbox: Sandbox;
  readonly #functions: ReadonlySet<string>;

  private constructor(path: string, sandbox: Sandbox, functions: ReadonlySet<string>) {
    this.path = path;
    this.#sandbox = sandbox;
    this.#functions = functions;
  }

  /** Throws `bad-task` with file and line when the code cannot be loaded or lacks a function. */
  static async open<Name extends string>(
    path: string,
    { required, optional = [] }: { required: readonly Name[]; optional?: readonly Name[] },
  ): Promise<TaskScript<Name>> {
    const names = [...required, ...optional];
    // Functions are called by name through one export; the user's own lines stay where they are.
    const table = names.map((name) => `${name}: typeof ${name} === "function" ? ${name} : undefined`).join(", ");
    const caller = `export default ({ name, calls }) => { const all = { ${table} }; return name === undefined ? Object.keys(all).filter((key) => all[key]) : calls.map((args) => all[name](...args) ?? null); };`;
    const code = `${readCode(path)}\n;${caller}`;
    const sandbox = new Sandbox({ code, file: basename(path), seconds: callSeconds, memoryBytes });
    try {
      const found = new Set((await callIn(sandbox, path, {}, 0)) as string[]);
      const missing = required.find((name) => !found.has(name));
      if (missing === undefined) return new TaskScript(path, sandbox, found);
      throw new HoneError("bad-task", `${path} has no function ${missing}`, {
        fix: `export function ${missing}(…) { … }`,
      });
    } catch (error) {
      await sandbox.close();
      throw error;
    }
  }

  has(name: Name): boolean {
    return this.#functions.has(name);
  }

  /** Arguments and result cross as JSON. `Math.random` follows from the seed. Throws `bad-task` with file and line. */
  async call(name: Name, args: readonly unknown[], seed: Seed): Promise<unknown> {
    const [result] = await this.callEach(name, [args], seed);
    return result;
  }

  /** Many calls in one world, which is much quicker: for work that is known beforehand. Nothing returned is null. */
  async callEach(name: Name, calls: readonly (readonly unknown[])[], seed: Seed): Promise<unknown[]> {
    return (await callIn(this.#sandbox, this.path, { name, calls }, deriveSeed(seed, name))) as unknown[];
  }

  close(): Promise<void> {
    return this.#sandbox.close();
  }
}

async function callIn(sandbox: Sandbox, path: string, request: object, seed: number): Promise<unknown> {
  const { value, fault, log } = await sandbox.run({ json: JSON.stringify(request), seed });
  if (fault === undefined) return value === undefined ? undefined : (JSON.parse(value) as unknown);
  const console = log.length === 0 ? "" : `; its console: ${log.slice(-3).join(" | ")}`;
  throw new HoneError("bad-task", told(path, fault) + console);
}

function told(path: string, { kind, message, line, column }: SandboxFault): string {
  const limits: Record<string, string> = {
    late: `a call took longer than ${callSeconds} s`,
    memory: `a call took more than ${memoryBytes / 2 ** 20} MB`,
    stack: "its functions call each other too deeply",
  };
  return `${line === undefined ? path : `${path}:${line}:${column ?? 1}`}: ${limits[kind] ?? message}`;
}
