/** Where models lie on this machine: Hone's own folder of models, and those of other programs. */

import { existsSync, mkdirSync, readFileSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import type { HubSourceName, ModelPlace } from "../../contract/hub.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import { honeHome } from "../../files/hone-home.ts";
import { readJson } from "../../files/json.ts";

export interface Place {
  place: ModelPlace;
  path: string;
  /** Hone writes and deletes only in its models folder and in the two hubs' caches. */
  readOnly: boolean;
}

function setting(name: string): string | undefined {
  const value = process.env[name];
  return value === undefined || value === "" ? undefined : value;
}

/** `~` and `$NAME` as the Python libraries expand them. */
function expand(path: string): string {
  const named = path.replace(/\$(?:(\w+)|\{(\w+)\})/g, (whole, bare?: string, braced?: string) => {
    return process.env[bare ?? braced ?? ""] ?? whole;
  });
  return resolve(named.replace(/^~(?=$|[/\\])/, homedir()));
}

/** `HF_HOME`, or `huggingface` in `XDG_CACHE_HOME`, or `~/.cache/huggingface`. */
export function huggingFaceHome(): string {
  return expand(setting("HF_HOME") ?? join(setting("XDG_CACHE_HOME") ?? "~/.cache", "huggingface"));
}

/** The variable that says where the cache is, where one does. */
export function cacheVariable(): "HF_HUB_CACHE" | "HUGGINGFACE_HUB_CACHE" | undefined {
  if (setting("HF_HUB_CACHE") !== undefined) return "HF_HUB_CACHE";
  return setting("HUGGINGFACE_HUB_CACHE") === undefined ? undefined : "HUGGINGFACE_HUB_CACHE";
}

/** Where the Python library `huggingface_hub` keeps models and datasets. */
export function huggingFaceCache(): string {
  const named = cacheVariable();
  return named === undefined ? join(huggingFaceHome(), "hub") : expand(setting(named) ?? "");
}

/** Where the Python library `modelscope` keeps them. */
export function modelScopeCache(): string {
  return expand(setting("MODELSCOPE_CACHE") ?? "~/.cache/modelscope");
}

const storageSchema = z.object({
  version: z.literal(1),
  /** Where downloads go; null: the Hugging Face cache. */
  models_folder: z.string().nullable(),
  /** A move that has not come to its end. */
  move: z.object({ from: z.string(), to: z.string(), phase: z.enum(["copy", "delete"]) }).nullable(),
});
export type StorageState = z.infer<typeof storageSchema>;

export function storageFile(): string {
  return join(honeHome(), "storage.json");
}

export function readStorage(): StorageState {
  const path = storageFile();
  return existsSync(path) ? readJson(path, storageSchema) : { version: 1, models_folder: null, move: null };
}

export function writeStorage(state: StorageState): void {
  mkdirSync(honeHome(), { recursive: true });
  writeFileAtomic(storageFile(), `${JSON.stringify(state, undefined, 2)}\n`);
}

/** Where Hone puts models and datasets of Hugging Face. A variable that names the cache decides over a folder moved before. */
export function modelsFolder(): string {
  if (cacheVariable() !== undefined) return huggingFaceCache();
  return readStorage().models_folder ?? huggingFaceCache();
}

/** Where what is downloaded from a hub goes. */
export function downloadFolder(source: HubSourceName): string {
  return source === "huggingface" ? modelsFolder() : modelScopeCache();
}

/** All folders in the layout of the Hugging Face cache: Hone's first, then the Python library's, then both ends of a move. */
export function huggingFaceCaches(): string[] {
  const { move } = readStorage();
  return [...new Set([modelsFolder(), huggingFaceCache(), ...(move === null ? [] : [move.from, move.to])])];
}

const ownFoldersSchema = z.object({ model_folders: z.array(z.string()).default([]) });

/** Folders that the person added in the settings. */
function ownFolders(): string[] {
  const path = join(honeHome(), "settings.json");
  // Damaged settings are told where they are read for their own sake.
  const read = existsSync(path) ? ownFoldersSchema.safeParse(parsed(path)) : undefined;
  return read?.success === true ? read.data.model_folders.map(expand) : [];
}

const lmStudioSettings = z.object({ downloadsFolder: z.string() });

/** LM Studio's folder of models: chosen by the person, beside its home, or the place of its first versions. */
function lmStudioFolders(): string[] {
  const pointer = join(homedir(), ".lmstudio-home-pointer");
  const pointed = existsSync(pointer) ? readFileSync(pointer, "utf8").trim() : "";
  const homes = [pointed, join(homedir(), ".lmstudio"), join(homedir(), ".cache", "lm-studio")].filter(Boolean);
  const chosen = homes.flatMap((home) => {
    const read = lmStudioSettings.safeParse(parsed(join(home, "settings.json")));
    return read.success ? [read.data.downloadsFolder] : [];
  });
  return [...chosen, ...homes.map((home) => join(home, "models"))];
}

function ollamaFolders(): string[] {
  const named = setting("OLLAMA_MODELS");
  if (named !== undefined) return [expand(named)];
  // The second is where the Linux service runs.
  return [join(homedir(), ".ollama", "models"), "/usr/share/ollama/.ollama/models"];
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** Every place with models that is there, each once, also where one is a link to another. Hone's own folder is first. */
export function modelPlaces(): Place[] {
  const some = (place: ModelPlace, readOnly: boolean, paths: readonly string[]): Place[] =>
    paths.map((path) => ({ place, path: resolve(path), readOnly }));
  const all = [
    ...some("huggingface", false, huggingFaceCaches()),
    ...some("modelscope", false, [modelScopeCache()]),
    ...some("lm-studio", true, lmStudioFolders()),
    ...some("ollama", true, ollamaFolders()),
    ...some("folder", true, ownFolders()),
  ];
  const seen = new Set<string>();
  return all.filter(({ path }) => {
    const real = realPath(path);
    if (real === undefined || seen.has(real)) return false;
    seen.add(real);
    return true;
  });
}

/** The path behind links; undefined where there is nothing, a link to nothing, or no permission to look. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
