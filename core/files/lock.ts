/** One process at a time in a folder. */

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { HoneError } from "../contract/errors.ts";

const lockName = "run.lock";

function owner(path: string): { pid: number; host: string } | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof value !== "object" || value === null) return undefined;
    const { pid, host } = value as Record<string, unknown>;
    return typeof pid === "number" && typeof host === "string" ? { pid, host } : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: there is such a process, but it is another user's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Takes the folder for this process and returns what gives it back. A lock that a killed process left is taken over;
 * a living owner is an error (`run-busy`).
 */
export function lockFolder(folder: string): () => void {
  const path = join(folder, lockName);
  const held = owner(path);
  const sameHost = held?.host === hostname();
  if (held !== undefined && (!sameHost || (held.pid !== process.pid && isAlive(held.pid)))) {
    throw new HoneError("run-busy", `${folder} is in use by process ${held.pid} on ${held.host}`, {
      fix: `wait for it, or stop it; if it is gone, delete ${path}`,
    });
  }
  writeFileSync(path, JSON.stringify({ pid: process.pid, host: hostname() }) + "\n");
  return () => {
    rmSync(path, { force: true });
  };
}
