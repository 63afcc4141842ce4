/** Both hubs, as test/hub-server plays them: what a repository is, what is found, what is read, who sees the token. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { errorToData } from "../../../../core/contract/errors.ts";
import {
  repoSnapshotSchema,
  searchQuerySchema,
  searchResultSchema,
  type RepoRef,
  type SearchQueryInput,
} from "../../../../core/contract/hub.ts";
import { datasetSnapshot, datasetSplits } from "../../../../core/hub/dataset-files.ts";
import { findSnapshot } from "../../../../core/hub/find-snapshot.ts";
import { openSource } from "../../../../core/hub/sources/open-hub.ts";
import type { HubSource } from "../../../../core/hub/sources/source.ts";
import { startHubServer, type HubServer } from "../../../hub-server/hub-server.ts";
import { TestRepository } from "../../../hub-server/repository.ts";
import { gatedModel, ggufModel, sampleDataset, sampleFiles, sampleModel } from "../../../hub-server/samples.ts";

const token = "hf_granted";
const tiny = sampleModel();
const tagged = sampleModel("acme/tagged", 1000);
const hostile = new TestRepository("model", "evil/names", { "config.json": "{}", "../../.bashrc": "rm -rf" });
const absolute = new TestRepository("model", "evil/absolute", { "/etc/passwd": "x" });
const others = ["qwen2", "qwen3", "gemma3_text", "mamba"].map(
  (modelType, i) =>
    new TestRepository("model", `zoo/${modelType}-one`, sampleFiles(modelType, 100), {
      modelType,
      downloads: 10 * (i + 1),
      parameters: 1e9 * (i + 1),
      task: "text-generation",
    }),
);
const qwen = new TestRepository("model", "Qwen/Qwen3-0.6B", sampleFiles("q", 100), { licence: "apache-2.0" });
const plainRows = new TestRepository("dataset", "acme/plain", { "train.jsonl": "{}\n" });
const partRows = new TestRepository("dataset", "acme/part", { "train.jsonl": "{}\n" });
partRows.commit({ "default/partial-train/0000.parquet": "PAR1" }, "refs/convert/parquet");
const base = tagged.resolve("main") ?? "";

let hub: HubServer;

beforeAll(async () => {
  tagged.tag("v1.0", base);
  tagged.commit(sampleFiles("acme/tagged", 2000));
  hub = await startHubServer({
    repositories: [
      tiny,
      tagged,
      gatedModel(),
      ggufModel(),
      sampleDataset(),
      plainRows,
      partRows,
      hostile,
      absolute,
      qwen,
      ...others,
    ],
    tokens: { [token]: ["acme/locked"], hf_other: [] },
    pageSize: 3,
  });
});
afterAll(() => hub.close());
afterEach(() => {
  hub.setFaults(undefined);
  hub.online();
  vi.unstubAllEnvs();
});

const open = (name: "huggingface" | "modelscope", secret = ""): HubSource =>
  openSource(name, { endpoint: hub[name], token: secret });
const model = (source: HubSource, id = "acme/tiny", revision?: string): RepoRef => ({
  source: source.name,
  kind: "model",
  id,
  revision: revision ?? (source.name === "huggingface" ? "main" : "master"),
});
const code = (name: string) => expect.objectContaining({ code: name }) as Error;

describe.each(["huggingface", "modelscope"] as const)("%s", (name) => {
  test("a repository at its commit, with every file and its checksum, over several pages", async () => {
    const snapshot = repoSnapshotSchema.parse(await open(name).snapshot(model(open(name))));
    expect(snapshot).toMatchObject({
      commit: tiny.resolve("main"),
      licence: "apache-2.0",
      gated: false,
      private: false,
      architecture: "llama",
      parameters: 300_000,
      downloads: 1200,
      likes: 34,
    });
    const contents = tiny.files(snapshot.commit);
    expect(snapshot.files.map(({ path }) => path).sort()).toEqual([...contents.keys()].sort());
    for (const file of snapshot.files) {
      const content = contents.get(file.path);
      expect(file.size).toBe(content?.size);
      const isKnown = name === "modelscope" || content?.isLfs === true;
      expect(file.sha256).toBe(isKnown ? content?.sha256 : null);
      expect(file.etag).toBe(isKnown ? null : content?.gitOid);
    }
  });

  test("tags and commits are revisions; one that is not there is said so", async () => {
    const source = open(name);
    for (const revision of ["v1.0", base]) {
      expect((await source.snapshot(model(source, "acme/tagged", revision))).commit).toBe(base);
    }
    await expect(source.snapshot(model(source, "acme/tagged", "v9"))).rejects.toThrow(code("no-such-revision"));
  });

  test("a file's bytes by range, through the redirect to the store, and beyond its end", async () => {
    const source = open(name);
    const snapshot = await source.snapshot(model(source));
    const file = { path: "model-00001-of-00002.safetensors" };
    const whole = await source.readRange(snapshot, file, 0, 200_000);
    expect(whole.length).toBe(snapshot.files.find(({ path }) => path === file.path)?.size);
    expect(await source.readRange(snapshot, file, 100, 300)).toEqual(whole.subarray(100, 300));
    expect(await source.readRange(snapshot, file, 10_000_000, 10_000_100)).toHaveLength(0);
    await expect(source.readRange(snapshot, { path: "nothing.txt" }, 0, 10)).rejects.toThrow(code("no-such-file"));
  });

  test("a server that ignores ranges is read no further than asked", async () => {
    const source = open(name);
    const snapshot = await source.snapshot(model(source));
    const file = { path: "model-00001-of-00002.safetensors" };
    const right = await source.readRange(snapshot, file, 50, 90);
    hub.setFaults((kind) => (kind === "bytes" ? { name: "range-ignored", at: 0.5 } : undefined));
    expect(await source.readRange(snapshot, file, 50, 90)).toEqual(right);
    hub.setFaults((kind) => (kind === "bytes" ? { name: "wrong-content-range", at: 0.5 } : undefined));
    await expect(source.readRange(snapshot, file, 50, 90)).rejects.toThrow(code("bad-answer"));
  });

  test("the card, cleaned", async () => {
    const source = open(name);
    const card = await source.card(await source.snapshot(model(source)));
    expect(card).toMatchObject({ facts: { license: "apache-2.0", language: ["en"] }, cut: false });
    expect(card?.markdown).toContain("A model for tests.");
  });

  test("a gated repository: its list without a token, its files only with one that was let in", async () => {
    const source = open(name);
    const snapshot = await source.snapshot(model(source, "acme/locked"));
    expect(snapshot.gated).toBe("manual");
    const read = (one: HubSource) => one.readRange(snapshot, { path: "config.json" }, 0, 10);
    expect((await read(open(name, token))).length).toBe(10);
    await expect(read(open(name, "hf_other"))).rejects.toThrow(code("gated"));
    const denied = errorToData(await read(source).catch((error: unknown) => error));
    expect(denied.fix).toMatch(
      name === "huggingface" ? /huggingface\.co\/acme\/locked.*HF_TOKEN/ : /MODELSCOPE_API_TOKEN/,
    );
  });

  test("the token reaches no other origin, and no error", async () => {
    const source = open(name, token);
    const snapshot = await source.snapshot(model(source, "acme/locked"));
    await source.readRange(snapshot, { path: "model-00001-of-00002.safetensors" }, 0, 100);
    await source.search(searchQuerySchema.parse({ text: "tiny" }));
    expect(hub.requests.some(({ origin }) => origin === "cdn")).toBe(true);
    expect(hub.leaks).toEqual([]);
    const failures = [
      source.snapshot(model(source, "acme/nothing")),
      source.snapshot(model(source, "acme/tagged", "v9")),
      source.readRange(snapshot, { path: "nothing.txt" }, 0, 10),
    ];
    for (const failure of failures) {
      const error = await failure.then(() => undefined, errorToData);
      expect(JSON.stringify(error)).not.toContain(token);
    }
  });

  test("a list in which a name would leave its folder is refused whole", async () => {
    const source = open(name);
    for (const id of ["evil/names", "evil/absolute"]) {
      await expect(source.snapshot(model(source, id))).rejects.toThrow(code("hostile-file-name"));
    }
  });

  test("what is not there", async () => {
    const source = open(name);
    await expect(source.snapshot(model(source, "acme/nothing"))).rejects.toThrow(code("no-such-repo"));
    const dataset: RepoRef = { ...model(source, "acme/tiny"), kind: "dataset" };
    await expect(source.snapshot(dataset)).rejects.toThrow(code("no-such-repo"));
  });

  test("a hub that is busy for a moment is asked again", async () => {
    let left = 2;
    hub.setFaults((kind) => (kind === "api" && left-- > 0 ? { name: "status-503", at: 0 } : undefined));
    expect((await open(name).snapshot(model(open(name)))).commit).toBe(tiny.resolve("main"));
    expect(left).toBeLessThan(0);
  });

  test("datasets", async () => {
    const source = open(name);
    const { files, licence } = await source.snapshot({ ...model(source, "acme/rows"), kind: "dataset" });
    expect(files.map(({ path }) => path)).toEqual(expect.arrayContaining(["data/train.jsonl", "data/test.jsonl"]));
    expect(licence).toBe("mit");
  });
});

describe("search", () => {
  const search = async (input: SearchQueryInput, name: "huggingface" | "modelscope" = "huggingface") => {
    const result = await open(name).search(searchQuerySchema.parse(input));
    searchResultSchema.parse(result);
    return { ...result, ids: result.hits.map(({ ref }) => ref.id) };
  };

  test.each(["huggingface", "modelscope"] as const)("by words and by owner (%s)", async (name) => {
    expect((await search({ text: "tiny" }, name)).ids).toEqual(expect.arrayContaining(["acme/tiny", "acme/tiny-GGUF"]));
    expect((await search({ author: "zoo" }, name)).ids).toHaveLength(4);
    expect((await search({ text: "no such thing" }, name)).ids).toEqual([]);
  });

  test.each(["huggingface", "modelscope"] as const)(
    "only what the engine opens, most downloads first (%s)",
    async (name) => {
      const { hits, ids } = await search({ author: "zoo", supported: true }, name);
      expect(ids).toEqual(["zoo/gemma3_text-one", "zoo/qwen3-one", "zoo/qwen2-one"]);
      expect(hits.every(({ supported }) => supported === true)).toBe(true);
      expect((await search({ author: "zoo", architecture: "qwen3" }, name)).ids).toEqual(["zoo/qwen3-one"]);
    },
  );

  test.each(["huggingface", "modelscope"] as const)("by size (%s)", async (name) => {
    const { ids } = await search({ author: "zoo", min_parameters: 1.5e9, max_parameters: 3e9 }, name);
    expect(ids.sort()).toEqual(["zoo/gemma3_text-one", "zoo/qwen3-one"]);
  });

  test("GGUF repositories, datasets, the limit, and that there is more", async () => {
    expect((await search({ format: "gguf" })).ids).toEqual(["acme/tiny-GGUF"]);
    expect((await search({ kind: "dataset", text: "rows" })).ids).toEqual(["acme/rows"]);
    const some = await search({ limit: 2 });
    expect(some.ids).toHaveLength(2);
    expect(some.more).toBe(true);
  });
});

describe("a hostile or broken hub", () => {
  test("a list that goes on at another host is refused, and the token does not follow it", async () => {
    let seen = false;
    const other = createServer((_request, response) => {
      seen = true;
      response.end("[]");
    });
    const mirror = createServer((request, response) => {
      const { port } = other.address() as AddressInfo;
      const info = { _id: "1", id: "a/b", sha: base, gated: false, lastModified: "2026-01-01T00:00:00Z" };
      const isTree = request.url?.includes("/tree/") === true;
      response.setHeader("link", `<http://localhost:${port}/next>; rel="next"`);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(isTree ? [] : info));
    });
    for (const server of [other, mirror]) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const endpoint = `http://127.0.0.1:${(mirror.address() as AddressInfo).port}`;
      const source = openSource("huggingface", { endpoint, token });
      await expect(source.snapshot(model(source, "a/b"))).rejects.toThrow(code("bad-answer"));
      expect(seen).toBe(false);
    } finally {
      other.close();
      mirror.close();
    }
  });

  test("answers of another form are said to be so", async () => {
    const strange = createServer((_request, response) => {
      response.setHeader("content-type", "application/json");
      response.end('{"sha": 7}');
    });
    await new Promise<void>((resolve) => strange.listen(0, "127.0.0.1", resolve));
    const endpoint = `http://127.0.0.1:${(strange.address() as AddressInfo).port}`;
    try {
      for (const name of ["huggingface", "modelscope"] as const) {
        const source = openSource(name, { endpoint, token: "" });
        await expect(source.snapshot(model(source))).rejects.toThrow(code("bad-answer"));
      }
    } finally {
      strange.close();
    }
  });
});

describe("settings", () => {
  test("the endpoint comes from the environment; what is no address is refused", () => {
    vi.stubEnv("HF_ENDPOINT", "https://mirror.example/");
    vi.stubEnv("MODELSCOPE_ENDPOINT", "");
    expect(openSource("huggingface", { token: "" }).endpoint).toBe("https://mirror.example");
    expect(openSource("modelscope", { token: "" }).endpoint).toBe("https://www.modelscope.cn");
    for (const endpoint of ["mirror.example", "ftp://x", "https://user:pass@x", "https://x?y"]) {
      expect(() => openSource("huggingface", { endpoint, token: "" })).toThrow(code("bad-address"));
    }
  });

  test("a saved token goes to huggingface.co only; HF_TOKEN goes wherever the user points", () => {
    const home = mkdtempSync(join(tmpdir(), "hone-hf-home-"));
    writeFileSync(join(home, "token"), "hf_saved\n");
    vi.stubEnv("HF_HOME", home);
    for (const name of ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_ENDPOINT"]) vi.stubEnv(name, "");
    const sent = (source: HubSource) => {
      const snapshot = { ref: model(source), commit: base } as Parameters<HubSource["locate"]>[0];
      const { url, credentials } = source.locate(snapshot, { path: "x" });
      return credentials?.headersFor(new URL(url))["authorization"];
    };
    expect(sent(openSource("huggingface"))).toBe("Bearer hf_saved");
    vi.stubEnv("HF_ENDPOINT", "https://mirror.example");
    expect(sent(openSource("huggingface"))).toBeUndefined();
    vi.stubEnv("HF_TOKEN", " hf_given ");
    expect(sent(openSource("huggingface"))).toBe("Bearer hf_given");
  });
});

describe("a dataset's Parquet branch", () => {
  const read = async (id: string, revision = "main") => {
    const source = open("huggingface");
    return datasetSnapshot(source, { source: "huggingface", kind: "dataset", id, revision });
  };

  test("is taken where there is a whole one, and its parts are told by its folders", async () => {
    const snapshot = await read("acme/rows");
    expect(snapshot.ref.revision).toBe("refs/convert/parquet");
    expect(datasetSplits(snapshot).map(({ split, files }) => [split, files])).toEqual([
      ["train", ["default/train/0000.parquet"]],
      ["test", ["default/test/0000.parquet"]],
    ]);
  });

  test("is left where only a part was converted, where there is none, and where a revision was asked for", async () => {
    expect((await read("acme/part")).ref.revision).toBe("main");
    expect((await read("acme/plain")).ref.revision).toBe("main");
    expect((await read("acme/rows", "refs/convert/parquet")).files).toHaveLength(2);
    await expect(read("acme/none")).rejects.toThrow(code("no-such-repo"));
  });
});

describe("the other source of the same model", () => {
  const hubs = () => ({
    huggingface: { endpoint: "http://127.0.0.1:1", token: "" },
    modelscope: { endpoint: hub.modelscope, token: "" },
  });

  test("is asked when the first does not answer", async () => {
    const ref: RepoRef = { source: "huggingface", kind: "model", id: "Qwen/Qwen3-0.6B", revision: "main" };
    const found = await findSnapshot(ref, { hubs: hubs() });
    expect(found.source.name).toBe("modelscope");
    expect(found.note).toMatch(/Hugging Face does not answer.*ModelScope/);
    expect(found.snapshot.commit).toBe(qwen.resolve("main"));
  });

  test("is not asked for a revision, or for a model that the catalogue does not know: the first error stands", async () => {
    const ask = (id: string, revision: string) =>
      findSnapshot({ source: "huggingface", kind: "model", id, revision }, { hubs: hubs() });
    await expect(ask("Qwen/Qwen3-0.6B", "v1")).rejects.toThrow(code("connection-refused"));
    await expect(ask("acme/tiny", "main")).rejects.toThrow(code("connection-refused"));
  });
});
