/** What a person is told about every model on the machine. */

import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { storageListingSchema, type LocalModel } from "../../../../core/contract/hub.ts";
import { listLocalModels } from "../../../../core/hub/storage/list-local.ts";
import { cacheTarget } from "../../../../core/hub/storage/snapshot-target.ts";
import { tinyModel } from "../../train/tiny-model.ts";
import { commitOf, download, madeFile, madeRef, newFolder, plain, write } from "./made-repo.ts";

const before = { ...process.env };
const gguf = (name: string) => readFileSync(join(import.meta.dirname, "../../../fixtures/gguf", name));
let home: string;
let hub: string;

beforeEach(() => {
  home = newFolder();
  hub = join(home, "hub");
  Object.assign(process.env, {
    HOME: home,
    HF_HUB_CACHE: hub,
    HONE_HOME: join(home, "hone"),
    OLLAMA_MODELS: join(home, "ollama"),
  });
  delete process.env["MODELSCOPE_CACHE"];
});
afterAll(() => {
  process.env = before;
});

async function listed(): Promise<Map<string, LocalModel>> {
  const listing = await listLocalModels();
  storageListingSchema.parse(listing);
  return new Map(listing.models.map((model) => [model.reference, model]));
}

test("models of every format and place, and why some are not opened", { timeout: 60_000 }, async () => {
  const folder = await tinyModel();
  const files = readdirSync(folder).map((name) => madeFile(name, readFileSync(join(folder, name))));
  download(hub, files);
  download(hub, [madeFile("tiny-Q8_0.gguf", gguf("qwen3.gguf"))], { ref: madeRef("acme/ggufs") });
  download(hub, [madeFile("config.json", '{"model_type": "bert"}'), madeFile("pytorch_model.bin", "pickle")], {
    ref: madeRef("acme/old"),
  });
  const bert = files.map((file) =>
    file.path === "config.json" ? madeFile("config.json", '{"model_type": "bert"}') : file,
  );
  download(hub, bert, { ref: madeRef("acme/bert") });
  download(
    hub,
    files.filter(({ path }) => path !== "tokenizer.json"),
    { ref: madeRef("acme/mute") },
  );
  download(
    hub,
    [
      madeFile("adapter_config.json", '{"base_model_name_or_path": "acme/none"}'),
      madeFile("adapter_model.safetensors", "x"),
    ],
    { ref: madeRef("acme/adapter") },
  );
  download(hub, [madeFile("config.json", '{"model_type": "llama"}'), madeFile("model.safetensors", "torn")], {
    ref: madeRef("acme/torn"),
  });
  download(hub, [madeFile("train.parquet", "PAR1")], { ref: madeRef("acme/rows", { kind: "dataset" }) });
  const part = (i: number) => madeFile(`big-F16-0000${i}-of-00002.gguf`, gguf("llama.gguf"));
  download(hub, [part(1), part(2)], { ref: madeRef("acme/parts") });
  write(join(home, ".lmstudio", "models", "acme", "tiny-GGUF", "tiny-Q8_0.gguf"), gguf("gemma3.gguf"));
  const digest = "a".repeat(64);
  write(join(home, "ollama", "blobs", `sha256-${digest}`), gguf("llama.gguf"));
  const layers = [{ mediaType: "application/vnd.ollama.image.model", digest: `sha256:${digest}` }];
  write(
    join(home, "ollama", "manifests", "registry.ollama.ai", "library", "tiny", "latest"),
    JSON.stringify({ layers }),
  );
  mkdirSync(join(home, "own", "one"), { recursive: true });
  for (const { path } of files) copyFileSync(join(folder, path), join(home, "own", "one", path));
  write(join(home, "hone", "settings.json"), JSON.stringify({ model_folders: [join(home, "own")] }));

  const models = await listed();
  const told = [...models.values()].map(
    ({ reference, place, format, architecture, quant, complete, unsupported, removable }) => [
      reference,
      place,
      format,
      architecture,
      quant,
      complete && removable,
      unsupported,
    ],
  );
  const lmStudio = join(home, ".lmstudio", "models", "acme", "tiny-GGUF", "tiny-Q8_0.gguf");
  expect(told.filter(([, place]) => place !== "starter")).toEqual([
    ["acme/adapter", "huggingface", "adapter", null, null, true, "its base model acme/none is not here"],
    [
      "acme/bert",
      "huggingface",
      "safetensors",
      "bert",
      "F32",
      true,
      "the engine does not open bert, but llama, qwen2, qwen3, gemma3_text",
    ],
    ["acme/ggufs:Q8_0", "huggingface", "gguf", "qwen3", "Q8_0", true, null],
    ["acme/mute", "huggingface", "safetensors", "llama", "F32", true, "tokenizer.json is missing beside the weights"],
    [
      "acme/old",
      "huggingface",
      "pickle",
      null,
      null,
      true,
      "its weights are PyTorch pickle files, which can run code and are never opened",
    ],
    ["acme/parts:F16", "huggingface", "gguf", "llama", "F16", true, "it is in 2 parts, which the engine does not open"],
    ["datasets/acme/rows", "huggingface", "other", null, null, true, null],
    ["acme/tiny", "huggingface", "safetensors", "llama", "F32", true, null],
    ["acme/torn", "huggingface", "safetensors", null, null, true, expect.stringMatching(/model\.safetensors/)],
    [lmStudio, "lm-studio", "gguf", "gemma3_text", "Q8_0", false, null],
    ["ollama:tiny:latest", "ollama", "gguf", "llama", "Q8_0", false, null],
    [join(home, "own", "one"), "folder", "safetensors", "llama", "F32", false, null],
  ]);
  const tiny = models.get("acme/tiny");
  expect(tiny?.bytes).toBe(files.reduce((sum, { size }) => sum + size, 0));
  expect(tiny?.parameters).toBeGreaterThan(10_000);
  expect(tiny?.modified).not.toBeNull();
});

