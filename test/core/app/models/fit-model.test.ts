/** What a fit says is near to what is taken, the same as what training plans with, and told in words that help. */

import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  fitCatalogEntry,
  fitLocal,
  fitRepository,
  requireDisk,
  thisMachine,
  type FitMachine,
} from "../../../../core/app/models/fit-model.ts";
import { fitReference } from "../../../../core/app/models/fit-reference.ts";
import { measureSpeed, scaledSpeed } from "../../../../core/app/models/model-speed.ts";
import { catalogSchema, fitReportSchema } from "../../../../core/contract/hub.ts";
import { createEngine } from "../../../../core/engine/engine.ts";
import type { Engine } from "../../../../core/engine/types.ts";
import {
  alternativeOf,
  catalogFile,
  catalogsFolder,
  findInCatalog,
  readCatalogs,
} from "../../../../core/hub/catalog.ts";
import { openSource } from "../../../../core/hub/sources/open-hub.ts";
import { findModel, starterFolder } from "../../../../core/train/model-ref.ts";
import { startHubServer } from "../../../hub-server/hub-server.ts";
import { fileContent, TestRepository } from "../../../hub-server/repository.ts";
import { gatedModel, sampleModel, starterModel } from "../../../hub-server/samples.ts";
import { itWithShared } from "../../../shared.ts";

const gguf = ["models", "SmolLM2-135M-Instruct.Q4_1.gguf"];
const roomy: FitMachine = { memory_bytes: 64e9, free_bytes: 60e9, cores: 8 };
const code = (name: string) => expect.objectContaining({ code: name }) as Error;

let engine: Engine;
beforeAll(async () => {
  engine = await createEngine();
});
beforeEach(() => {
  const home = mkdtempSync(join(tmpdir(), "hone-fit-"));
  vi.stubEnv("HONE_HOME", home);
  vi.stubEnv("HF_HOME", join(home, "hf"));
  vi.stubEnv("HF_HUB_CACHE", "");
  vi.stubEnv("MODELSCOPE_CACHE", join(home, "ms"));
});
afterEach(() => void vi.unstubAllEnvs());

describe("a model on this machine", () => {
  test("its report is whole, in numbers and in words", async () => {
    const report = fitReportSchema.parse(await fitLocal(await findModel("starter"), roomy));
    expect(report).toMatchObject({ ref: null, unsupported: null, layers: 4, download: { bytes: 0, verdict: "fits" } });
    const text = report.words.join("\n");
    expect(text).toMatch(/821,120 parameters, stored as BF16 in 1\.64 MB/);
    expect(text).toMatch(/Chat fits: about .* of the 64 GB of memory/);
    for (const use of ["chat", "lora", "full"] as const) {
      const { memory_bytes: m } = report.uses?.[use] ?? {};
      if (m === undefined) throw new Error("no uses");
      const own = use === "chat" ? m.activations + m.kv_cache : Math.max(m.activations, m.kv_cache);
      expect(m.total).toBe(m.weights + m.gradients + m.optimizer + own + m.program);
    }
  });

  test("training is planned as `hone train` plans it: the same passes, the same bytes", async () => {
    const { uses } = await fitLocal(await findModel("starter"), roomy);
    const model = await engine.open(starterFolder);
    try {
      await model.attachLora({ r: 16, lora_alpha: 32, seed: 1 });
      const tokens = uses?.lora.tokens ?? 0;
      expect(tokens).toBe(4096);
      const { weights, gradients, optimizer, activations } = await model.estimateMemory({ tokens, targets: tokens });
      expect(uses?.lora.memory_bytes).toMatchObject({ weights, gradients, optimizer, activations });
    } finally {
      await model.close();
    }
  });

  test("verdicts by what is free and what there is; smaller passes where memory is short", async () => {
    const verdict = async (machine: FitMachine) => {
      const { uses } = await fitLocal(await findModel("starter"), machine);
      return [uses?.chat.verdict, uses?.full.verdict, uses?.full.tokens];
    };
    expect(await verdict(roomy)).toEqual(["fits", "fits", 4096]);
    expect(await verdict({ ...roomy, free_bytes: 60e6 })).toEqual(["tight", "tight", 256 * 2]);
    expect(await verdict({ memory_bytes: 50e6, free_bytes: 40e6, cores: 2 })).toEqual([
      "does_not_fit",
      "does_not_fit",
      256,
    ]);
    const { words } = await fitLocal(await findModel("starter"), { ...roomy, free_bytes: 1e6 });
    expect(words.join("\n")).toMatch(/Chat tight: .* 1 MB are free now: close other programs first/);
  });

  test("speed only from a measurement on this machine, and only for models of a like kind", async () => {
    expect(scaledSpeed(500e6, roomy)).toBeNull();
    const model = await engine.open(starterFolder);
    const speed = await measureSpeed(model, "starter", 8).finally(() => model.close());
    expect(speed.tokens_per_second).toBeGreaterThan(50);
    // The starter lives in the processor's caches: nothing is kept of it.
    expect(scaledSpeed(500e6, roomy)).toBeNull();
    mkdirSync(process.env["HONE_HOME"] ?? "", { recursive: true });
    const kept = {
      version: 1,
      model: "acme/tiny",
      cores: 8,
      weight_bytes: 100e6,
      tokens_per_second: 100,
      time: "2026-01-02T03:04:05Z",
    };
    writeFileSync(join(process.env["HONE_HOME"] ?? "", "speed.json"), JSON.stringify(kept));
    expect(scaledSpeed(500e6, roomy)).toEqual({
      tokens_per_second: 20,
      from: expect.stringContaining("scaled from acme/tiny") as string,
    });
    expect(scaledSpeed(500e6, { cores: 2 })).toBeNull();
    expect(scaledSpeed(1e6, roomy)).toBeNull();
    expect(scaledSpeed(100e9, roomy)).toBeNull();
  });

  test("what is no model, and what is nowhere", async () => {
    await expect(fitReference(engine, "/nowhere/model")).rejects.toThrow(code("no-such-model"));
    await expect(fitReference(engine, "nothing")).rejects.toThrow(code("no-such-model"));
    await expect(fitReference(engine, "acme/tiny", { measure: true })).rejects.toThrow(code("not-here"));
    await expect(fitReference(engine, "https://example.org/a/b")).rejects.toThrow(code("bad-reference"));
  });
});

