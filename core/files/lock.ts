/** One process at a time in a folder. */

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { HoneError } from "../contract/errors.ts";

const lockName = "run.lock";

const ownerSchema = z.object({
  pid: z.number().int(),
  host: z.string(),
  /** Where the system tells it: when the process began, so that a later one with the same number is told apart. */
  began: z.string().nullable(),
});
type Owner = z.infer<typeof ownerSchema>;

function readOwner(path: string): Owner | undefined {
  try {
    return ownerSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // No lock, or one that a kill cut short.
    return undefined;
  }
}

/** Linux: clock ticks since boot, field 22 of `/proc/<pid>/stat` (the name in field 2 may hold spaces). */
function processBegan(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

function isAlive({ pid, began }: Owner): boolean {
  const now = processBegan(pid);
  if (began !== null && now !== null) return began === now;
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
  const held = readOwner(path);
  if (held !== undefined && isForeign(held)) {
    throw new HoneError("run-busy", `${folder} is in use by process ${held.pid} on ${held.host}`, {
      fix: `wait for it, or stop it; if it is gone, delete ${path}`,
    });
  }
  const owner: Owner = { pid: process.pid, host: hostname(), began: processBegan(process.pid) };
  writeFileSync(path, JSON.stringify(owner) + "\n");
  return () => {
    rmSync(path, { force: true });
  };
}

/** Whether another living process holds the folder. This process's own lock does not count. */
export function isLockedElsewhere(folder: string): boolean {
  const held = readOwner(join(folder, lockName));
  return held !== undefined && isForeign(held);
}

/** Whether any living process holds the folder, this one too: another thread of it may. */
export function isLocked(folder: string): boolean {
  const held = readOwner(join(folder, lockName));
  return held !== undefined && (held.host !== hostname() || isAlive(held));
}

function isForeign(owner: Owner): boolean {
  return owner.host !== hostname() || (owner.pid !== process.pid && isAlive(owner));
}
