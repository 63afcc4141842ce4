/** The Hugging Face cache, byte by byte, and what becomes of it when something goes wrong. */

import { spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { cacheTarget } from "../../../../core/hub/storage/snapshot-target.ts";
import {
  commitOf,
  download,
  madeFile,
  madeRef,
  newFolder,
  plain,
  safetensors,
  tree,
  write,
  type MadeFile,
} from "./made-repo.ts";

const config = madeFile("config.json", '{"model_type": "llama"}');
const weights = madeFile("model.safetensors", safetensors());
const deep = madeFile("a/b/notes.txt", "deep");
const files = [config, weights, deep];
const [one, two] = [commitOf("one"), commitOf("two")];
const repo = (root: string) => join(root, "models--acme--tiny");

test("the layout is that of huggingface_hub", () => {
  const root = newFolder();
  expect(download(root, files)).toEqual(files.map(({ path }) => path));
  const found = tree(repo(root));
  const record = found[`.hone/${one}.json`];
  expect(found).toEqual({
    [`.hone/${one}.json`]: record,
    [`blobs/${config.etag}`]: config.content.toString("latin1"),
    [`blobs/${weights.sha256}`]: weights.content.toString("latin1"),
    [`blobs/${deep.etag}`]: "deep",
    "refs/main": one,
    [`snapshots/${one}/config.json`]: `-> ../../blobs/${config.etag}`,
    [`snapshots/${one}/model.safetensors`]: `-> ../../blobs/${weights.sha256}`,
    [`snapshots/${one}/a/b/notes.txt`]: `-> ../../../../blobs/${deep.etag}`,
  });
  expect(JSON.parse(record)).toEqual({ version: 1, ref: madeRef(), commit: one, files: files.map(plain) });
});

test("datasets, names without an owner, branches with a slash, commits without a branch", () => {
  const root = newFolder();
  download(root, [config], { ref: madeRef("squad", { kind: "dataset", revision: "refs/convert/parquet" }) });
  download(root, [config], { ref: madeRef("acme/tiny", { revision: two }), commit: two });
  expect(readFileSync(join(root, "datasets--squad", "refs", "refs", "convert", "parquet"), "utf8")).toBe(one);
  expect(existsSync(join(repo(root), "snapshots", two, "config.json"))).toBe(true);
  expect(existsSync(join(repo(root), "refs"))).toBe(false);
});

test("what is here is not downloaded again, and a second revision shares it", () => {
  const root = newFolder();
  download(root, files);
  expect(download(root, files)).toEqual([]);
  const changed = madeFile("config.json", '{"model_type": "qwen3"}');
  expect(download(root, [changed, weights, deep], { commit: two })).toEqual(["config.json"]);
  const found = tree(repo(root));
  expect(found["refs/main"]).toBe(two);
  expect(found[`snapshots/${one}/model.safetensors`]).toBe(found[`snapshots/${two}/model.safetensors`]);
  expect(Object.keys(found).filter((path) => path.startsWith("blobs/"))).toHaveLength(4);
});

test("files are added to a snapshot that is there, and the record then has all", () => {
  const root = newFolder();
  download(root, [config]);
  expect(download(root, [weights])).toEqual(["model.safetensors"]);
  const record = JSON.parse(readFileSync(join(repo(root), ".hone", `${one}.json`), "utf8")) as { files: MadeFile[] };
  expect(record.files.map(({ path }) => path).sort()).toEqual(["config.json", "model.safetensors"]);
  expect(existsSync(join(repo(root), "snapshots", one, "config.json"))).toBe(true);
});

test("nothing is visible before everything is there", () => {
  const root = newFolder();
  const target = cacheTarget({ ref: madeRef(), commit: one }, files.map(plain), { root });
  target.open();
  writeFileSync(target.incomplete(config).data, config.content);
  target.keep(config);
  writeFileSync(target.incomplete(weights).data, "the beginning");
  writeFileSync(target.incomplete(weights).state, "[]");
  expect(() => target.publish()).toThrow(/model.safetensors is missing/);
  target.close();
  const found = Object.keys(tree(repo(root)));
  expect(found.filter((path) => path.startsWith("snapshots/") || path.startsWith("refs/"))).toEqual([]);
  expect(found).toContain(`.hone/${one}.partial.json`);
  // Going on takes what was kept.
  expect(download(root, files)).toEqual(["model.safetensors", "a/b/notes.txt"]);
  expect(Object.keys(tree(repo(root))).filter((path) => /incomplete|partial|ranges/.test(path))).toEqual([]);
});

test("a download of which nothing came leaves nothing", () => {
  const root = newFolder();
  const target = cacheTarget({ ref: madeRef(), commit: one }, files.map(plain), { root });
  target.open();
  // As large as it will be, but a hole from end to end.
  writeFileSync(target.incomplete(weights).data, "");
  truncateSync(target.incomplete(weights).data, weights.size);
  target.close();
  expect(readdirSync(root)).toEqual([]);
});

test("files that the Python library left without a record are taken as they are", () => {
  const root = newFolder();
  const snapshot = join(repo(root), "snapshots", one);
  // Where it may not make links it puts the files themselves.
  write(join(snapshot, "config.json"), config.content);
  write(join(repo(root), "blobs", weights.sha256 ?? ""), weights.content);
  expect(download(root, files)).toEqual(["a/b/notes.txt"]);
  expect(lstatSync(join(snapshot, "config.json")).isFile()).toBe(true);
  expect(lstatSync(join(snapshot, "model.safetensors")).isSymbolicLink()).toBe(true);
});

describe("without links, as on Windows", () => {
  test("the files themselves, each content on the disk once", () => {
    const root = newFolder();
    download(root, files, { symlinks: false });
    const found = tree(repo(root));
    expect(found[`snapshots/${one}/a/b/notes.txt`]).toBe("deep");
    expect(Object.keys(found).filter((path) => path.startsWith("blobs/"))).toEqual([]);
    // A second revision shares what has not changed.
    expect(download(root, files, { symlinks: false, commit: two })).toEqual([]);
    const [first, second] = [one, two].map((commit) =>
      statSync(join(repo(root), "snapshots", commit, "model.safetensors")),
    );
    expect(second.ino).toBe(first.ino);
  });

  test("a stop between two names loses nothing", () => {
    const root = newFolder();
    const target = cacheTarget({ ref: madeRef(), commit: one }, files.map(plain), { root, symlinks: false });
    target.open();
    for (const file of files) {
      writeFileSync(target.incomplete(file).data, file.content);
      target.keep(file);
    }
    // As a kill in the middle of `publish` leaves it.
    write(join(repo(root), ".hone", `snapshot-${one}`, "config.json"), config.content);
    target.close();
    expect(download(root, files, { symlinks: false })).toEqual([]);
    expect(tree(join(repo(root), "snapshots", one))["model.safetensors"]).toBe(weights.content.toString("latin1"));
  });

  test("HF_HUB_DISABLE_SYMLINKS is honoured", () => {
    const root = newFolder();
    process.env["HF_HUB_DISABLE_SYMLINKS"] = "1";
    try {
      download(root, [config]);
    } finally {
      delete process.env["HF_HUB_DISABLE_SYMLINKS"];
    }
    expect(lstatSync(join(repo(root), "snapshots", one, "config.json")).isFile()).toBe(true);
  });
});

describe("ModelScope", () => {
  const ref = madeRef("acme/tiny", { source: "modelscope", revision: "master" });
  const folder = (root: string) => join(root, "models", "acme--tiny");

  test("the layout of its library: files under the branch's name", () => {
    const root = newFolder();
    download(root, files, { ref });
    expect(tree(join(folder(root), "snapshots"))).toEqual({
      "master/config.json": config.content.toString("latin1"),
      "master/model.safetensors": weights.content.toString("latin1"),
      "master/a/b/notes.txt": "deep",
    });
    expect(Object.keys(tree(folder(root)))).toHaveLength(4);
    expect(download(root, files, { ref })).toEqual([]);
  });

  test("a branch that moved on: what is new is fetched, what is gone goes", () => {
    const root = newFolder();
    download(root, files, { ref });
    const changed = madeFile("config.json", '{"model_type": "qwen3"}');
    expect(download(root, [changed, weights], { ref, commit: two })).toEqual(["config.json"]);
    expect(Object.keys(tree(folder(root))).sort()).toEqual([
      `.hone/${two}.json`,
      "snapshots/master/config.json",
      "snapshots/master/model.safetensors",
    ]);
    expect(tree(folder(root))["snapshots/master/config.json"]).toBe('{"model_type": "qwen3"}');
  });
});

test("a damaged content is forgotten everywhere, and comes again", () => {
  const root = newFolder();
  download(root, files);
  download(root, files, { commit: two });
  const target = cacheTarget({ ref: madeRef(), commit: two }, files.map(plain), { root });
  target.discard(weights);
  expect(target.here(weights)).toBe(false);
  expect(Object.keys(tree(repo(root))).filter((path) => path.endsWith("safetensors"))).toEqual([]);
  expect(existsSync(join(repo(root), ".hone", `${one}.json`))).toBe(false);
  expect(download(root, files, { commit: two })).toEqual(["model.safetensors"]);
});

test("a long path below a long path", () => {
  const root = join(newFolder(), "x".repeat(200), "y".repeat(200));
  const long = madeFile(`${"folder".repeat(30)}/${"folder".repeat(30)}/${"name".repeat(60)}.txt`, "far down");
  expect(download(root, [long])).toEqual([long.path]);
  expect(readFileSync(join(repo(root), "snapshots", one, long.path), "utf8")).toBe("far down");
  expect(download(root, [long])).toEqual([]);
});

test("two names that are one here, and a name that is a file and a folder", () => {
  const both = [madeFile("a", "x"), madeFile("a/b", "y")];
  expect(() => download(newFolder(), both)).toThrow(/name/);
  const target = cacheTarget({ ref: madeRef(), commit: one }, both.map(plain), { root: newFolder() });
  expect(() => target.open()).toThrow(expect.objectContaining({ code: "name-clash" }));
});

test("names that differ in case only, on a file system that holds them for one", () => {
  const both = [madeFile("README.md", "one"), madeFile("readme.md", "two")];
  const sensitive = newFolder();
  expect(download(sensitive, both)).toHaveLength(2);
  // What such a file system answers when it is asked for the other spelling.
  const root = newFolder();
  mkdirSync(join(repo(root), ".HONE"), { recursive: true });
  expect(() => download(root, both)).toThrow(
    expect.objectContaining({
      code: "name-clash",
      message: expect.stringMatching(/README\.md and readme\.md/) as string,
      fix: expect.stringContaining("--file") as string,
    }),
  );
  expect(download(root, [both[0]])).toEqual(["README.md"]);
});

test("two processes do not write into one repository", () => {
  const root = newFolder();
  const first = cacheTarget({ ref: madeRef(), commit: one }, [plain(config)], { root });
  const again = cacheTarget({ ref: madeRef(), commit: one }, [plain(weights)], { root });
  first.open();
  // Two downloads of this process may: closing one does not take the folder from the other.
  again.open();
  again.close();
  const script = `
    import { cacheTarget } from ${JSON.stringify(join(import.meta.dirname, "../../../../core/hub/storage/snapshot-target.ts"))};
    try { cacheTarget(${JSON.stringify({ ref: madeRef(), commit: one })}, [], { root: ${JSON.stringify(root)} }).open(); }
    catch (error) { console.log(error.code, error.message); }`;
  const other = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  expect(other.stdout, other.stderr).toMatch(/^download-busy another Hone is downloading acme\/tiny: .*process \d+/);
  first.close();
  expect(existsSync(join(repo(root), ".hone", "run.lock"))).toBe(false);
});

test("a file where a folder should be", () => {
  const root = newFolder();
  write(join(root, "cache"), "a file");
  expect(() => download(join(root, "cache"), [config])).toThrow(
    expect.objectContaining({ code: "not-writable", fix: expect.stringMatching(/HF_HUB_CACHE/) as string }),
  );
});

const isRoot = process.getuid?.() === 0;
if (!isRoot) writeSync(2, "skipped: folders of another user, read-only and full disks (needs root)\n");

describe.skipIf(!isRoot)("what the system refuses", () => {
  const disk = mkdtempSync(join(tmpdir(), "hone-small-disk-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]).status === 0;
  if (!mounted) writeSync(2, "skipped: a small disk of its own (no right to mount one here)\n");
  afterAll(() => {
    if (mounted) spawnSync("umount", [disk]);
  });

  test("no permission", () => {
    const root = newFolder();
    const script = `
      import { cacheTarget } from ${JSON.stringify(join(import.meta.dirname, "../../../../core/hub/storage/snapshot-target.ts"))};
      process.setuid(65534);
      try { cacheTarget(${JSON.stringify({ ref: madeRef(), commit: one })}, [], { root: ${JSON.stringify(root)} }).open(); }
      catch (error) { console.log(error.code, error.message, error.fix); }`;
    const other = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
    expect(other.stdout, other.stderr).toMatch(/^not-writable cannot write to \/.*: you have no permission/);
    expect(other.stdout).toContain("HF_HUB_CACHE");
  });

  test.skipIf(!mounted)("full while a copy is made, then read-only", () => {
    const big = madeFile("model.safetensors", safetensors(30_000));
    expect(download(disk, [big], { symlinks: false })).toEqual([big.path]);
    const more = madeFile("more.safetensors", safetensors(40_000, 2));
    const target = cacheTarget({ ref: madeRef(), commit: two }, [plain(more)], { root: disk });
    target.open();
    expect(() => writeFileSync(target.incomplete(more).data, more.content)).toThrow(/ENOSPC/);
    expect(() => target.publish()).toThrow(expect.objectContaining({ code: "incomplete-snapshot" }));
    target.close();
    // What nobody noted is gone; this fills the disk again.
    expect(() => writeFileSync(join(disk, "filler"), more.content)).toThrow(/ENOSPC/);
    const third = cacheTarget({ ref: madeRef("acme/other"), commit: two }, [plain(more)], { root: disk });
    expect(() => third.open()).toThrow(expect.objectContaining({ code: "disk-full" }));
    expect(spawnSync("mount", ["-o", "remount,ro", disk]).status).toBe(0);
    expect(() => download(disk, [config])).toThrow(
      expect.objectContaining({ code: "not-writable", message: expect.stringMatching(/read-only/) as string }),
    );
    // Reading goes on.
    expect(cacheTarget({ ref: madeRef(), commit: one }, [], { root: disk }).here(big)).toBe(true);
  });
});
