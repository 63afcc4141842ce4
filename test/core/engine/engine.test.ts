import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createEngine } from "../../../core/engine/engine.ts";
import { starterFolder } from "../../../core/train/model-ref.ts";

const root = mkdtempSync(join(tmpdir(), "hone-engine-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("the engine behind its interface", () => {
  test("streams tokens, stops on abort, and refuses calls after close", async () => {
    const engine = await createEngine();
    const progress: number[] = [];
    const model = await engine.open(starterFolder, {}, ({ done, total }) => void progress.push(done / total));
    expect(progress.at(-1)).toBe(1);
    expect(model.info()).toMatchObject({ architecture: "llama", tiedEmbeddings: true, trainable: "none" });

    const abort = new AbortController();
    const seen: number[] = [];
    const [sample] = await model.sample([{ prompt: Int32Array.of(1, 2, 3), maxTokens: 900, seed: 1 }], {
      signal: abort.signal,
      onToken: ({ token }) => {
        seen.push(token);
        if (seen.length === 5) abort.abort();
      },
    });
    expect(sample.stopReason).toBe("cancelled");
    expect(sample.tokens.length).toBeLessThan(900);
    expect([...sample.tokens].slice(0, 5)).toEqual(seen.slice(0, 5));

    await model.close();
    await expect(model.forward({ tokens: Int32Array.of(1, 2), segments: [{ length: 2 }] })).rejects.toMatchObject({
      code: "closed",
    });
    await model.close();
  });

  test("returns the likeliest tokens of every position", async () => {
    const engine = await createEngine();
    const model = await engine.open(starterFolder);
    const requests = [0, 1].map((seed) => ({ prompt: Int32Array.of(5, 6), n: 2, maxTokens: 4, seed, topLogprobs: 3 }));
    const samples = await model.sample(requests);
    expect(samples.map(({ request, index }) => [request, index])).toEqual([
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
    ]);
    for (const { topLogprobs, tokens, logprobs } of samples) {
      expect(topLogprobs).toHaveLength(tokens.length);
      topLogprobs?.forEach((top, t) => {
        expect(top).toHaveLength(3);
        expect(top[0][1]).toBeGreaterThanOrEqual(top[1][1]);
        const own = top.find(([id]) => id === tokens[t]);
        if (own !== undefined) expect(own[1]).toBeCloseTo(logprobs[t], 5);
      });
    }
    await model.close();
  });

  test("draws nothing from a model that has diverged", async () => {
    const engine = await createEngine();
    const model = await engine.open(starterFolder, { trainable: "full" });
    await model.forward({ tokens: Int32Array.of(5, 6, 7), segments: [{ length: 3 }] }, { grad: true });
    await model.backward(new Float32Array(3).fill(-1));
    // The second step goes on with the first one's momentum, beyond the largest number.
    for (let i = 0; i < 2; i++) await model.optimStep({ lr: 3e38 });
    for (const temperature of [0, 1]) {
      const request = { prompt: Int32Array.of(5, 6), maxTokens: 4, temperature, seed: 1 };
      await expect(model.sample([request])).rejects.toMatchObject({ code: "non-finite-logits" });
    }
    await model.close();
  });

  test("names what cannot be opened", async () => {
    const engine = await createEngine();
    await expect(engine.open(join(root, "nothing"))).rejects.toMatchObject({ code: "file-not-found" });
    await expect(engine.open(starterFolder, { trainable: "full", memoryLimit: 1 << 20 })).rejects.toMatchObject({
      code: "out-of-memory",
    });
  });

  test.runIf(process.platform === "linux")("predicts the memory of training within a fifth", () => {
    const child = join(import.meta.dirname, "memory-child.ts");
    for (const [rows, length] of [
      [64, 160],
      [16, 160],
    ]) {
      const args = [child, join(root, `model-${rows}`), String(rows), String(length)];
      const { predicted, measured } = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as {
        predicted: number;
        measured: number;
      };
      expect(predicted / measured, `${rows} rows: ${predicted} predicted, ${measured} taken`).toBeGreaterThan(0.8);
      expect(predicted / measured, `${rows} rows: ${predicted} predicted, ${measured} taken`).toBeLessThan(1.2);
    }
  });
});