describe("a repository on a hub", () => {
  test("is told from its heads: a thousandth of its bytes", async () => {
    const starter = starterModel();
    if (starter === undefined) throw new Error("the starter model is missing");
    const hub = await startHubServer({ repositories: [starter, gatedModel(), sampleModel()] });
    try {
      const source = openSource("huggingface", { endpoint: hub.huggingface, token: "" });
      const snapshot = await source.snapshot({
        source: "huggingface",
        kind: "model",
        id: "hone/starter",
        revision: "main",
      });
      const { report, choice } = await fitRepository(source, snapshot, { machine: roomy });
      fitReportSchema.parse(report);
      const local = await fitLocal(await findModel("starter"), roomy);
      expect(report.uses?.chat.memory_bytes.weights).toBe(local.uses?.chat.memory_bytes.weights);
      expect(report.parameters).toBe(local.parameters);
      expect(report.download).toMatchObject({ bytes: choice.bytes, files: choice.files.length, verdict: "fits" });
      expect(report.words.at(-1)).toMatch(/The download takes 1\.\d+ MB in .*hf.hub, where .* are free/);
      const ranges = hub.requests.filter(({ origin }) => origin === "cdn").map(({ range }) => range);
      expect(ranges).toEqual(["bytes=0-262143"]);
    } finally {
      await hub.close();
    }
  });

  test("what the engine would not open is said, with its size all the same", async () => {
    const hub = await startHubServer({ repositories: [sampleModel()] });
    try {
      const hubs = { huggingface: { endpoint: hub.huggingface, token: "" } };
      const report = await fitReference(engine, "acme/tiny", { hubs });
      expect(report).toMatchObject({
        uses: null,
        unsupported: expect.stringContaining("U8") as string,
        parameters: 300_000,
      });
      expect(report.words.join("\n")).toContain("Hone cannot open it: its weights are stored as U8");
    } finally {
      await hub.close();
    }
  });

  itWithShared("of GGUF files: the quantisations, the header, a link to one file", gguf, async (path) => {
    const files = { "README.md": "# x\n", "SmolLM2-135M-Instruct.Q4_1.gguf": await fileContent(path) };
    const repo = new TestRepository("model", "acme/smol-GGUF", files, { parameters: 134_515_008 });
    const hub = await startHubServer({ repositories: [repo] });
    try {
      vi.stubEnv("HF_ENDPOINT", hub.huggingface);
      vi.stubEnv("HF_TOKEN", "");
      const link = `${hub.huggingface}/acme/smol-GGUF/blob/main/SmolLM2-135M-Instruct.Q4_1.gguf`;
      for (const reference of ["acme/smol-GGUF", "acme/smol-GGUF:q4_1", link]) {
        const report = await fitReference(engine, reference);
        expect(report).toMatchObject({
          parameters: 134_515_008,
          weight_bytes: 96_576_768,
          dtype: "Q4_1",
          quant: "Q4_1",
          kv_bytes_per_token: 46_080,
        });
        expect(report.quants).toMatchObject([{ name: "Q4_1", recommended: true, bits_per_weight: 5.85 }]);
      }
    } finally {
      await hub.close();
    }
  });

  test("what cannot fit on the disk is refused before anything is fetched", () => {
    const download = { bytes: 2e12, files: 3, folder: "/models", free_bytes: 1e9, verdict: "does_not_fit" as const };
    const refused = () => requireDisk({ name: "acme/huge", download });
    expect(refused).toThrow(
      expect.objectContaining({
        code: "disk-space",
        message: expect.stringMatching(/acme\/huge takes 2 TB, but only 1 GB/) as string,
      }) as Error,
    );
    expect(() => requireDisk({ name: "acme/small", download: { ...download, verdict: "tight" } })).not.toThrow();
  });
});

