/** What a person has chosen, in `settings.json` of Hone's folder. */

import { existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { settingsSchema, type Settings } from "../../contract/api/app-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import { readJson } from "../../files/json.ts";
import { honeHome } from "../../store/library.ts";

export function settingsFile(): string {
  return join(honeHome(), "settings.json");
}

/** A damaged file is set aside, so that Hone starts all the same and nothing is lost. */
export function readSettings(): Settings {
  const path = settingsFile();
  if (!existsSync(path)) return settingsSchema.parse({});
  try {
    return readJson(path, settingsSchema);
  } catch (error) {
    if (!(error instanceof HoneError)) throw error;
    renameSync(path, `${path}.damaged`);
    return settingsSchema.parse({});
  }
}

export function writeSettings(change: Partial<Settings>): Settings {
  const settings = settingsSchema.parse({ ...readSettings(), ...change });
  const path = settingsFile();
  mkdirSync(dirname(path), { recursive: true });
  writeFileAtomic(path, `${JSON.stringify(settings, undefined, 2)}\n`);
  return settings;
}
