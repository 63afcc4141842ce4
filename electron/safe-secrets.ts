/** Tokens locked by the system's keychain, where there is one; else in a file, which is said to the person. */

import { safeStorage } from "electron";
import { fileSecrets, type Secrets } from "../core/app/service/secrets.ts";

/** When the app is ready. */
export function safeSecrets(): Secrets {
  // On a Linux without a keyring Electron "locks" with a word that is the same everywhere.
  const isLocked =
    safeStorage.isEncryptionAvailable() &&
    (process.platform !== "linux" || safeStorage.getSelectedStorageBackend() !== "basic_text");
  if (!isLocked) return fileSecrets();
  return fileSecrets({
    place: "keychain",
    lock: (value) => safeStorage.encryptString(value).toString("base64"),
    unlock: (kept) => safeStorage.decryptString(Buffer.from(kept, "base64")),
  });
}
