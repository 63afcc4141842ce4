/** `owner/name` wherever a model is asked for, once it lies in a cache. */

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findModel, originOf, shortName } from "../../../core/train/model-ref.ts";
import { resolveNewRun } from "../../../core/train/run.ts";
import { commitOf, download, madeFile, madeRef, newFolder, plain } from "../hub/storage/made-repo.ts";
import { cacheTarget } from "../../../core/hub/storage/snapshot-target.ts";
import { tinyModel } from "./tiny-model.ts";

const before = { ...process.env };
const home = newFolder();
const hub = join(home, "hub");
const commit = commitOf("one");
const snapshot = (id: string) => join(hub, `models--${id.replace("/", "--")}`, "snapshots", commit);

beforeAll(async () => {
  Object.assign(process.env, {
    HOME: home,
    HF_HUB_CACHE: hub,
    HONE_HOME: join(home, "hone"),
    OLLAMA_MODELS: join(home, "ollama"),
  });
  delete process.env["MODELSCOPE_CACHE"];
  const folder = await tinyModel();
  download(
    hub,
    readdirSync(folder).map((name) => madeFile(name, readFileSync(join(folder, name)))),
  );
  download(hub, [madeFile("tiny-Q4_K_M.gguf", "GGUF"), madeFile("tiny-Q8_0.gguf", "GGUF8")], {
    ref: madeRef("acme/ggufs"),
  });
  const adapter = { r: 4, lora_alpha: 9, lora_dropout: 0, base_model_name_or_path: "acme/tiny" };
  const files = [madeFile("adapter_config.json", JSON.stringify(adapter)), madeFile("adapter_model.safetensors", "x")];
  download(hub, files, { ref: madeRef("acme/adapter") });
});
afterAll(() => {
  process.env = before;
});

test("a model, a .gguf file, an adapter on a model that is here too", async () => {
  const path = snapshot("acme/tiny");
  expect(await findModel("acme/tiny")).toEqual({ name: "acme/tiny", weights: path, text: path });
  const gguf = join(snapshot("acme/ggufs"), "tiny-Q8_0.gguf");
  for (const name of ["acme/ggufs:Q8_0", "acme/ggufs/tiny-Q8_0.gguf", `acme/ggufs@${commit.slice(0, 12)}:Q8_0`]) {
    expect(await findModel(name), name).toEqual({ name, weights: gguf, text: gguf });
  }
  expect(await findModel("acme/adapter")).toEqual({
    name: "acme/adapter",
    weights: path,
    adapter: snapshot("acme/adapter"),
    text: path,
  });
  expect(originOf("acme/adapter")).toMatchObject({ defaults: { finetuning_type: "lora", lora_r: 4, lora_alpha: 9 } });
});

test("Ollama's file, whose name has no ending", async () => {
  const digest = "a".repeat(64);
  const layers = [{ mediaType: "application/vnd.ollama.image.model", digest: `sha256:${digest}` }];
  const manifests = join(home, "ollama", "manifests", "registry.ollama.ai", "library", "tiny");
  mkdirSync(manifests, { recursive: true });
  mkdirSync(join(home, "ollama", "blobs"));
  writeFileSync(join(manifests, "latest"), JSON.stringify({ layers }));
  const blob = join(home, "ollama", "blobs", `sha256-${digest}`);
  writeFileSync(blob, "GGUF");
  for (const name of ["ollama:tiny", "ollama:tiny:latest"]) {
    expect(await findModel(name)).toEqual({ name, weights: blob, text: blob });
  }
});

test("what is not here, or only partly, says how it comes", async () => {
  await expect(findModel("acme/none")).rejects.toMatchObject({
    code: "no-such-model",
    message: "there is no model acme/none: it is no folder or file here, and has not been downloaded",
    fix: expect.stringMatching(/^`hone get acme\/none` downloads it; or give/) as string,
  });
  await expect(findModel("ollama:none")).rejects.toMatchObject({ code: "no-such-model" });
  await expect(findModel("./acme/none")).rejects.toMatchObject({
    message: expect.stringMatching(/no model at \//) as string,
  });
  await expect(findModel("acme/ggufs")).rejects.toMatchObject({ code: "which-file" });
  const file = madeFile("model.safetensors", "weights");
  const target = cacheTarget({ ref: madeRef("acme/half"), commit }, [plain(file)]);
  target.open();
  writeFileSync(target.incomplete(file).data, "we");
  writeFileSync(target.incomplete(file).state, "[[0, 2]]");
  target.close();
  await expect(findModel("acme/half")).rejects.toMatchObject({
    code: "incomplete-model",
    fix: "`hone get acme/half` fetches what is missing",
  });
});

test("a folder of that name in the working folder comes first", async () => {
  const cwd = process.cwd();
  const folder = newFolder();
  mkdirSync(join(folder, "acme", "tiny"), { recursive: true });
  process.chdir(folder);
  try {
    expect((await findModel("acme/tiny")).weights).toBe(join(folder, "acme", "tiny"));
  } finally {
    process.chdir(cwd);
  }
});

test("a run keeps the revision that it began with", () => {
  const model = (name: string) => resolveNewRun({ model: name, task: "tic-tac-toe" }).model;
  expect(model("acme/tiny")).toBe(`acme/tiny@${commit.slice(0, 12)}`);
  expect(model("acme/ggufs:q8_0")).toBe(`acme/ggufs@${commit.slice(0, 12)}:Q8_0`);
  expect(model("starter")).toBe("starter");
  expect(shortName(model("acme/tiny"))).toBe("tiny");
  expect(shortName("ollama:llama3.2:1b")).toBe("llama3.2");
  expect(shortName("ms:acme/tiny:Q4_K_M")).toBe("tiny");
});
