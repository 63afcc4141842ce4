/** The runs in Hone's folder, by name. */

import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { HoneError } from "../contract/errors.ts";
import { nearest } from "../contract/nearest.ts";
import { runFiles } from "../contract/run.ts";
import { shellWord } from "../contract/units.ts";
import { honeHome } from "../files/hone-home.ts";

export { honeHome };

export function runsFolder(): string {
  return join(honeHome(), "runs");
}

function isRunFolder(path: string): boolean {
  return existsSync(join(path, runFiles.config)) && existsSync(join(path, runFiles.checkpoints));
}

/** Names of the runs in the library, newest first. */
export function listRuns(): string[] {
  const folder = runsFolder();
  if (!existsSync(folder)) return [];
  const runs = readdirSync(folder).filter((name) => isRunFolder(join(folder, name)));
  const made = (name: string) => statSync(join(folder, name, runFiles.config)).birthtimeMs;
  return runs.sort((a, b) => made(b) - made(a) || (a < b ? 1 : -1));
}

/** The folder of a run given by path or by its name in the library; undefined when there is none. */
export function findRun(reference: string): string | undefined {
  const asPath = resolve(reference);
  if (isRunFolder(asPath)) return asPath;
  if (isAbsolute(reference) || reference.includes("/") || reference.includes(sep)) return undefined;
  const inLibrary = join(runsFolder(), reference);
  return reference !== "" && isRunFolder(inLibrary) ? inLibrary : undefined;
}

/** A run as a command takes it: its name when it is in the library, its path otherwise; quoted where it must be. */
export function runWord(path: string): string {
  const whole = resolve(path);
  return shellWord(dirname(whole) === runsFolder() ? basename(whole) : whole);
}

/** As `findRun`; throws `no-such-run` with the nearest known name. */
export function requireRun(reference: string): string {
  const found = findRun(reference);
  if (found !== undefined) return found;
  const meant = nearest(reference, listRuns());
  throw new HoneError("no-such-run", `there is no run ${JSON.stringify(reference)}`, {
    fix:
      meant === undefined
        ? "`hone ls` lists the runs"
        : `did you mean ${JSON.stringify(meant)}? \`hone ls\` lists the runs`,
  });
}

/** A name that no run in the library has yet: task, method, and a number. */
export function newRunName(parts: readonly string[]): string {
  const base = parts.map((part) => part.replace(/[^A-Za-z0-9.-]+/g, "-")).join("-");
  for (let number = 1; ; number++) {
    const name = `${base}-${String(number).padStart(3, "0")}`;
    if (!existsSync(join(runsFolder(), name))) return name;
  }
}
