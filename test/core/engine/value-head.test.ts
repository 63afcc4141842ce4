import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { createEngine } from "../../../core/engine/engine.ts";
import type { Batch, Model, OpenOptions } from "../../../core/engine/types.ts";
import { starterFolder } from "../../../core/train/model-ref.ts";
import { TabularModel } from "../train/tabular-model.ts";

const root = mkdtempSync(join(tmpdir(), "hone-value-head-"));
let opened: Model[] = [];
afterEach(async () => {
  await Promise.all(opened.map((model) => model.close()));
  opened = [];
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function open(options: OpenOptions = { trainable: "full" }): Promise<Model> {
  const model = await (await createEngine()).open(starterFolder, options);
  opened.push(model);
  return model;
}

/** A prompt with two answers; only the answers are scored. */
const batch: Batch = {
  tokens: Int32Array.of(5, 6, 7, 8, 9, 10, 11, 12),
  segments: [{ length: 3 }, { length: 2, parent: 0 }, { length: 3, parent: 0 }],
  mask: Uint8Array.of(0, 0, 0, 1, 1, 1, 1, 1),
};

async function values(model: Model): Promise<{ values: number[]; endValues: number[] }> {
  const result = await model.forward(batch, { values: "shared" });
  return { values: [...(result.values ?? [])], endValues: [...(result.endValues ?? [])] };
}

/** One pass that pulls every value towards 1, and a step of the head. */
async function criticStep(model: Model, lr: number | null): Promise<void> {
  const result = await model.forward(batch, { grad: true, values: "detached" });
  const pull = Float32Array.from(result.values ?? [], (value) => value - 1);
  await model.backward(null, undefined, pull);
  // A step moves a value by about the rate times the width of the hidden state.
  await model.optimStep({ lr, valueLr: 0.2 / model.info().hiddenSize, maxGradNorm: 1 });
}

describe.each(["engine", "tabular model"])("the value head of the %s", (kind) => {
  const make = async () => (kind === "engine" ? open() : new TabularModel("table", { vocabSize: 32 }));

  test("starts at 0, learns alone, and is resumed from the optimizer state", async () => {
    const model = await make();
    expect(model.info().valueHead).toBe(false);
    const before = (await model.forward(batch)).logprobs;
    await model.attachValueHead();
    expect(model.info().valueHead).toBe(true);
    expect(await values(model)).toEqual({ values: [NaN, NaN, NaN, 0, 0, 0, 0, 0], endValues: [0, 0, 0] });
    for (let i = 0; i < 10; i++) await criticStep(model, null);
    const learned = await values(model);
    for (const value of learned.values.slice(3)) expect(Math.abs(value - 1)).toBeLessThan(0.9);
    // The prompt ends where both answers begin.
    expect(learned.endValues[0]).toBe(learned.values[3]);
    expect(learned.endValues[0]).toBe(learned.values[5]);
    expect((await model.forward(batch)).logprobs).toEqual(before);

    const state = join(root, `${kind}.safetensors`);
    await model.saveState(state);
    const resumed = await make();
    await resumed.loadState(state);
    expect(resumed.info().valueHead).toBe(true);
    expect(await values(resumed)).toEqual(learned);
    await Promise.all([criticStep(model, 1e-3), criticStep(resumed, 1e-3)]);
    expect(await values(resumed)).toEqual(await values(model));
  });

  test("misuse is named", async () => {
    const model = await make();
    const zeros = new Float32Array(8);
    await expect(model.forward(batch, { values: "shared" })).rejects.toMatchObject({ code: "no-value-head" });
    await expect(model.optimStep({ lr: null, valueLr: 0.1 })).rejects.toMatchObject({ code: "no-value-head" });
    await expect(model.optimStep({ lr: 0.1, valueLr: 0.1 })).rejects.toMatchObject({ code: "no-value-head" });
    await model.attachValueHead();
    await expect(model.attachValueHead()).rejects.toMatchObject({ code: "value-head-exists" });
    await model.forward(batch, { grad: true });
    await expect(model.backward(zeros, undefined, zeros)).rejects.toMatchObject({ code: "no-values" });
    await expect(model.optimStep({ lr: null })).rejects.toMatchObject({ code: "bad-config" });
  });

  test("its gradient norm is reported apart, and only where it is", async () => {
    const model = await make();
    const step = async () => {
      const mode = model.info().valueHead ? ({ values: "shared" } as const) : {};
      await model.forward(batch, { grad: true, ...mode });
      const d = new Float32Array(8).fill(-0.1);
      await model.backward(d, undefined, model.info().valueHead ? d : undefined);
      return model.optimStep({ lr: 1e-3, valueLr: model.info().valueHead ? null : undefined });
    };
    expect(await step()).not.toHaveProperty("valueGradNorm");
    await model.attachValueHead();
    const { gradNorm, valueGradNorm, shareWeightsChanged } = await step();
    expect(gradNorm).toBeGreaterThan(0);
    expect(valueGradNorm).toBeGreaterThan(0);
    expect(shareWeightsChanged).toBeGreaterThan(0);
    // `valueLr: null` left the head at 0.
    expect((await values(model)).endValues).toEqual([0, 0, 0]);
  });
});

test("correct marks the tokens that no other is likelier than", async () => {
  const model = await open({});
  const [{ tokens }] = await model.sample([
    { prompt: Int32Array.of(5, 6), maxTokens: 6, temperature: 0, seed: 1, topLogprobs: 2 },
  ]);
  const greedy = [5, 6, ...tokens];
  const other = greedy.map((id, i) => (i === 4 ? (id + 1) % model.info().vocabSize : id));
  const correct = async (ids: number[]) =>
    (await model.forward({ tokens: Int32Array.from(ids), segments: [{ length: ids.length }] })).correct;
  const first = await correct(greedy);
  expect(first).toBeInstanceOf(Uint8Array);
  expect([...first]).toEqual([0, first[1], ...Array.from(tokens, () => 1)]);
  expect([...(await correct(other))].slice(0, 5)).toEqual([0, first[1], 1, 1, 0]);
});
