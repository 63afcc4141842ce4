/** Moves the models folder. A stop is no harm: the same order goes on. */

import type { CheckedInput } from "../../contract/api/api.ts";
import type { MoveResult } from "../../contract/hub.ts";
import { moveModelsFolder } from "../../hub/storage/move-models-folder.ts";
import type { WorkContext } from "../service/work.ts";

/** Between two reports. */
const reportMs = 100;

export async function moveModelsWork({ to }: CheckedInput<"models.move">, context: WorkContext): Promise<MoveResult> {
  let told = 0;
  const result = await moveModelsFolder(to, {
    signal: context.signal,
    onProgress: ({ phase, bytes_done, bytes }) => {
      const now = performance.now();
      if (now - told < reportMs && bytes_done < bytes) return;
      told = now;
      context.report({
        phase: phase === "copy" ? "copying" : "deleting",
        progress: { done: bytes_done, total: bytes, unit: "byte" },
      });
    },
  });
  context.tell("library", "models");
  return result;
}
