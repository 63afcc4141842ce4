import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { publishFolder, removePartial, writeFileAtomic } from "../../../core/files/atomic.ts";
import { freeBytes, isDiskFull, requireFreeBytes } from "../../../core/files/disk.ts";
import { checkManifest, manifestHash, writeManifest } from "../../../core/files/manifest.ts";

const folder = () => mkdtempSync(join(tmpdir(), "hone-files-"));

describe("atomic writes", () => {
  test("a file is replaced whole and nothing is left beside it", () => {
    const path = join(folder(), "state.json");
    writeFileAtomic(path, "one");
    writeFileAtomic(path, "two");
    expect(readFileSync(path, "utf8")).toBe("two");
    expect(readdirSync(join(path, ".."))).toEqual(["state.json"]);
  });

  test("a folder appears only when its filling succeeded", async () => {
    const root = folder();
    const target = join(root, "checkpoint-5");
    await expect(
      publishFolder(target, async (temporary) => {
        writeFileSync(join(temporary, "half"), "x");
        throw new Error("killed");
      }),
    ).rejects.toThrow("killed");
    expect(readdirSync(root)).toEqual([]);
    await publishFolder(target, async (temporary) => writeFileSync(join(temporary, "whole"), "x"));
    expect(readdirSync(target)).toEqual(["whole"]);
  });

  test("a folder with something in it is replaced only when that is wanted", async () => {
    const target = join(folder(), "run");
    const fill = (name: string) => async (temporary: string) => writeFileSync(join(temporary, name), "x");
    mkdirSync(target);
    await publishFolder(target, fill("first"), { replace: false });
    await expect(publishFolder(target, fill("second"), { replace: false })).rejects.toMatchObject({
      code: "folder-exists",
    });
    expect(readdirSync(target)).toEqual(["first"]);
    await publishFolder(target, fill("third"));
    expect(readdirSync(join(target, ".."))).toEqual(["run"]);
    expect(readdirSync(target)).toEqual(["third"]);
  });

  test("left-overs of a killed process are removed, other files are not", () => {
    const root = folder();
    mkdirSync(join(root, "checkpoint-5.partial-123"));
    writeFileSync(join(root, "checkpoint-5.partial-123", "model.safetensors"), "x");
    mkdirSync(join(root, "checkpoint-4"));
    expect(removePartial(root)).toEqual(["checkpoint-5.partial-123"]);
    expect(readdirSync(root)).toEqual(["checkpoint-4"]);
  });

  test.skipIf(!existsSync("/dev/full"))("a full disk while filling is told as such", async () => {
    const target = join(folder(), "checkpoint-5");
    const filling = publishFolder(target, async (temporary) => {
      symlinkSync("/dev/full", join(temporary, "model"));
      writeFileSync(join(temporary, "model"), "x");
    });
    await expect(filling).rejects.toMatchObject({ code: "disk-full" });
    expect(existsSync(target)).toBe(false);
  });
});

describe("manifest", () => {
  test("names what is missing, cut or changed", async () => {
    const root = folder();
    mkdirSync(join(root, "sub"));
    writeFileSync(join(root, "a"), "aaa");
    writeFileSync(join(root, "sub", "b"), "bbb");
    expect(await checkManifest(root, { hash: true })).toEqual(["manifest.json is missing"]);
    const manifest = await writeManifest(root);
    expect(manifest.files.map((file) => [file.path, file.size])).toEqual([
      ["a", 3],
      ["sub/b", 3],
    ]);
    expect(await checkManifest(root, { hash: true })).toEqual([]);
    writeFileSync(join(root, "a"), "aab");
    expect(await checkManifest(root, { hash: false })).toEqual([]);
    expect(await checkManifest(root, { hash: true })).toEqual(["a was changed"]);
    writeFileSync(join(root, "a"), "aa");
    rmSync(join(root, "sub", "b"));
    expect(await checkManifest(root, { hash: false })).toEqual(["a has the wrong size", "sub/b is missing"]);
    writeFileSync(join(root, "manifest.json"), "{");
    expect(await checkManifest(root, { hash: false })).toEqual(["manifest.json is not JSON"]);
    expect(manifestHash(manifest)).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("disk space", () => {
  test("is asked at a path that does not exist yet, and refused with both numbers", () => {
    const path = join(folder(), "not", "yet");
    expect(freeBytes(path)).toBeGreaterThan(0);
    requireFreeBytes(path, 1, "the run");
    expect(() => requireFreeBytes(path, 1e18, "the run")).toThrow(/the run needs about 1000000 TB .* are free/);
  });

  test("a full disk is recognised through the engine's words too", () => {
    expect(isDiskFull(Object.assign(new Error("write"), { code: "ENOSPC" }))).toBe(true);
    expect(isDiskFull(new Error("saving weights: No space left on device (os error 28)"))).toBe(true);
    expect(isDiskFull(new Error("permission denied"))).toBe(false);
  });
});
