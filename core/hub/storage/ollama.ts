/**
 * Ollama's models, read only: `manifests/<registry>/<namespace>/<name>/<tag>` (JSON as of OCI images) name layers in
 * `blobs/sha256-<hex>`; the one of type `application/vnd.ollama.image.model` is a GGUF file.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { StoredItem } from "./inventory.ts";
import type { Place } from "./places.ts";
import { listStored, storedFile, type StoredFile } from "./stored-files.ts";

const manifestSchema = z.object({
  layers: z.array(z.object({ mediaType: z.string(), digest: z.string().regex(/^sha256:[0-9a-f]{64}$/) })),
});

const weightsType = "application/vnd.ollama.image.model";

export function ollamaModels(place: Place): StoredItem[] {
  const manifests = listStored(join(place.path, "manifests"), 6).files;
  return manifests.flatMap(({ path, name: manifestPath }) => {
    const parts = path.split("/");
    if (parts.length < 4) return [];
    let layers: z.infer<typeof manifestSchema>["layers"];
    try {
      layers = manifestSchema.parse(JSON.parse(readFileSync(manifestPath, "utf8"))).layers;
    } catch {
      return [];
    }
    const weights = layers.filter(({ mediaType }) => mediaType === weightsType);
    // A model of the cloud has none here.
    if (weights.length === 0) return [];
    const blob = (digest: string) => join(place.path, "blobs", digest.replace(":", "-"));
    const found = layers.map(({ digest }): [string, StoredFile | undefined] => {
      const file = storedFile(blob(digest), blob(digest));
      return [blob(digest), file === "folder" ? undefined : file];
    });
    const [registry, namespace, ...rest] = parts;
    const [tag, ...nameParts] = rest.reverse();
    const model = nameParts.reverse().join("/");
    const owner = registry === "registry.ollama.ai" ? namespace : `${registry}/${namespace}`;
    const called = `${owner === "library" ? "" : `${owner}/`}${model}:${tag}`;
    return [
      {
        place,
        kind: "model",
        reference: `ollama:${called}`,
        name: called,
        path: blob(weights[0].digest),
        ref: null,
        commit: null,
        quant: null,
        files: found.flatMap(([, file]) => file ?? []),
        missing: found.filter(([, file]) => file === undefined).map(([path]) => path),
        unfinished: false,
        folder: place.path,
        repo: null,
      },
    ];
  });
}
