/** Moving the models folder, with a process that is killed again and again. */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { errorKind } from "../../../../core/contract/errors.ts";
import { Random } from "../../../../core/contract/random.ts";
import { resolveLocal } from "../../../../core/hub/storage/find-stored.ts";
import {
  giveUpMove,
  moveModelsFolder,
  planMove,
  type MoveProgress,
} from "../../../../core/hub/storage/move-models-folder.ts";
import { modelsFolder, readStorage, storageFile } from "../../../../core/hub/storage/places.ts";
import { cacheTarget } from "../../../../core/hub/storage/snapshot-target.ts";
import { commitOf, download, madeFile, madeRef, newFolder, plain, safetensors, tree, write } from "./made-repo.ts";

const before = { ...process.env };
let home: string;
let old: string;

beforeEach(() => {
  home = newFolder();
  for (const name of ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "MODELSCOPE_CACHE"]) delete process.env[name];
  Object.assign(process.env, {
    HOME: home,
    HF_HOME: join(home, "hf"),
    HONE_HOME: join(home, "hone"),
    OLLAMA_MODELS: join(home, "none"),
  });
  old = join(home, "hf", "hub");
});
afterAll(() => {
  process.env = before;
});

const [one, two] = [commitOf("one"), commitOf("two")];
const config = madeFile("config.json", '{"model_type": "llama"}');
const weights = madeFile("model.safetensors", safetensors(50_000));
const more = madeFile("model.safetensors", safetensors(50_000, 2));
const rows = madeFile("data.parquet", "PAR1");
const models = ["acme/tiny", "acme/tiny@v2", "acme/plain", "datasets/acme/rows"];

function fillOld(): void {
  download(old, [config, weights]);
  download(old, [config, more], { commit: two, ref: madeRef("acme/tiny", { revision: "v2" }) });
  download(old, [config, more], { ref: madeRef("acme/plain"), symlinks: false });
  download(old, [rows], { ref: madeRef("acme/rows", { kind: "dataset" }) });
}

function allOpen(): void {
  for (const name of models) {
    const path = resolveLocal(name);
    expect(path, name).toBeDefined();
    const file = name.startsWith("datasets/") ? rows : name === "acme/tiny" ? weights : more;
    expect(readFileSync(join(path ?? "", file.path)).equals(file.content), name).toBe(true);
  }
}

describe.each([
  { hardLinks: true, name: "on one disk, without copying" },
  { hardLinks: false, name: "to another disk, with copies" },
])("$name", ({ hardLinks }) => {
  test("everything is there as it was, and the old folder is empty", async () => {
    fillOld();
    const to = join(home, "big", "models");
    const was = tree(old);
    const seen: MoveProgress[] = [];
    const plan = planMove(to, { hardLinks });
    const total = 3 * config.size + 3 * weights.size + rows.size;
    // Records and branches come on top of the files themselves.
    expect(plan.bytes).toBeGreaterThan(total - config.size);
    expect(plan.bytes_to_copy).toBe(hardLinks ? 0 : plan.bytes);
    expect(existsSync(to)).toBe(false);
    const result = await moveModelsFolder(to, { hardLinks, onProgress: (progress) => seen.push(progress) });
    expect(result).toEqual({ from: old, to, files: plan.files, bytes: plan.bytes, left: [] });
    expect(tree(to)).toEqual(was);
    expect(readdirSync(old)).toEqual([]);
    expect(modelsFolder()).toBe(to);
    expect(readStorage().move).toBeNull();
    expect(seen.at(-1)?.phase).toBe("delete");
    expect(seen.filter(({ phase }) => phase === "copy").at(-1)?.bytes_done).toBe(plan.bytes);
    allOpen();
    // What comes next goes to the new folder; what Python puts into the old one is found too.
    download(old, [config, weights], { ref: madeRef("acme/later") });
    expect(resolveLocal("acme/later")).toBe(join(old, "models--acme--later", "snapshots", one));
  });
});

const script = join(import.meta.dirname, "../../../../core/hub/storage/move-models-folder.ts");

