/** What is found on this machine, by which name, and what is deleted. */

import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { cacheTarget } from "../../../../core/hub/storage/snapshot-target.ts";
import { findStored, requireOne, resolveLocal } from "../../../../core/hub/storage/find-stored.ts";
import { ggufGroups, storedItems } from "../../../../core/hub/storage/inventory.ts";
import { findLeftovers, removeLeftovers } from "../../../../core/hub/storage/leftovers.ts";
import { huggingFaceCache, modelPlaces, modelScopeCache, modelsFolder } from "../../../../core/hub/storage/places.ts";
import { planRemoval, removeModel } from "../../../../core/hub/storage/remove-model.ts";
import { commitOf, download, madeFile, madeRef, newFolder, plain, safetensors, write } from "./made-repo.ts";

const [one, two] = [commitOf("one"), commitOf("two")];
const config = madeFile("config.json", '{"model_type": "llama"}');
const weights = madeFile("model.safetensors", safetensors(1000));
const other = madeFile("model.safetensors", safetensors(1000, 2));
const readme = madeFile("README.md", "# A model");
const q4 = madeFile("tiny-Q4_K_M.gguf", "GGUF four bits");
const q8 = madeFile("tiny-Q8_0.gguf", "GGUF eight bits, twice as long");

const before = { ...process.env };
let home: string;
let hub: string;

beforeEach(() => {
  home = newFolder();
  for (const name of ["HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME", "MODELSCOPE_CACHE"]) {
    delete process.env[name];
  }
  process.env["HOME"] = home;
  process.env["HONE_HOME"] = join(home, "hone");
  process.env["OLLAMA_MODELS"] = join(home, "ollama");
  hub = join(home, ".cache", "huggingface", "hub");
});
afterAll(() => {
  process.env = before;
});

/** Bytes of all files below a folder; a file with two names counts once. */
function used(folder: string): number {
  const seen = new Map<number, number>();
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const info = lstatSync(join(folder, name));
    if (info.isFile()) seen.set(info.ino, info.size);
  }
  return [...seen.values()].reduce((sum, size) => sum + size, 0);
}

function names(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: "utf8" }).sort() : [];
}

describe("places", () => {
  test("the variables of the Python libraries, in their order", () => {
    expect(huggingFaceCache()).toBe(hub);
    process.env["XDG_CACHE_HOME"] = "/x";
    expect(huggingFaceCache()).toBe("/x/huggingface/hub");
    process.env["HF_HOME"] = "~/hf";
    expect(huggingFaceCache()).toBe(join(home, "hf", "hub"));
    process.env["HUGGINGFACE_HUB_CACHE"] = "/old";
    expect(huggingFaceCache()).toBe("/old");
    process.env["HF_HUB_CACHE"] = "$HOME/new";
    expect(modelsFolder()).toBe(join(home, "new"));
    expect(modelScopeCache()).toBe(join(home, ".cache", "modelscope"));
  });

  test("only what is there, and each place once", () => {
    expect(modelPlaces()).toEqual([]);
    mkdirSync(hub, { recursive: true });
    mkdirSync(join(home, "models"));
    mkdirSync(join(home, ".lmstudio"));
    symlinkSync(join(home, "models"), join(home, ".lmstudio", "models"));
    write(join(home, "hone", "settings.json"), JSON.stringify({ model_folders: [join(home, "models"), "~/missing"] }));
    expect(modelPlaces().map(({ place, readOnly }) => [place, readOnly])).toEqual([
      ["huggingface", false],
      ["lm-studio", true],
    ]);
  });

  test("LM Studio's folder where its settings say", () => {
    write(join(home, ".lmstudio", "settings.json"), JSON.stringify({ downloadsFolder: join(home, "big") }));
    write(join(home, "big", "acme", "tiny-GGUF", "tiny-Q4_K_M.gguf"), "GGUF");
    expect(storedItems().map(({ place, name }) => [place.place, name])).toEqual([
      ["lm-studio", "acme/tiny-GGUF/tiny-Q4_K_M.gguf"],
    ]);
  });
});

