import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { LocalModel } from "../../contract/hub.ts";
import { starterFolder } from "../../train/model-ref.ts";
import type { Handlers } from "../service/handlers.ts";

export const modelHandlers: Handlers<"models"> = {
  "models.list": () => ({ places: [], models: [starterModel()] }),
};

function starterModel(): LocalModel {
  const sizes = readdirSync(starterFolder).map((name) => statSync(join(starterFolder, name)).size);
  return {
    reference: "starter",
    name: "starter",
    place: "starter",
    path: starterFolder,
    ref: null,
    kind: "model",
    commit: null,
    format: "safetensors",
    architecture: "LlamaForCausalLM",
    parameters: null,
    quant: null,
    bytes: sizes.reduce((all, size) => all + size, 0),
    complete: true,
    missing: [],
    unsupported: null,
    modified: null,
    last_used: null,
    removable: false,
  };
}
