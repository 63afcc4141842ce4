/**
 * The material that lies beside the repository (`../shared`, or wherever HONE_SHARED points): reference numbers and
 * models too large to commit. Tests that need it skip where it is absent, and say so.
 */

import { existsSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, it } from "vitest";

const BESIDE = fileURLToPath(new URL("../../shared", import.meta.url));

/** The path of shared material, or undefined where it does not exist. */
export function sharedPath(...parts: string[]): string | undefined {
  const path = join(resolve(process.env["HONE_SHARED"] ?? BESIDE), ...parts);
  return existsSync(path) ? path : undefined;
}

/** A `describe` whose tests need one shared path: `describeWithShared("SmolLM2", ["models", "x.gguf"], (path) => …)`. */
export function describeWithShared(name: string, parts: readonly string[], body: (path: string) => void): void {
  const path = sharedPath(...parts);
  if (path === undefined) describe.skip(skipped(name, parts), () => it("needs shared material", () => undefined));
  else describe(name, () => body(path));
}

/** An `it` that needs one shared path. */
export function itWithShared(
  name: string,
  parts: readonly string[],
  body: (path: string) => void | Promise<void>,
  timeout?: number,
): void {
  const path = sharedPath(...parts);
  if (path === undefined) it.skip(skipped(name, parts), () => undefined);
  else it(name, () => body(path), timeout);
}

/** Says on stderr, in a line that `npm test` shows even when all is well, what is skipped and why. */
function skipped(name: string, parts: readonly string[]): string {
  writeSync(2, `skipped: ${name} (shared/${parts.join("/")} is not here)\n`);
  return name;
}
