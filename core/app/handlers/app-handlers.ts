import { readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { AppInfo, FolderListing } from "../../contract/api/app-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import { createEngine } from "../../engine/engine.ts";
import { freeBytes } from "../../files/disk.ts";
import { honeHome } from "../../store/library.ts";
import { honeVersion } from "../session.ts";
import type { Handlers } from "../service/handlers.ts";
import { readSettings, writeSettings } from "../service/settings.ts";

export function appHandlers(host: AppInfo["host"]): Handlers<"app"> {
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
    "settings.set": (change, context) => {
      const settings = writeSettings(change);
      context.tell("settings", settings);
      return settings;
    },
    "files.list": ({ path, kind }) => listFolder(path, kind),
  };
}

function listFolder(path: string | undefined, kind: "folder" | "file"): FolderListing {
  const folder = resolve(path ?? homedir());
  let names;
  try {
    names = readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    throw new HoneError("cannot-read", `the folder ${folder} cannot be read`, {
      cause: error,
      fix: "choose another folder, or allow Hone to read this one",
    });
  }
  const entries = names
    .filter(({ name }) => !name.startsWith("."))
    .flatMap(({ name }): FolderListing["entries"] => {
      const whole = join(folder, name);
      const found = statSync(whole, { throwIfNoEntry: false });
      if (found === undefined) return [];
      if (found.isDirectory()) return [{ name, path: whole, kind: "folder", size: 0 }];
      return kind === "file" && found.isFile() ? [{ name, path: whole, kind: "file", size: found.size }] : [];
    })
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