/** Moves in a process of its own, which is killed after so many files. */
async function moveAndKill(to: string, files: number): Promise<boolean> {
  const code = `
    import { moveModelsFolder } from ${JSON.stringify(script)};
    let seen = 0;
    await moveModelsFolder(${JSON.stringify(to)}, { hardLinks: false, onProgress: () => {
      if (++seen === ${files}) process.kill(process.pid, "SIGKILL");
    } });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], { env: process.env, stdio: "inherit" });
  const [status] = (await once(child, "exit")) as [number | null];
  return status === 0;
}

test(
  "killed at every file, in both halves: every model opens at every moment, and nothing is lost",
  { timeout: 60_000 },
  async () => {
    fillOld();
    const to = join(home, "moved");
    const was = tree(old);
    let kills = 0;
    // Files that are done are passed over, and count.
    for (let file = 1; !(await moveAndKill(to, file)); file += 2) {
      kills++;
      expect(readStorage().move).not.toBeNull();
      allOpen();
    }
    expect(kills).toBeGreaterThan(8);
    expect(tree(to)).toEqual(was);
    expect(readdirSync(old)).toEqual([]);
    allOpen();
  },
);

test("killed in the middle of a file", { timeout: 60_000 }, async () => {
  const big = madeFile("model.safetensors", safetensors(8_000_000));
  download(old, [config, big]);
  const to = join(home, "moved");
  const random = new Random(7);
  const code = `import { moveModelsFolder } from ${JSON.stringify(script)};
    console.log("begun");
    await moveModelsFolder(${JSON.stringify(to)}, { hardLinks: false });`;
  let killed = 0;
  for (let i = 0; i < 6; i++) {
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    await once(child.stdout, "data");
    setTimeout(() => child.kill("SIGKILL"), 60 * random.next());
    const [status] = (await ended) as [number | null];
    if (status === null) killed++;
    expect(readFileSync(join(resolveLocal("acme/tiny") ?? "", big.path)).equals(big.content)).toBe(true);
  }
  expect(killed).toBeGreaterThan(0);
  if (readdirSync(old).length > 0) await moveModelsFolder(to, { hardLinks: false });
  expect(resolveLocal("acme/tiny")).toBe(join(to, "models--acme--tiny", "snapshots", one));
  expect(Object.keys(tree(to)).filter((path) => path.includes("moving"))).toEqual([]);
  expect(readdirSync(old)).toEqual([]);
});

test("stopped by the person: it goes on, or is given up", async () => {
  fillOld();
  const to = join(home, "moved");
  const controller = new AbortController();
  const stopped = moveModelsFolder(to, {
    hardLinks: false,
    signal: controller.signal,
    onProgress: ({ bytes_done }) => bytes_done > 0 && controller.abort(),
  });
  await expect(stopped).rejects.toSatisfy((error) => errorKind(error) === "cancelled");
  allOpen();
  await expect(moveModelsFolder(join(home, "third"))).rejects.toMatchObject({ code: "move-unfinished" });
  giveUpMove();
  expect(modelsFolder()).toBe(old);
  const { left } = await moveModelsFolder(to, { hardLinks: false });
  expect(left).toEqual([]);
  allOpen();
});

test("into a folder that has models already", async () => {
  fillOld();
  const to = join(home, "moved");
  download(to, [config, weights]);
  download(to, [config, weights], { ref: madeRef("acme/there") });
  await moveModelsFolder(to);
  allOpen();
  expect(resolveLocal("acme/there")).toBeDefined();
  expect(readdirSync(old)).toEqual([]);
});

test("what another program writes into the old folder meanwhile stays there", async () => {
  fillOld();
  const to = join(home, "moved");
  const late = join(old, "models--acme--tiny", "blobs", "late.incomplete");
  const { left } = await moveModelsFolder(to, {
    onProgress: ({ phase }) => phase === "delete" && !existsSync(late) && write(late, "late"),
  });
  // It came after the list was made, so the folder is simply not empty.
  expect(left).toEqual([]);
  expect(readFileSync(late, "utf8")).toBe("late");
  allOpen();
});

describe("refused before anything happens", () => {
  test("nowhere, into itself, onto a file, among other things, while something is downloaded", () => {
    expect(() => planMove(join(home, "x"))).toThrow(/no models yet/);
    fillOld();
    expect(() => planMove(old)).toThrow(/already/);
    expect(() => planMove(join(old, "deeper"))).toThrow(/in each other/);
    expect(() => planMove(home)).toThrow(/in each other/);
    write(join(home, "file"), "");
    expect(() => planMove(join(home, "file"))).toThrow(/is a file/);
    write(join(home, "documents", "letter.txt"), "");
    expect(() => planMove(join(home, "documents"))).toThrow(/letter\.txt/);
    const target = cacheTarget({ ref: madeRef(), commit: one }, [plain(more)], { root: old });
    target.open();
    expect(() => planMove(join(home, "x"))).toThrow(expect.objectContaining({ code: "download-busy" }));
    target.close();
    process.env["HF_HUB_CACHE"] = old;
    expect(() => planMove(join(home, "x"))).toThrow(expect.objectContaining({ code: "models-folder-fixed" }));
    expect(existsSync(storageFile())).toBe(false);
  });

  const disk = mkdtempSync(join(tmpdir(), "hone-move-disk-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=512k", "tmpfs", disk]).status === 0;
  if (!mounted) writeSync(2, "skipped: a move to a disk that is too small (no right to mount one here)\n");
  afterAll(() => {
    if (mounted) spawnSync("umount", [disk]);
  });

  test.skipIf(!mounted)("a disk that is too small, and one that is read-only", async () => {
    fillOld();
    await expect(moveModelsFolder(join(disk, "models"))).rejects.toMatchObject({ code: "disk-space" });
    expect(existsSync(storageFile())).toBe(false);
    expect(spawnSync("mount", ["-o", "remount,ro", disk]).status).toBe(0);
    await expect(moveModelsFolder(join(disk, "models"))).rejects.toMatchObject({ code: "not-writable" });
    allOpen();
  });
});

test("a damaged note of where models are is told, not guessed at", () => {
  write(storageFile(), "{");
  expect(() => modelsFolder()).toThrow(expect.objectContaining({ code: "bad-json" }));
});
