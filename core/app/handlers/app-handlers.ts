import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { secretNames, type AppInfo, type FolderListing, type TokenList } from "../../contract/api/app-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import { createEngine } from "../../engine/engine.ts";
import { freeBytes } from "../../files/disk.ts";
import { honeHome } from "../../store/library.ts";
import { honeVersion } from "../session.ts";
import type { Handlers } from "../service/handlers.ts";
import { secretsFile, type Secrets } from "../service/secrets.ts";
import { readSettings, writeSettings } from "../service/settings.ts";

export function appHandlers(host: AppInfo["host"], secrets: Secrets): Handlers<"app"> {
  return {
    "app.info": async () => ({
      version: honeVersion(),
      engine_version: (await createEngine()).version,
      home: honeHome(),
      platform: process.platform,
      host,
    }),
    "app.machine": async () => {
      const devices = (await createEngine()).devices();
      const [{ memoryTotal, memoryFree }] = devices;
      return {
        devices: devices.map(({ name, kind, threads, simd, note }) => ({ name, kind, threads, simd, note })),
        memory_total: memoryTotal,
        memory_free: memoryFree,
        disk_free: freeBytes(honeHome()),
      };
    },
    "settings.get": () => readSettings(),
    "settings.set": async (change, context) => {
      const settings = writeSettings(change);
      context.tell("settings", settings);
      const isForDownloads = "download_limit" in change || "downloads_at_once" in change;
      if (isForDownloads) await context.call("hub.settings_changed", {});
      return settings;
    },
    "tokens.list": () => listTokens(secrets),
    "tokens.set": ({ name, value }) => {
      secrets.write(name, value);
      return listTokens(secrets);
    },
    "files.list": ({ path, kind }) => listFolder(path, kind),
  };
}

function listTokens(secrets: Secrets): TokenList {
  const tokens = secretNames.map((name) => ({ name, set: secrets.read(name) !== null }));
  return { place: secrets.place, file: secretsFile(), tokens };
}

/** Not in one go: a folder on a slow disk must not hold up what else the main thread does. */
async function listFolder(path: string | undefined, kind: "folder" | "file"): Promise<FolderListing> {
  const folder = resolve(path ?? homedir());
  const cannotRead = (cause: unknown) =>
    new HoneError("cannot-read", `the folder ${folder} cannot be read`, {
      cause,
      fix: "choose another folder, or allow Hone to read this one",
    });
  const names = await readdir(folder).catch((error: unknown) => Promise.reject(cannotRead(error)));
  const found = await Promise.all(
    names.filter((name) => !name.startsWith(".")).map(async (name) => describeEntry(name, join(folder, name))),
  );
  const entries = found
    .filter((entry) => entry !== undefined)
    .filter((entry) => entry.kind === "folder" || kind === "file")
    .sort((a, b) => (a.kind === b.kind ? a.name.localeCompare(b.name) : a.kind === "folder" ? -1 : 1));
  const parent = dirname(folder);
  return {
    path: folder,
    parent: parent === folder ? null : parent,
    entries,
    places: [
      { name: "home", path: homedir() },
      { name: "hone", path: honeHome() },
    ],
  };
}

/** Undefined for what is neither file nor folder, and for a link that leads nowhere. */
async function describeEntry(name: string, path: string): Promise<FolderListing["entries"][number] | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return { name, path, kind: "folder", size: 0 };
  return found?.isFile() === true ? { name, path, kind: "file", size: found.size } : undefined;
}
