/** Access tokens of hubs. Windows may set and remove them and see whether there is one; no window gets one to read. */

import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { secretNames, type SecretName, type SecretsPlace } from "../../contract/api/app-calls.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import { honeHome } from "../../files/hone-home.ts";
import { readJson } from "../../files/json.ts";

export interface Secrets {
  /** How they are kept, to be said plainly to the person. */
  readonly place: SecretsPlace;
  read(name: SecretName): string | null;
  /** null removes it. */
  write(name: SecretName, value: string | null): void;
}

/** How a token is written into the file: as it is, or locked by the system. */
export interface SecretsLock {
  readonly place: SecretsPlace;
  readonly lock: (value: string) => string;
  readonly unlock: (kept: string) => string;
}

const openLock: SecretsLock = { place: "file", lock: (value) => value, unlock: (kept) => kept };

export function secretsFile(): string {
  return join(honeHome(), "secrets.json");
}

/** In `secrets.json` of Hone's folder, which only the person's own account may read. */
export function fileSecrets({ place, lock, unlock }: SecretsLock = openLock): Secrets {
  const file = secretsFile();
  const schema = z.partialRecord(z.enum(secretNames), z.object({ place: z.string(), value: z.string() }));
  const readAll = () => (existsSync(file) ? readJson(file, schema) : {});
  return {
    place,
    read(name) {
      const kept = readAll()[name];
      if (kept === undefined) return null;
      // Written by the other host: a browser cannot open what the system's keychain has locked.
      if (kept.place === "file") return kept.value;
      return kept.place === place ? unlock(kept.value) : null;
    },
    write(name, value) {
      const all = readAll();
      if (value === null) delete all[name];
      else all[name] = { place, value: lock(value) };
      if (Object.keys(all).length === 0) {
        rmSync(file, { force: true });
        return;
      }
      mkdirSync(dirname(file), { recursive: true });
      writeFileAtomic(file, `${JSON.stringify(all, undefined, 2)}\n`, { mode: 0o600 });
    },
  };
}
