/** What a model is, from its first bytes: right for real files, refused by name for damaged and hostile ones. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { engineArchitectures, ggufArchitectures } from "../../../core/contract/architectures.ts";
import { readHeader, type ReadAt } from "../../../core/hub/remote-header.ts";
import { catalogFile } from "../../../core/hub/catalog.ts";

const root = join(catalogFile, "..", "..");
const code = (name: string) => expect.objectContaining({ code: name }) as Error;

/** Files in memory, with what was read of them. */
function files(contents: Record<string, Buffer | string>, sizes: Record<string, number> = {}) {
  const bytes = Object.fromEntries(Object.entries(contents).map(([path, data]) => [path, Buffer.from(data as Buffer)]));
  let fetched = 0;
  const read: ReadAt = (path, start, end) => {
    const piece = bytes[path].subarray(start, end);
    fetched += piece.length;
    return Promise.resolve(piece);
  };
  const list = Object.entries(bytes).map(([path, data]) => ({ path, size: sizes[path] ?? data.length }));
  return { read: () => readHeader(list, read), fetched: () => fetched };
}

function long(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
const text = (value: string) => Buffer.concat([long(Buffer.byteLength(value)), Buffer.from(value)]);

describe("safetensors", () => {
  const config = JSON.stringify({ model_type: "llama" });
  const weights = (header: unknown, data = 0, claimed?: bigint) => {
    const json = Buffer.from(typeof header === "string" ? header : JSON.stringify(header));
    return Buffer.concat([long(claimed ?? json.length), json, Buffer.alloc(data)]);
  };
  const tensor = (dtype: string, shape: number[], start: number, end: number) => ({
    dtype,
    shape,
    data_offsets: [start, end],
  });

  test("parameters, bytes and types over several parts, of which only the heads are read", async () => {
    const first = {
      __metadata__: { format: "pt" },
      a: tensor("BF16", [100, 50], 0, 10_000),
      b: tensor("F32", [7], 10_000, 10_028),
    };
    const many = Object.fromEntries(
      Array.from({ length: 4000 }, (_, i) => [
        `layer.${i}.${"x".repeat(60)}`,
        tensor("BF16", [10], 20 * i, 20 * i + 20),
      ]),
    );
    const model = files({
      "config.json": config,
      "model-00001-of-00002.safetensors": weights(first, 10_028),
      "model-00002-of-00002.safetensors": weights(many, 3e6),
    });
    expect(await model.read()).toMatchObject({
      format: "safetensors",
      parameters: 5007 + 40_000,
      weightBytes: 10_028 + 80_000,
      dtype: "BF16",
      unreadable: [],
      config: { model_type: "llama" },
    });
    expect(model.fetched()).toBeLessThan(1e6);
  });

  test.each([
    ["too short", Buffer.from("abc"), "too short"],
    ["a header longer than the file", weights("{}", 0, 1n << 40n), "claims"],
    ["a header of 2^64 - 1", weights("{}", 0, (1n << 64n) - 1n), "claims"],
    ["no JSON", weights("{", 10), "not JSON"],
    ["a list", weights([], 10), "another form"],
    ["a tensor beyond the end", weights({ a: tensor("F32", [100], 0, 400) }, 399), "does not fit"],
    ["a tensor larger than its bytes", weights({ a: tensor("F32", [1e9], 0, 4) }, 4), "does not fit"],
    ["a tensor that ends before it begins", weights({ a: tensor("F32", [1], 8, 4) }, 8), "does not fit"],
    ["a negative offset", weights({ a: tensor("F32", [1], -4, 0) }, 8), "another form"],
  ])("%s", async (_name, data, why) => {
    const { read } = files({ "config.json": config, "model.safetensors": data });
    await expect(read()).rejects.toThrow(
      expect.objectContaining({ code: "bad-header", message: expect.stringContaining(why) as string }) as Error,
    );
  });

  test("types that the engine does not compute with, and a missing or broken config.json", async () => {
    const eight = weights({ a: tensor("F8_E4M3", [4], 0, 4) }, 4);
    expect(await files({ "config.json": config, "model.safetensors": eight }).read()).toMatchObject({
      dtype: "F8_E4M3",
      unreadable: ["F8_E4M3"],
    });
    await expect(files({ "model.safetensors": eight }).read()).rejects.toThrow(code("no-config"));
    await expect(files({ "model.safetensors": eight, "config.json": "[" }).read()).rejects.toThrow(code("bad-header"));
    await expect(files({ "model.safetensors": eight, "config.json": "[]" }).read()).rejects.toThrow(code("bad-header"));
    await expect(
      files({ "model.safetensors": eight, "config.json": config }, { "config.json": 1e9 }).read(),
    ).rejects.toThrow(code("no-config"));
  });
});

describe("GGUF", () => {
  const pair = (key: string, type: number, value: Buffer) => Buffer.concat([text(key), int(type), value]);
  const info = (name: string, shape: number[], type: number) =>
    Buffer.concat([text(name), int(shape.length), ...shape.map(long), int(type), long(0)]);

  interface GgufParts {
    pairs?: Buffer[];
    tensors?: Buffer[];
    version?: number;
    data?: number;
    count?: number;
  }
  function gguf({ pairs = [], tensors = [], version = 3, data = 0, count = tensors.length }: GgufParts) {
    return Buffer.concat([
      Buffer.from("GGUF"),
      int(version),
      long(count),
      long(pairs.length),
      ...pairs,
      ...tensors,
      Buffer.alloc(data),
    ]);
  }
  const shape = (architecture: string, more: Buffer[] = []) => [
    pair("general.architecture", 8, text(architecture)),
    ...Object.entries({ embedding_length: 64, block_count: 2, feed_forward_length: 128, context_length: 512 }).map(
      ([key, value]) => pair(`${architecture}.${key}`, 4, int(value)),
    ),
    pair(`${architecture}.attention.head_count`, 4, int(4)),
    ...more,
  ];
  const embedding = info("token_embd.weight", [64, 100], 8);

  test("metadata, shapes and types; a vocabulary of megabytes is passed over", async () => {
    const words = Buffer.concat([
      int(8),
      long(60_000),
      ...Array.from({ length: 60_000 }, (_, i) => text(`token number ${i} of many`)),
    ]);
    const model = files({
      "x.gguf": gguf({
        pairs: shape("qwen3", [
          pair("tokenizer.ggml.tokens", 9, words),
          pair("tokenizer.ggml.scores", 9, Buffer.concat([int(6), long(3), Buffer.alloc(12)])),
          pair("qwen3.attention.head_count_kv", 4, int(2)),
          pair("qwen3.attention.key_length", 10, long(32)),
          pair("general.flag", 7, Buffer.from([1])),
        ]),
        tensors: [embedding, info("output.weight", [64, 100], 1)],
        data: 60_000,
      }),
    });
    const header = await model.read();
    expect(header).toMatchObject({
      format: "gguf",
      parameters: 12_800,
      dtype: "Q8_0",
      unreadable: [],
      config: {
        model_type: "qwen3",
        vocab_size: 100,
        hidden_size: 64,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: 32,
        max_position_embeddings: 512,
        tie_word_embeddings: false,
      },
    });
    expect(model.fetched()).toBeLessThan(4.5e6);
  });

  test("architectures by the names of config.json; experts are named as what they are", async () => {
    const read = async (architecture: string, more: Buffer[] = []) =>
      (await files({ "x.gguf": gguf({ pairs: shape(architecture, more), tensors: [embedding], data: 9000 }) }).read())
        .config["model_type"];
    expect(await read("gemma3")).toBe("gemma3_text");
    expect(await read("mamba")).toBe("mamba");
    expect(await read("llama", [pair("llama.expert_count", 4, int(8))])).toBe("llama with experts");
  });

  test("types that the engine does not compute with", async () => {
    const header = await files({
      "x.gguf": gguf({ pairs: shape("llama"), tensors: [info("token_embd.weight", [64, 100], 23)], data: 9000 }),
    }).read();
    expect(header).toMatchObject({ dtype: "IQ4_XS", unreadable: ["IQ4_XS"] });
  });

  test.each([
    ["another kind of file", Buffer.from("PK\x03\x04 and more of it"), "does not begin"],
    ["version 1", gguf({ version: 1 }), "version is 1"],
    ["a cut header", gguf({ pairs: shape("llama"), tensors: [embedding] }).subarray(0, 150), "does not end"],
    ["a billion tensors", gguf({ count: 2e9 }), "impossible"],
    ["a text of 2^60 bytes", gguf({ pairs: [Buffer.concat([long(1n << 60n), Buffer.alloc(20)])] }), "impossible"],
    ["a value of unknown type", gguf({ pairs: [pair("a", 99, Buffer.alloc(9))] }), "unknown type 99"],
    [
      "an array of arrays",
      gguf({ pairs: [pair("a", 9, Buffer.concat([int(9), long(1), Buffer.alloc(20)]))] }),
      "array of arrays",
    ],
    [
      "five dimensions",
      gguf({ pairs: shape("llama"), tensors: [info("a", [1, 1, 1, 1, 1], 0)] }),
      "too many dimensions",
    ],
    [
      "more weights than bytes",
      gguf({ pairs: shape("llama"), tensors: [info("a", [1e6, 1e6], 8)], data: 1000 }),
      "do not fit",
    ],
  ])("%s", async (_name, data, why) => {
    await expect(files({ "x.gguf": data }).read()).rejects.toThrow(
      expect.objectContaining({ code: "bad-header", message: expect.stringContaining(why) as string }) as Error,
    );
  });

  test("a file that is shorter than the hub says ends the reading", async () => {
    const cut = gguf({ pairs: shape("llama"), tensors: [embedding] }).subarray(0, 150);
    await expect(files({ "x.gguf": cut }, { "x.gguf": 1e12 }).read()).rejects.toThrow(code("bad-header"));
  });
});

test("the architectures are those of the engine's own reader", () => {
  const source = readFileSync(join(root, "native/engine/src/config_read.rs"), "utf8");
  const known = /KNOWN_MODEL_TYPES: \[&str; \d+\] = \[([^\]]*)\]/.exec(source)?.[1];
  expect([...(known ?? "").matchAll(/"(\w+)"/g)].map(([, name]) => name)).toEqual([...engineArchitectures]);
  const gguf = readFileSync(join(root, "native/engine/src/formats/gguf_config.rs"), "utf8");
  const pairs = [...gguf.matchAll(/^ {4}\("(\w+)", "(\w+)", "\w+"\),$/gm)].map(([, from, to]) => [from, to]);
  expect(Object.fromEntries(pairs)).toEqual(ggufArchitectures);
});