describe("the catalogue", () => {
  const { models } = catalogSchema.parse(JSON.parse(readFileSync(catalogFile, "utf8")));

  test.each(models.map((entry) => [entry.id, entry] as const))("%s", async (_id, entry) => {
    const report = fitReportSchema.parse(await fitCatalogEntry(entry, roomy));
    const works = Object.values(entry.works).some(Boolean);
    // What is said to work has a configuration that the engine takes, with exactly so many parameters.
    expect(report.uses === null).toBe(!works);
    expect(report.parameters).toBe(entry.parameters);
    expect(works).toBe(entry.limits === null);
    expect(entry.weight_bytes).toBeGreaterThanOrEqual(2 * entry.parameters);
    expect(entry.config["max_position_embeddings"]).toBe(entry.context_length);
    expect(entry.config["model_type"]).toBe(entry.architecture);
    const fields = Object.keys(entry);
    for (const field of entry.unverified) expect(fields).toContain(field);
  });

  test("holds what was promised, each once", () => {
    const ids = models.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const name of [
      "SmolLM2-135M",
      "SmolLM2-360M",
      "SmolLM2-1.7B",
      "SmolLM3-3B",
      "Qwen2.5-0.5B",
      "Qwen2.5-1.5B",
      "Qwen2.5-3B",
      "Qwen3-0.6B",
      "Qwen3-1.7B",
      "Qwen3-4B",
      "Llama-3.2-1B",
      "gemma-3-1b-it",
      "gemma-3-270m-it",
      "Ling-3.0-tiny",
    ]) {
      expect(
        ids.some((id) => id.includes(name)),
        name,
      ).toBe(true);
    }
  });

  test("a team's own stands before Hone's; a damaged one hides only itself and says why", () => {
    mkdirSync(catalogsFolder(), { recursive: true });
    const own = { version: 1, name: "Acme", models: [{ ...models[0], about: "Ours." }] };
    writeFileSync(join(catalogsFolder(), "acme.json"), JSON.stringify(own));
    writeFileSync(join(catalogsFolder(), "broken.json"), JSON.stringify({ ...own, models: [{ id: "x" }] }));
    writeFileSync(join(catalogsFolder(), "notes.txt"), "no catalogue");
    const [first, second, third] = readCatalogs();
    expect(first).toMatchObject({ name: "Acme", problem: null });
    expect(second).toMatchObject({ models: [], problem: expect.stringMatching(/broken\.json: models\.0/) as string });
    expect(third.models).toHaveLength(models.length);
    expect(findInCatalog(models[0].id.toUpperCase())?.about).toBe("Ours.");
  });

  test("knows the same model on the other hub", () => {
    expect(alternativeOf("meta-llama/Llama-3.2-1B-Instruct", "huggingface")).toEqual({
      source: "modelscope",
      id: "LLM-Research/Llama-3.2-1B-Instruct",
    });
    expect(alternativeOf("LLM-Research/Llama-3.2-1B-Instruct", "modelscope")).toEqual({
      source: "huggingface",
      id: "meta-llama/Llama-3.2-1B-Instruct",
    });
    expect(alternativeOf("google/gemma-3-270m-it", "huggingface")).toBeUndefined();
    expect(alternativeOf("acme/tiny", "huggingface")).toBeUndefined();
  });
});

test("this machine has memory and cores", () => {
  const { memory_bytes, free_bytes, cores } = thisMachine(engine);
  expect(memory_bytes).toBeGreaterThan(free_bytes);
  expect(cores).toBeGreaterThan(0);
});