describe("names", () => {
  test("owner/name, its branch, tag, commit and the beginning of one", () => {
    download(hub, [config, weights]);
    download(hub, [config, other], { commit: two, ref: madeRef("acme/tiny", { revision: "v2" }) });
    const snapshot = (commit: string) => join(hub, "models--acme--tiny", "snapshots", commit);
    expect(resolveLocal("acme/tiny")).toBe(snapshot(one));
    for (const name of ["ACME/Tiny", "hf:acme/tiny", "https://huggingface.co/acme/tiny", `acme/tiny@${one}`]) {
      expect(resolveLocal(name), name).toBe(snapshot(one));
    }
    for (const name of ["acme/tiny@v2", `acme/tiny@${two.slice(0, 9)}`])
      expect(resolveLocal(name), name).toBe(snapshot(two));
    for (const name of [
      "acme/none",
      "acme/tiny@v3",
      "ms:acme/tiny",
      "tiny",
      "starter",
      "a/b/c",
      "",
      "acme/tiny:Q8_0",
    ]) {
      expect(resolveLocal(name), name).toBeUndefined();
    }
    expect(storedItems().map(({ reference }) => reference)).toEqual(["acme/tiny", "acme/tiny@v2"]);
  });

  test("one revision alone needs no name; two without a branch do", () => {
    download(hub, [config, weights], { ref: madeRef("acme/tiny", { revision: one }) });
    expect(resolveLocal("acme/tiny")).toBe(join(hub, "models--acme--tiny", "snapshots", one));
    download(hub, [config, other], { commit: two, ref: madeRef("acme/tiny", { revision: two }) });
    expect(() => resolveLocal("acme/tiny")).toThrow(
      expect.objectContaining({ code: "which-revision", message: expect.stringContaining(one.slice(0, 12)) as string }),
    );
  });

  test("the .gguf files of a repository, by quantisation and by file", () => {
    const files = [readme, q4, q8];
    download(hub, files);
    const snapshot = join(hub, "models--acme--tiny", "snapshots", one);
    expect(storedItems().map(({ reference, quant }) => [reference, quant])).toEqual([
      ["acme/tiny:Q4_K_M", "Q4_K_M"],
      ["acme/tiny:Q8_0", "Q8_0"],
    ]);
    expect(resolveLocal("acme/tiny:q8_0")).toBe(join(snapshot, q8.path));
    expect(resolveLocal("acme/tiny/tiny-Q4_K_M.gguf")).toBe(join(snapshot, q4.path));
    expect(resolveLocal("acme/tiny/none.gguf")).toBeUndefined();
    expect(() => resolveLocal("acme/tiny")).toThrow(
      expect.objectContaining({ code: "which-file", message: expect.stringContaining("acme/tiny:Q8_0") as string }),
    );
  });

  test("parts of a split file belong together, projectors are no models", () => {
    const part = (i: number) => `Q4_K_M/big-Q4_K_M-0000${i}-of-00002.gguf`;
    expect(ggufGroups([part(2), part(1), "mmproj-F16.gguf", "plain.gguf", "big-UD-IQ2_XXS.gguf"])).toEqual([
      { paths: [part(1), part(2)], quant: "Q4_K_M", missing: [] },
      { paths: ["big-UD-IQ2_XXS.gguf"], quant: "UD-IQ2_XXS", missing: [] },
      { paths: ["plain.gguf"], quant: null, missing: [] },
    ]);
    expect(ggufGroups([part(1)])).toEqual([{ paths: [part(1), part(2)], quant: "Q4_K_M", missing: [part(2)] }]);
  });

  test("a download that has not ended is there but not opened", () => {
    const target = cacheTarget({ ref: madeRef(), commit: one }, [config, weights].map(plain), { root: hub });
    target.open();
    writeFileSync(target.incomplete(config).data, config.content);
    target.keep(config);
    writeFileSync(target.incomplete(weights).data, "begun");
    target.close();
    const [item] = storedItems();
    expect(item).toMatchObject({ reference: "acme/tiny", unfinished: true, missing: ["model.safetensors"] });
    expect(item.files.reduce((sum, { size }) => sum + size, 0)).toBe(config.size + 5);
    expect(() => requireOne("acme/tiny")).toThrow(
      expect.objectContaining({
        code: "incomplete-model",
        message: "acme/tiny is only partly here: 1 file missing (model.safetensors)",
        fix: "`hone get acme/tiny` fetches what is missing",
      }),
    );
    // An older revision that is whole still opens.
    download(hub, [config, other], { commit: two });
    expect(resolveLocal("acme/tiny")).toBe(join(hub, "models--acme--tiny", "snapshots", two));
  });

  test("links to nothing, files that went, branches that lead to nothing", () => {
    download(hub, [config, weights]);
    rmSync(join(hub, "models--acme--tiny", "blobs", weights.sha256 ?? ""));
    expect(storedItems()[0].missing).toEqual(["model.safetensors"]);
    write(join(hub, "models--acme--gone", "refs", "main"), two);
    write(join(hub, "models--acme--odd", "snapshots"), "a file");
    write(join(hub, "models--acme--odd", "refs"), "a file");
    mkdirSync(join(hub, "models--acme--circle", "snapshots", one), { recursive: true });
    symlinkSync("config.json", join(hub, "models--acme--circle", "snapshots", one, "config.json"));
    const references = storedItems().map(({ reference, missing }) => [reference, missing]);
    expect(references).toEqual([
      ["acme/circle", ["config.json"]],
      ["acme/tiny", ["model.safetensors"]],
    ]);
    expect(() => resolveLocal("acme/tiny")).toThrow(expect.objectContaining({ code: "incomplete-model" }));
    expect(resolveLocal("acme/gone")).toBeUndefined();
  });

  test("ModelScope: today's layout and both older ones", () => {
    const root = modelScopeCache();
    download(root, [config, weights], { ref: madeRef("acme/new", { source: "modelscope", revision: "master" }) });
    write(join(root, "hub", "models", "acme", "old-0___5B", "model.safetensors"), weights.content);
    write(join(root, "hub", "acme", "oldest", "model.safetensors"), weights.content);
    expect(storedItems().map(({ reference }) => reference)).toEqual([
      "ms:acme/new",
      "ms:acme/old-0.5B",
      "ms:acme/oldest",
    ]);
    expect(resolveLocal("acme/old-0.5B")).toBe(join(root, "hub", "models", "acme", "old-0___5B"));
    expect(resolveLocal("ms:acme/new")).toBe(join(root, "models", "acme--new", "snapshots", "master"));
    expect(resolveLocal("hf:acme/new")).toBeUndefined();
  });

  test("Ollama's models by their own names", () => {
    const root = join(home, "ollama");
    const digest = createHash("sha256").update("GGUF").digest("hex");
    const layer = (mediaType: string, hex: string) => ({ mediaType, digest: `sha256:${hex}` });
    const weightsType = "application/vnd.ollama.image.model";
    const manifest = (hex: string) =>
      JSON.stringify({
        schemaVersion: 2,
        layers: [layer(weightsType, hex), layer("application/vnd.ollama.image.license", digest)],
      });
    write(join(root, "blobs", `sha256-${digest}`), "GGUF");
    write(join(root, "manifests", "registry.ollama.ai", "library", "tiny", "1b"), manifest(digest));
    write(join(root, "manifests", "hf.co", "acme", "tiny-GGUF", "Q4_K_M"), manifest("0".repeat(64)));
    write(join(root, "manifests", "registry.ollama.ai", "library", "torn", "latest"), '{"layers": [');
    expect(storedItems().map(({ reference, missing }) => [reference, missing.length])).toEqual([
      ["ollama:hf.co/acme/tiny-GGUF:Q4_K_M", 1],
      ["ollama:tiny:1b", 0],
    ]);
    expect(resolveLocal("ollama:tiny:1b")).toBe(join(root, "blobs", `sha256-${digest}`));
    expect(findStored("ollama:tiny")).toEqual([]);
    expect(() => planRemoval("ollama:tiny:1b")).toThrow(
      expect.objectContaining({ code: "read-only-place", fix: expect.stringContaining("ollama rm") as string }),
    );
  });
});

