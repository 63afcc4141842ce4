/** Finds and loads the native addon: the only place that does. */

import { createRequire } from "node:module";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { HoneError } from "../contract/errors.ts";
import type * as Native from "../../native/binding/index.d.ts";

export type { NativeModel, NativeModelInfo, NativeSampleEvent, NativeSamples } from "../../native/binding/index.d.ts";

let loaded: typeof Native | undefined;

/** The addon built by the set-up. @throws HoneError `engine-missing` when it is not there or does not load. */
export function loadNative(): typeof Native {
  if (loaded !== undefined) return loaded;
  const folder = fileURLToPath(new URL("../../native/binding/", import.meta.url));
  const name = readdirSync(folder).find((file) => file.endsWith(".node") && !file.startsWith("."));
  const fix = "Run `npm run setup` to build it.";
  if (name === undefined)
    throw new HoneError("engine-missing", `The native engine has not been built (no .node file in ${folder}).`, {
      fix,
    });
  try {
    loaded = createRequire(import.meta.url)(folder + name) as typeof Native;
  } catch (cause) {
    throw new HoneError("engine-missing", `The native engine ${folder}${name} does not load.`, { fix, cause });
  }
  return loaded;
}

/** The engine's errors arrive as "code\nmessage"; anything else is passed on as it is. */
export function toHoneError(error: unknown): unknown {
  const text = typeof error === "string" ? error : error instanceof Error ? error.message : undefined;
  const split = text?.indexOf("\n") ?? -1;
  if (text === undefined || split <= 0 || !/^[a-z0-9-]+$/.test(text.slice(0, split))) return error;
  return new HoneError(text.slice(0, split), text.slice(split + 1));
}