test("what two revisions share is counted once; a place counts what no snapshot names too", async () => {
  const shared = madeFile("model.safetensors", Buffer.alloc(5000));
  download(hub, [madeFile("config.json", "{}"), shared]);
  download(hub, [madeFile("config.json", "{ }"), shared], {
    commit: commitOf("two"),
    ref: madeRef("acme/tiny", { revision: "v2" }),
  });
  write(join(hub, "models--acme--tiny", "blobs", "f".repeat(64)), "lost");
  const { models, places } = await listLocalModels();
  const sizes = models.filter(({ place }) => place === "huggingface").map(({ bytes }) => bytes);
  expect(sizes.sort((a, b) => a - b)).toEqual([2, 5003]);
  // The two branches' files are 40 bytes each.
  expect(places.find(({ place }) => place === "huggingface")).toMatchObject({ bytes: 5009 + 2 * 40, read_only: false });
});

test("a download that has not ended, and what other programs have only in part", async () => {
  const weights = madeFile("model.safetensors", Buffer.alloc(5000));
  const target = cacheTarget({ ref: madeRef(), commit: commitOf("one") }, [plain(weights)], { root: hub });
  target.open();
  writeFileSync(target.incomplete(weights).data, Buffer.alloc(100));
  writeFileSync(target.incomplete(weights).state, "[[0, 100]]");
  target.close();
  const snapshot = (name: string) => join(hub, `models--acme--${name}`, "snapshots", commitOf("one"));
  write(join(snapshot("words"), "tokenizer.json"), "{}");
  const weight_map = { a: "model-00001-of-00002.safetensors", b: "model-00002-of-00002.safetensors" };
  write(join(snapshot("shards"), "model.safetensors.index.json"), JSON.stringify({ weight_map }));
  write(join(snapshot("shards"), "model-00001-of-00002.safetensors"), "x");
  const models = await listed();
  expect(models.get("acme/tiny")).toMatchObject({ complete: false, bytes: 100, missing: ["model.safetensors"] });
  expect(models.get("acme/words")).toMatchObject({ complete: false, missing: ["model.safetensors"] });
  expect(models.get("acme/shards")).toMatchObject({ complete: false, missing: ["model-00002-of-00002.safetensors"] });
  const { places } = await listLocalModels();
  expect(places.find(({ place }) => place === "huggingface")?.incomplete_bytes).toBe(100);
});

test("the starter, and nothing else on a new machine", async () => {
  const { models, places } = await listLocalModels();
  const has = existsSync(join(import.meta.dirname, "../../../../assets/starter"));
  expect(models.map(({ reference }) => reference)).toEqual(has ? ["starter"] : []);
  expect(places.map(({ place }) => place)).toEqual(has ? ["starter"] : []);
});
