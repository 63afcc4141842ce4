/** `hone get`, `hone ls models`, `hone rm`: against a hub on this machine. */

import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { getOutputSchema, getPlanSchema, removalSchema, storageListingSchema } from "../../../core/contract/hub.ts";
import { errorOutputSchema } from "../../../core/contract/cli-json.ts";
import { faultList } from "../../hub-server/faults.ts";
import { startHubServer, type HubServer } from "../../hub-server/hub-server.ts";
import { gatedModel, ggufModel, noise, sampleDataset, sampleModel, starterModel } from "../../hub-server/samples.ts";
import { TestRepository } from "../../hub-server/repository.ts";
import { hone, newHome, start } from "./hone.ts";

const before = { ...process.env };
const starter = starterModel();
let fast: HubServer;
let slow: HubServer;
let home: string;
let cache: string;

beforeAll(async () => {
  const pickles = new TestRepository("model", "acme/pickles", {
    "config.json": "{}",
    "pytorch_model.bin": noise("p", 1000),
  });
  const repositories = [
    sampleModel(),
    ggufModel(),
    gatedModel(),
    sampleDataset(),
    pickles,
    ...(starter ? [starter] : []),
  ];
  fast = await startHubServer({ repositories, tokens: { hf_granted: ["acme/locked"] } });
  slow = await startHubServer({ repositories: [sampleModel("acme/large", 4_000_000)], bytesPerSecond: 800_000 });
});
beforeEach(() => {
  home = newHome();
  cache = mkdtempSync(join(tmpdir(), "hone-get-"));
  const { HF_TOKEN: _, HF_HUB_CACHE: __, ...rest } = before;
  process.env = {
    ...rest,
    HOME: mkdtempSync(join(tmpdir(), "hone-user-")),
    HF_ENDPOINT: fast.huggingface,
    MODELSCOPE_ENDPOINT: fast.modelscope,
    HF_HOME: cache,
    MODELSCOPE_CACHE: join(cache, "modelscope"),
    OLLAMA_MODELS: join(cache, "ollama"),
  };
});
afterEach(() => {
  rmSync(cache, { recursive: true, force: true });
});
afterAll(async () => {
  process.env = before;
  await Promise.all([fast.close(), slow.close()]);
});

const run = (...args: string[]) => hone(args, { home });
const hub = () => join(cache, "hub");

async function json<T>(schema: { parse: (value: unknown) => T }, ...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await run(...args, "--json");
  expect(code, stderr).toBe(0);
  return schema.parse(JSON.parse(stdout));
}

async function refused(
  ...args: string[]
): Promise<{ code: string; message: string; fix: string | null; exit: number | null }> {
  const { code, stdout, stderr } = await run(...args, "--json");
  expect(stdout).toBe("");
  const line = stderr.trim().split("\n").at(-1) ?? "";
  return { ...errorOutputSchema.parse(JSON.parse(line)).error, exit: code };
}

