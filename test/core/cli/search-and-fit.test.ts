/** `hone search` and `hone fit` as they are typed, against a hub on this machine and against nobody. */

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { errorOutputSchema } from "../../../core/contract/cli-json.ts";
import { fitReportSchema, searchResultSchema } from "../../../core/contract/hub.ts";
import { startHubServer, type HubServer } from "../../hub-server/hub-server.ts";
import { gatedModel, ggufModel, sampleDataset, sampleModel, starterModel } from "../../hub-server/samples.ts";
import { hone, newHome } from "./hone.ts";

const home = newHome();
let hub: HubServer;

beforeAll(async () => {
  const starter = starterModel();
  if (starter === undefined) throw new Error("the starter model is missing");
  const repositories = [sampleModel(), gatedModel(), ggufModel(), sampleDataset(), starter];
  hub = await startHubServer({ repositories, tokens: { hf_granted: ["acme/locked"], hf_other: [] } });
  vi.stubEnv("HF_ENDPOINT", hub.huggingface);
  vi.stubEnv("MODELSCOPE_ENDPOINT", hub.modelscope);
  vi.stubEnv("HF_HOME", mkdtempSync(join(tmpdir(), "hone-hf-")));
  vi.stubEnv("MODELSCOPE_CACHE", mkdtempSync(join(tmpdir(), "hone-ms-")));
  for (const name of ["HF_TOKEN", "HF_HUB_CACHE", "HTTP_PROXY", "HTTPS_PROXY", "MODELSCOPE_API_TOKEN"])
    vi.stubEnv(name, "");
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await hub.close();
});

test("search prints a table, or one document", async () => {
  const text = await hone(["search", "tiny"], { home });
  expect(text.code, text.stderr).toBe(0);
  expect(text.stdout).toMatch(/^name +parameters +architecture/);
  expect(text.stdout).toMatch(/acme\/tiny +0\.3M +llama +safetensors +yes +1,200 +apache-2\.0/);
  const { stdout } = await hone(["search", "tiny", "--format", "gguf", "--json"], { home });
  expect(searchResultSchema.parse(JSON.parse(stdout)).hits.map(({ ref }) => ref.id)).toEqual(["acme/tiny-GGUF"]);
});

test("search on ModelScope, for datasets, with filters, and with nothing found", async () => {
  const run = async (...args: string[]) => (await hone(["search", ...args], { home })).stdout;
  expect(await run("--source", "modelscope", "tiny")).toContain("acme/tiny");
  expect(await run("--datasets", "rows")).toMatch(/acme\/rows +300 +mit/);
  expect(await run("--max-parameters", "100k", "--supported")).toMatch(/acme\/locked/);
  expect(await run("xyz")).toContain('nothing found for "xyz"');
});

test("the catalogue asks nobody, and shows a team's own models first", async () => {
  const before = hub.requests.length;
  const own = newHome();
  mkdirSync(join(own, "catalogs"));
  writeFileSync(join(own, "catalogs", "broken.json"), "{");
  const { code, stdout, stderr } = await hone(["search", "--catalog", "qwen3"], { home: own });
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/Qwen\/Qwen3-0\.6B +596M +1\.5 GB/);
  expect(stdout).not.toContain("SmolLM");
  expect(stderr).toContain("broken.json is not JSON");
  const json = JSON.parse((await hone(["search", "--catalog", "--json"], { home: own })).stdout) as {
    models: { id: string; fit: unknown; works: { chat: boolean } }[];
    problems: { path: string }[];
  };
  expect(json.models.length).toBeGreaterThan(10);
  for (const { fit } of json.models) fitReportSchema.parse(fit);
  expect(json.problems).toHaveLength(1);
  expect(hub.requests.length).toBe(before);
});

test("fit of a repository downloads no weights and writes nothing", async () => {
  const { code, stdout, stderr } = await hone(["fit", "hone/starter", "--json"], { home });
  expect(code, stderr).toBe(0);
  expect(fitReportSchema.parse(JSON.parse(stdout))).toMatchObject({
    name: "hone/starter",
    parameters: 821_120,
    unsupported: null,
  });
  const words = await hone(["fit", `${hub.modelscope}/models/hone/starter`], { home });
  expect(words.stdout).toMatch(/LoRA training fits: about/);
  expect(words.stdout).toMatch(/^chat +1\.65 MB/m);
});

test.each([
  [["fit", "acme/nothing"], 1, "no-such-repo"],
  [["fit", "acme/locked"], 1, "gated"],
  [["fit", "acme/tiny@v9"], 1, "no-such-revision"],
  [["fit", "acme/tiny-GGUF:Q3_K_M"], 1, "no-such-quant"],
  [["fit", "acme/tiny-GGUF"], 1, "bad-header"],
  [["fit", "acme/tiny", "--measure"], 1, "not-here"],
  [["fit", "datasets/acme/rows"], 1, "not-a-model"],
  [["fit", "https://example.org/a/b"], 1, "bad-reference"],
  [["fit", "/nowhere/at/all"], 1, "no-such-model"],
  [["search", "--sort", "colour"], 2, "usage"],
  [["search", "--min-parameters", "many"], 2, "usage"],
  [["search", "--source", "github"], 2, "usage"],
] as const)("%j", async (args, expected, name) => {
  const { code, stdout, stderr } = await hone([...args, "--json"], { home });
  expect(code, stderr).toBe(expected);
  expect(stdout).toBe("");
  const { error } = errorOutputSchema.parse(JSON.parse(stderr.trim().split("\n").at(-1) ?? ""));
  expect(error.code).toBe(name);
  expect(error.fix).not.toBeNull();
});

test("a token opens a gated model, is never printed, and reaches no other origin", async () => {
  vi.stubEnv("HF_TOKEN", "hf_granted");
  const open = await hone(["fit", "acme/locked", "--verbose"], { home });
  expect(open.code, open.stderr).toBe(0);
  vi.stubEnv("HF_TOKEN", "hf_other");
  const closed = await hone(["fit", "acme/locked", "--verbose"], { home });
  vi.stubEnv("HF_TOKEN", "");
  expect(closed.code).toBe(1);
  expect(closed.stderr).toContain("has not been let in");
  expect(open.stdout + open.stderr + closed.stdout + closed.stderr).not.toMatch(/hf_granted|hf_other/);
  expect(hub.leaks).toEqual([]);
});

test("a hub that nobody reaches", async () => {
  vi.stubEnv("HF_ENDPOINT", "http://127.0.0.1:1");
  const { code, stderr } = await hone(["search", "tiny"], { home });
  vi.stubEnv("HF_ENDPOINT", hub.huggingface);
  expect(code).toBe(1);
  expect(stderr).toMatch(/127\.0\.0\.1:1 refuses the connection\n.*proxy/);
});