describe("deleting", () => {
  test("one of two revisions: what they share stays, and what was said is what is freed", () => {
    download(hub, [config, weights, readme]);
    download(hub, [config, other, readme], { commit: two, ref: madeRef("acme/tiny", { revision: "v2" }) });
    write(join(hub, "models--acme--tiny", ".no_exist", one, "added_tokens.json"), "");
    const total = used(hub);
    const plan = planRemoval("acme/tiny@v2");
    expect(names(hub)).toContain(join("models--acme--tiny", "snapshots", two));
    const repo = join(hub, "models--acme--tiny");
    expect(plan.paths).toContain(join(repo, "blobs", other.sha256 ?? ""));
    expect(plan.kept_paths).toEqual([config, readme].map(({ etag }) => join(repo, "blobs", etag ?? "")).sort());
    const { removed, bytes } = removeModel(plan);
    expect(removed).toBe(true);
    expect(total - used(hub)).toBe(bytes);
    expect(names(join(repo, "snapshots"))).toEqual([
      one,
      ...["README.md", "config.json", "model.safetensors"].map((name) => join(one, name)),
    ]);
    expect(names(join(repo, "refs"))).toEqual(["main"]);
    expect(resolveLocal("acme/tiny")).toBe(join(repo, "snapshots", one));
    expect(names(join(repo, ".no_exist"))).not.toEqual([]);
  });

  test.each([true, false])("a whole repository, with its locks (links: %s)", (symlinks) => {
    download(hub, [config, weights], { symlinks });
    download(hub, [config, weights], { symlinks, commit: two });
    write(join(hub, ".locks", "models--acme--tiny", "x.lock"), "");
    download(hub, [config], { symlinks, ref: madeRef("acme/other") });
    const total = used(hub);
    const plan = planRemoval("acme/tiny");
    expect(plan.paths).toContain(join(hub, "models--acme--tiny"));
    expect(removeModel(plan).bytes).toBe(total - used(hub));
    expect(readdirSync(hub).sort()).toEqual([".locks", "models--acme--other"]);
  });

  test("one of two .gguf files leaves the other, and what lies beside them", () => {
    download(hub, [readme, q4, q8]);
    const total = used(hub);
    const { bytes } = removeModel(planRemoval("acme/tiny:Q4_K_M"));
    // The record of what is whole is shorter by one file.
    expect(bytes).toBe(q4.size);
    expect(total - used(hub)).toBeGreaterThanOrEqual(q4.size);
    expect(resolveLocal("acme/tiny")).toBe(join(hub, "models--acme--tiny", "snapshots", one, q8.path));
    expect(existsSync(join(hub, "models--acme--tiny", "snapshots", one, "README.md"))).toBe(true);
    removeModel(planRemoval("acme/tiny"));
    expect(readdirSync(hub)).toEqual([]);
  });

  test("a download that has not ended", () => {
    download(hub, [config, weights]);
    const target = cacheTarget({ ref: madeRef(), commit: two }, [config, other].map(plain), { root: hub });
    target.open();
    writeFileSync(target.incomplete(other).data, "begun");
    writeFileSync(target.incomplete(other).state, "[[0, 5]]");
    const plan = planRemoval("acme/tiny@main");
    expect(() => removeModel(plan)).toThrow(expect.objectContaining({ code: "download-busy" }));
    expect(findLeftovers()).toEqual([]);
    target.close();
    expect(findLeftovers().map(({ id, bytes }) => [id, bytes])).toEqual([["acme/tiny", 5]]);
    expect(removeLeftovers(findLeftovers())).toBe(5);
    expect(findLeftovers()).toEqual([]);
    expect(resolveLocal("acme/tiny")).toBeDefined();
    expect(names(join(hub, "models--acme--tiny", ".hone"))).toEqual([`${one}.json`]);
  });

  test("contents that nothing names are left-overs after an hour", () => {
    download(hub, [config, weights]);
    const lost = join(hub, "models--acme--tiny", "blobs", "f".repeat(64));
    write(lost, "lost");
    write(`${lost}.0123abcd.incomplete`, "Python");
    expect(findLeftovers()).toEqual([]);
    const old = new Date(Date.now() - 7_200_000);
    for (const path of [lost, `${lost}.0123abcd.incomplete`]) utimesSync(path, old, old);
    expect(findLeftovers().map(({ bytes, what }) => [bytes, what])).toEqual([
      [4, "a file that nothing names"],
      [6, "the beginning of a file, of another program"],
    ]);
    expect(removeLeftovers(findLeftovers())).toBe(10);
    expect(resolveLocal("acme/tiny")).toBeDefined();
  });

  test("nothing outside of the places, nothing of other programs", () => {
    const elsewhere = join(home, "elsewhere");
    write(join(elsewhere, "model.safetensors"), weights.content);
    expect(() => planRemoval(elsewhere)).toThrow(
      expect.objectContaining({ code: "not-in-a-known-place", message: expect.stringContaining(elsewhere) as string }),
    );
    mkdirSync(hub, { recursive: true });
    expect(() => planRemoval(hub)).toThrow(expect.objectContaining({ code: "not-in-a-known-place" }));
    expect(() => planRemoval("acme/../../etc")).toThrow(expect.objectContaining({ code: "no-such-model" }));
    const studio = join(home, ".lmstudio", "models", "acme", "tiny", "tiny.gguf");
    write(studio, "GGUF");
    expect(() => planRemoval("acme/tiny")).toThrow(expect.objectContaining({ code: "read-only-place" }));
    expect(() => planRemoval(studio)).toThrow(expect.objectContaining({ code: "read-only-place" }));
    expect(existsSync(studio)).toBe(true);
  });

  test("a name that is not here, with the nearest that is", () => {
    download(hub, [config, weights]);
    expect(() => planRemoval("acme/tinny")).toThrow(
      expect.objectContaining({
        code: "no-such-model",
        fix: "did you mean acme/tiny? `hone ls models` lists what is here",
      }),
    );
  });
});