describe("hone get", () => {
  test("says what would come, fetches it once, and knows it afterwards", { timeout: 60_000 }, async () => {
    const plan = await json(getPlanSchema, "get", "acme/tiny", "--dry-run");
    expect(plan).toMatchObject({ format: "safetensors", verdict: "fits", bytes_to_fetch: plan.bytes });
    expect(plan.left_out.map(({ path }) => path)).toContain("original/params.json");
    expect(existsSync(hub())).toBe(false);
    const got = await json(getOutputSchema, "get", "acme/tiny");
    expect(got).toMatchObject({
      reference: "acme/tiny",
      bytes: plan.bytes,
      fetched_bytes: plan.bytes,
      path: plan.path,
    });
    expect(new Set(got.files.map(({ checked }) => checked))).toEqual(new Set(["sha256", "git"]));
    const again = await run("get", "acme/tiny");
    expect(again.code).toBe(0);
    expect(again.stdout).toContain(`here already: ${plan.path}`);
    expect((await json(getPlanSchema, "get", "acme/tiny", "--dry-run")).bytes_to_fetch).toBe(0);
  });

  test.skipIf(starter === undefined)("what was fetched is opened by its name", { timeout: 60_000 }, async () => {
    const { stdout, stderr, code } = await run("get", "hone/starter");
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(
      /^hone\/starter, main \([0-9a-f]{7}\) of Hugging Face: \d+ files, 1\.67 MB\nfetched 1\.67 MB in /,
    );
    expect(stderr).toContain("next: `hone chat --model hone/starter`");
    const answer = await run(
      "chat",
      "--model",
      "hone/starter",
      "--prompt",
      "Hello",
      "--max-tokens",
      "4",
      "--temperature",
      "0",
    );
    expect(answer.code, answer.stderr).toBe(0);
  });

  test("a quantisation by its name, by its file, by a link; ModelScope; a dataset", { timeout: 60_000 }, async () => {
    const named = await json(getOutputSchema, "get", "acme/tiny-GGUF:q4_k_m");
    expect(named.reference).toBe("acme/tiny-GGUF:Q4_K_M");
    const byFile = await json(getOutputSchema, "get", "acme/tiny-GGUF/tiny-Q8_0.gguf");
    expect(byFile.reference).toBe("acme/tiny-GGUF:Q8_0");
    const link = `${fast.huggingface}/acme/tiny-GGUF/blob/main/tiny-Q8_0.gguf`;
    expect((await json(getOutputSchema, "get", link)).fetched_bytes).toBe(0);
    const scope = await json(getOutputSchema, "get", "acme/tiny", "--source", "modelscope");
    expect(scope).toMatchObject({
      reference: "ms:acme/tiny",
      path: join(cache, "modelscope", "models", "acme--tiny", "snapshots", "master"),
    });
    const rows = await json(getOutputSchema, "get", "acme/rows", "--dataset", "--split", "train");
    expect(rows.reference).toBe("datasets/acme/rows");
    expect(rows.files.map(({ path }) => path)).toContain("default/train/0000.parquet");
    expect(rows.files.map(({ path }) => path)).not.toContain("default/test/0000.parquet");
    const listing = await json(storageListingSchema, "ls", "models");
    expect(listing.models.map(({ reference }) => reference).filter((name) => name !== "starter")).toEqual([
      "acme/tiny-GGUF:Q4_K_M",
      "acme/tiny-GGUF:Q8_0",
      "ms:acme/tiny",
    ]);
    const datasets = await run("ls", "datasets");
    expect(datasets.stdout).toContain("datasets/acme/rows");
  });

  test("Ctrl-C keeps what is here and says how to go on; so does a kill", { timeout: 60_000 }, async () => {
    process.env["HF_ENDPOINT"] = slow.huggingface;
    const first = start(["get", "acme/large"], { home });
    await first.says(/of 4 MB/);
    await new Promise((done) => setTimeout(done, 600));
    first.child.kill("SIGINT");
    const stopped = await first.finished;
    expect(stopped.code).toBe(130);
    expect(stopped.stderr).toMatch(/of 4 MB are here; `hone get acme\/large` goes on from there/);
    const part = await run("ls", "models");
    expect(part.stdout).toMatch(/acme\/large .*in part/);
    expect(part.stderr).toMatch(/acme\/large is here in part: \d files? missing; `hone get acme\/large` goes on/);
    expect((await refused("chat", "--model", "acme/large", "--prompt", "x")).code).toBe("incomplete-model");
    const second = start(["get", "acme/large"], { home });
    await second.says(/of 4 MB/);
    second.child.kill("SIGKILL");
    await second.finished;
    const last = await json(getOutputSchema, "get", "acme/large");
    expect(last.fetched_bytes).toBeLessThan(last.bytes);
    expect(
      readdirSync(join(hub(), "models--acme--large", "blobs")).filter((name) => name.includes("incomplete")),
    ).toEqual([]);
  });

  test("a connection that breaks is told on stderr, and mended", { timeout: 60_000 }, async () => {
    fast.setFaults(faultList(["cut", "status-503"]));
    const { fetched_bytes, bytes } = await json(getOutputSchema, "get", "acme/tiny").finally(() =>
      fast.setFaults(undefined),
    );
    expect(fetched_bytes).toBeGreaterThanOrEqual(bytes);
  });

  test("what was damaged on the disk comes again with --check", { timeout: 60_000 }, async () => {
    const { path } = await json(getOutputSchema, "get", "acme/tiny");
    const file = join(path, "model-00001-of-00002.safetensors");
    const good = readFileSync(file);
    const bad = Buffer.from(good);
    bad[1000] ^= 1;
    writeFileSync(file, bad);
    expect((await json(getOutputSchema, "get", "acme/tiny")).fetched_bytes).toBe(0);
    const mended = await json(getOutputSchema, "get", "acme/tiny", "--check");
    expect(mended.fetched_bytes).toBe(good.length);
    expect(readFileSync(file).equals(good)).toBe(true);
    // Through the link, the content itself.
    truncateSync(file, 10);
    expect((await json(getOutputSchema, "get", "acme/tiny")).fetched_bytes).toBe(good.length);
  });

  test("what cannot be had says why", { timeout: 60_000 }, async () => {
    expect(await refused("get", "acme/none")).toMatchObject({ code: "no-such-repo", exit: 1 });
    expect(await refused("get", "tiny")).toMatchObject({ code: "bad-reference" });
    expect(await refused("get", "acme/tiny@v9")).toMatchObject({ code: "no-such-revision" });
    expect(await refused("get", "acme/locked")).toMatchObject({
      code: "gated",
      fix: expect.stringContaining("/acme/locked") as string,
    });
    expect(existsSync(join(hub(), "models--acme--locked"))).toBe(false);
    expect(await refused("get", "acme/pickles")).toMatchObject({ code: "only-pickle" });
    expect(await refused("get", "acme/pickles", "--file", "pytorch_model.bin")).toMatchObject({ code: "only-pickle" });
    expect(await refused("get", "acme/tiny", "--file", "config.jsn")).toMatchObject({
      code: "no-such-file",
      fix: "did you mean config.json?",
    });
    expect(await refused("get", "acme/tiny-GGUF:Q4_K_S")).toMatchObject({ code: "no-such-quant" });
    expect(await refused("get", "acme/rows", "--dataset", "--split", "dev")).toMatchObject({ code: "no-such-split" });
    process.env["HF_TOKEN"] = "hf_granted";
    expect((await json(getOutputSchema, "get", "acme/locked")).fetched_bytes).toBeGreaterThan(0);
    writeFileSync(join(cache, "file"), "");
    process.env["HF_HUB_CACHE"] = join(cache, "file");
    expect(await refused("get", "acme/tiny")).toMatchObject({ code: "not-writable" });
    process.env["HF_ENDPOINT"] = "http://127.0.0.1:9";
    expect((await refused("get", "acme/tiny")).exit).toBe(1);
  });
});

