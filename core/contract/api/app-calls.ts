/** Calls about Hone itself, this machine and the person's settings. */

import { z } from "zod";
import { call } from "./call.ts";

export const themes = ["system", "light", "dark"] as const;
export const languages = ["en", "zh"] as const;

const settings = {
  theme: z.enum(themes),
  language: z.enum(languages).nullable(),
  /** Processor threads of the engine; null: all. */
  threads: z.number().int().min(1).nullable(),
  /** Bytes that the engine may take; null: what is free. */
  memory_limit: z.number().int().min(1).nullable(),
  /** Folders beside the usual ones in which models are looked for. */
  model_folders: z.array(z.string()),
  /** Address of a mirror of Hugging Face; null: HF_ENDPOINT, else the hub itself. */
  huggingface_endpoint: z.url({ protocol: /^https?$/ }).nullable(),
  /** Of all downloads together, in bytes per second; null: no limit. */
  download_limit: z.number().int().min(1000).nullable(),
  downloads_at_once: z.number().int().min(1).max(8),
  /** Whether plain or all options are shown first. */
  expert: z.boolean(),
};

/** What a person has chosen; kept in `settings.json` of Hone's folder. Null: as the machine has it. */
export const settingsSchema = z.object({
  theme: settings.theme.default("system"),
  language: settings.language.default(null),
  threads: settings.threads.default(null),
  memory_limit: settings.memory_limit.default(null),
  model_folders: settings.model_folders.default([]),
  huggingface_endpoint: settings.huggingface_endpoint.default(null),
  download_limit: settings.download_limit.default(null),
  downloads_at_once: settings.downloads_at_once.default(2),
  expert: settings.expert.default(false),
});
export type Settings = z.infer<typeof settingsSchema>;

/** Hubs whose access token Hone keeps. */
export const secretNames = ["huggingface", "modelscope"] as const;
export type SecretName = (typeof secretNames)[number];

/** `keychain`: locked by the system for this account; `file`: a file that only this account may read. */
export type SecretsPlace = "keychain" | "file";

export interface TokenList {
  place: SecretsPlace;
  /** The file in Hone's folder. */
  file: string;
  tokens: { name: SecretName; set: boolean }[];
}

export interface AppInfo {
  version: string;
  engine_version: string;
  /** Where runs, datasets and settings are. */
  home: string;
  platform: string;
  /** How this window reaches Hone. */
  host: "electron" | "browser";
}

export interface MachineInfo {
  devices: { name: string; kind: "cpu" | "gpu"; threads: number; simd: string; note: string }[];
  memory_total: number;
  memory_free: number;
  disk_free: number;
}

/** Of the whole machine, 0 to 1, and of Hone alone in bytes; told once a second on the topic `load` while somebody listens. */
export interface SystemLoad {
  time: number;
  cpu: number;
  memory_used: number;
  memory_total: number;
  hone_memory: number;
}

export interface FolderListing {
  /** The folder that is listed. */
  path: string;
  parent: string | null;
  entries: { name: string; path: string; kind: "folder" | "file"; size: number }[];
  /** Places to begin from: home, Hone's folder, drives. */
  places: { name: string; path: string }[];
}

export const appCalls = {
  "app.info": call<AppInfo>()(z.object({})),
  "app.machine": call<MachineInfo>()(z.object({})),
  "settings.get": call<Settings>()(z.object({})),
  /** Changes what is given and leaves the rest: what is left out must not become its default on the way. */
  "settings.set": call<Settings>()(z.object(settings).partial()),
  /** Which tokens there are; never the tokens themselves. */
  "tokens.list": call<TokenList>()(z.object({})),
  /** null removes it. */
  "tokens.set": call<TokenList>()(
    z.object({ name: z.enum(secretNames), value: z.string().trim().min(1).max(1000).nullable() }),
  ),
  /** Looks into a folder of this machine, for the file picker of a browser window. */
  "files.list": call<FolderListing>()(
    z.object({ path: z.string().optional(), kind: z.enum(["folder", "file"]).default("file") }),
  ),
};
