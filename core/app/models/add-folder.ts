/** Models that lie anywhere: their folder is looked at from now on, and they stay where they are. */

import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { HoneError } from "../../contract/errors.ts";
import { itemsOf } from "../../hub/storage/inventory.ts";
import { modelPlaces } from "../../hub/storage/places.ts";
import { isBelow } from "../../hub/storage/remove-model.ts";
import type { CallContext } from "../service/handlers.ts";
import { readSettings } from "../service/settings.ts";

/** A folder, or a .gguf file, whose folder is meant. Throws `no-such-file`, `not-a-model`, `no-models-here`. */
export async function addModelFolder(
  path: string,
  context: Pick<CallContext, "call" | "tell">,
): Promise<{ folder: string; models: number }> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    throw new HoneError("no-such-file", `there is nothing at ${path}`, {
      fix: "give the path of a folder on this machine",
    });
  }
  if (found.isFile() && !/\.gguf$/i.test(path)) {
    throw new HoneError("not-a-model", `${path} is no model by itself`, {
      fix: "give the folder that it lies in, or a .gguf file",
    });
  }
  const folder = resolve(found.isFile() ? dirname(path) : path);
  const known = modelPlaces().find((place) => place.path === folder || isBelow(folder, place.path));
  const items = itemsOf(known ?? { place: "folder", path: folder, readOnly: true });
  const models = items.filter((item) => isBelow(item.path, folder) || item.folder === folder).length;
  if (models === 0) {
    throw new HoneError("no-models-here", `no model was found in ${folder}`, {
      fix: "a model is a folder with config.json and .safetensors files, or a .gguf file",
    });
  }
  if (known === undefined) {
    const { model_folders: before } = readSettings();
    await context.call("settings.set", { model_folders: [...before, folder] });
    context.tell("library", "models");
  }
  return { folder, models };
}