describe("hone rm", () => {
  test("lists, asks, deletes exactly that", { timeout: 60_000 }, async () => {
    await run("get", "acme/tiny");
    const dry = await json(removalSchema, "rm", "acme/tiny", "--dry-run");
    expect(dry).toMatchObject({ removed: false, paths: [join(hub(), "models--acme--tiny")], kept_paths: [] });
    const unasked = await run("rm", "acme/tiny");
    expect(unasked.code).toBe(2);
    expect(unasked.stderr).toContain("add --yes");
    expect(existsSync(join(hub(), "models--acme--tiny"))).toBe(true);
    const gone = await json(removalSchema, "rm", "acme/tiny", "--yes");
    expect(gone).toEqual({ ...dry, removed: true });
    expect(readdirSync(hub())).toEqual([]);
    expect(await refused("rm", "acme/tiny", "--yes")).toMatchObject({ code: "no-such-model", exit: 1 });
    expect(await refused("rm", "starter", "--yes")).toMatchObject({ code: "no-such-model" });
    expect(await refused("rm")).toMatchObject({ code: "usage", exit: 2 });
    expect(await refused("rm", "/etc", "--yes")).toMatchObject({ code: "not-in-a-known-place" });
    expect((await run("rm", "--leftovers")).stdout).toBe("nothing is left of any download\n");
  });
});
