/**
 * How fast a model answers, from what was measured on this machine. One token of one conversation reads every weight
 * once, so on a processor the time goes by the bytes of the weights; a figure for another model is scaled by them.
 */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "../../files/atomic.ts";
import { honeHome } from "../../files/hone-home.ts";
import { readJson } from "../../files/json.ts";
import type { FitReport } from "../../contract/hub.ts";
import type { Model } from "../../engine/types.ts";

const measurementSchema = z.object({
  version: z.literal(1),
  model: z.string(),
  cores: z.number().int().min(1),
  weight_bytes: z.number().min(1),
  tokens_per_second: z.number().positive(),
  time: z.string(),
});

/** Weights that are smaller live in the processor's caches: they say nothing of larger ones. */
const smallest = 50e6;
/** Beyond this factor a model of another size is another matter. */
const farthest = 50;
const measuredTokens = 48;

function file(): string {
  return join(honeHome(), "speed.json");
}

/** Draws a short answer, and keeps the figure for other models where it says something of them. */
export async function measureSpeed(
  model: Model,
  name: string,
  cores: number,
): Promise<NonNullable<FitReport["speed"]>> {
  const prompt = Int32Array.from({ length: 16 }, (_, i) => i + 20);
  const seconds = async (maxTokens: number) => {
    // None of these ends an answer, whatever the model would say.
    const allowed = Array.from({ length: maxTokens }, () => [20, 21, 22, 23]);
    const started = performance.now();
    await model.sample([{ prompt, maxTokens, seed: 1, allowed }]);
    return (performance.now() - started) / 1000;
  };
  // The first call reads the weights from the disk; what the prompt takes is in both of the others.
  await seconds(2);
  const least = await seconds(1);
  const tokens_per_second = (measuredTokens - 1) / Math.max(1e-6, (await seconds(measuredTokens)) - least);
  const { weightBytes } = model.info();
  if (weightBytes >= smallest) {
    mkdirSync(honeHome(), { recursive: true });
    const time = new Date().toISOString();
    const measured = { version: 1, model: name, cores, weight_bytes: weightBytes, tokens_per_second, time };
    writeFileAtomic(file(), `${JSON.stringify(measured, null, 2)}\n`);
  }
  return { tokens_per_second, from: "measured now on this machine" };
}

/** Null where nothing was measured that says something of a model of this size. */
export function scaledSpeed(weightBytes: number, { cores }: { cores: number }): FitReport["speed"] {
  if (!existsSync(file())) return null;
  const measured = readJson(file(), measurementSchema);
  const factor = weightBytes / measured.weight_bytes;
  if (measured.cores !== cores || weightBytes < smallest || factor > farthest) return null;
  return {
    tokens_per_second: measured.tokens_per_second / factor,
    from: `scaled from ${measured.model}, which was measured on this machine on ${measured.time.slice(0, 10)}`,
  };
}
