import { downloadFile, fileDownloadInfo, listFiles, listModels, modelInfo } from "@huggingface/hub";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { gitBlobOid } from "./repository.ts";
import { startHubServer, type HubServer } from "./hub-server.ts";
import { gatedModel, ggufModel, sampleDataset, sampleModel } from "./samples.ts";

let hub: HubServer;
const model = sampleModel();

beforeEach(async () => {
  const repositories = [model, gatedModel(), ggufModel(), sampleDataset()];
  hub = await startHubServer({
    repositories,
    tokens: { hf_in: ["acme/locked"], hf_out: [] },
    moved: { "old/tiny": "acme/tiny" },
    pageSize: 4,
  });
});
afterEach(() => hub.close());

const collect = async <T>(list: AsyncIterable<T>): Promise<T[]> => {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
};

describe("the test hub, through Hugging Face's own library", () => {
  const options = () => ({ hubUrl: hub.huggingface });

  it("tells what a model is", async () => {
    const info = await modelInfo({
      name: "acme/tiny",
      additionalFields: ["sha", "safetensors", "filePaths"],
      ...options(),
    });
    expect(info).toMatchObject({ name: "acme/tiny", downloads: 1200, gated: false, sha: model.resolve("main") });
    expect(info.safetensors?.total).toBe(300_000);
    expect(info.filePaths).toContain("original/params.json");
    expect((await modelInfo({ name: "old/tiny", ...options() })).name).toBe("acme/tiny");
  });

  it("lists files in pages, large ones with their SHA-256", async () => {
    const files = await collect(listFiles({ repo: "acme/tiny", recursive: true, ...options() }));
    expect(files.filter(({ type }) => type === "file")).toHaveLength(10);
    const weights = files.find(({ path }) => path === "model-00001-of-00002.safetensors");
    const content = model.files(model.resolve("main") ?? "").get("model-00001-of-00002.safetensors");
    expect(weights?.lfs?.oid).toBe(content?.sha256);
    expect(hub.requests.filter(({ path }) => path.includes("/tree/")).length).toBeGreaterThan(2);
    const parquet = await collect(
      listFiles({ repo: "datasets/acme/rows", recursive: true, revision: "refs/convert/parquet", ...options() }),
    );
    expect(parquet.map(({ path }) => path)).toContain("default/train/0000.parquet");
  });

  it("finds models by name and by tag", async () => {
    const names = (await collect(listModels({ search: { query: "TINY" }, ...options() }))).map(({ name }) => name);
    expect(names).toEqual(["acme/tiny", "acme/tiny-GGUF"]);
    const tagged = await collect(listModels({ search: { tags: ["gguf"] }, ...options() }));
    expect(tagged.map(({ name }) => name)).toEqual(["acme/tiny-GGUF"]);
  });

  it("gives files, small and large", async () => {
    const small = await fileDownloadInfo({ repo: "acme/tiny", path: "config.json", ...options() });
    const text = await (await downloadFile({ repo: "acme/tiny", path: "config.json", ...options() }))?.text();
    expect(small?.etag).toBe(`"${gitBlobOid(Buffer.from(text ?? ""))}"`);
    const large = await downloadFile({ repo: "acme/tiny", path: "model-00002-of-00002.safetensors", ...options() });
    expect((await large?.arrayBuffer())?.byteLength).toBe(150_126);
    expect(await fileDownloadInfo({ repo: "acme/tiny", path: "none.json", ...options() })).toBeNull();
  });

  it("keeps gated files for those who were let in", async () => {
    const get = (accessToken?: string) =>
      fileDownloadInfo({
        repo: "acme/locked",
        path: "config.json",
        ...options(),
        ...(accessToken !== undefined && { accessToken }),
      });
    await expect(get()).rejects.toMatchObject({ statusCode: 401 });
    await expect(get("hf_out")).rejects.toMatchObject({ statusCode: 403 });
    expect((await get("hf_in"))?.size).toBeGreaterThan(0);
  });
});

describe("the CDN", () => {
  it("serves ranges of signed addresses only", async () => {
    const address = await fetch(`${hub.huggingface}/acme/tiny/resolve/main/model-00001-of-00002.safetensors`, {
      redirect: "manual",
    });
    expect(address.status).toBe(302);
    expect(address.headers.get("x-linked-size")).toBe("150126");
    const url = address.headers.get("location") ?? "";
    expect(new URL(url).host).not.toBe(new URL(hub.huggingface).host);
    const part = await fetch(url, { headers: { range: "bytes=10-19" } });
    expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 10-19/150126"]);
    expect((await fetch(url, { headers: { range: "bytes=999999-" } })).status).toBe(416);
    expect((await fetch(url.replace(/Signature=../, "Signature=xx"))).status).toBe(403);
    await fetch(url, { headers: { authorization: "Bearer secret" } });
    expect(hub.leaks).toHaveLength(1);
  });
});
