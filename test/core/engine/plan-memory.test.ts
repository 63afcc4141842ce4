import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createEngine } from "../../../core/engine/engine.ts";
import { planMemory } from "../../../core/engine/plan-memory.ts";
import { starterFolder } from "../../../core/train/model-ref.ts";

const config = readFileSync(join(starterFolder, "config.json"), "utf8");

test.each(["none", "lora", "full"] as const)(
  "a forecast is what the opened model estimates (%s)",
  async (trainable) => {
    const engine = await createEngine();
    const model = await engine.open(starterFolder, { trainable: trainable === "full" ? "full" : "none" });
    try {
      if (trainable === "lora") await model.attachLora({ r: 8, lora_alpha: 16, seed: 1 });
      const { weightBytes, parameters, kvBytesPerToken, contextLength, layers } = model.info();
      for (const plan of [
        { tokens: 300, targets: 120 },
        { sequences: 4, length: 700, prefill: 600 },
      ]) {
        const forecast = planMemory({ config, origin: "starter", weightBytes, trainable, loraRank: 8 }, plan);
        expect(forecast.memory).toEqual(await model.estimateMemory(plan));
        expect(forecast).toMatchObject({ parameters, kvBytesPerToken, contextLength, layers, architecture: "llama" });
      }
    } finally {
      await model.close();
    }
  },
);

test("refuses what the engine would not open, by name", () => {
  const plan = (json: unknown) => () =>
    planMemory({ config: JSON.stringify(json), origin: "acme/new", weightBytes: 1, trainable: "none" }, {});
  expect(plan({ model_type: "mamba" })).toThrow(
    expect.objectContaining({
      code: "unknown-architecture",
      message: expect.stringContaining("acme/new") as string,
    }) as Error,
  );
  expect(plan({ ...JSON.parse(config), mlp_bias: true })).toThrow(
    expect.objectContaining({ code: "unsupported-config" }) as Error,
  );
  expect(plan([])).toThrow(expect.objectContaining({ code: "bad-config" }) as Error);
});
