/** Repositories that tests and `serve.ts` share: small, but with every kind of file that a hub has. */

import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Random } from "../../core/contract/random.ts";
import { TestRepository, type Files } from "./repository.ts";

/** Bytes that no compression shortens and no mistake leaves unseen. */
export function noise(seed: string, size: number): Buffer {
  const random = new Random(seed);
  const words = new Uint32Array(Math.ceil(size / 4));
  for (let i = 0; i < words.length; i++) words[i] = random.uint32();
  return Buffer.from(words.buffer).subarray(0, size);
}

/** A safetensors file with one tensor of noise. */
export function weightsFile(seed: string, size: number): Buffer {
  const header = JSON.stringify({
    __metadata__: { format: "pt" },
    "model.embed_tokens.weight": { dtype: "U8", shape: [size], data_offsets: [0, size] },
  });
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, Buffer.from(header), noise(seed, size)]);
}

/** A model in two parts with small files, in one folder more. */
export function sampleModel(id = "acme/tiny", weightBytes = 300_000): TestRepository {
  return new TestRepository("model", id, sampleFiles(id, weightBytes), {
    licence: "apache-2.0",
    downloads: 1200,
    likes: 34,
    modelType: "llama",
    architecture: "LlamaForCausalLM",
    parameters: weightBytes,
    task: "text-generation",
  });
}

export function sampleFiles(id: string, weightBytes: number): Files {
  const half = Math.floor(weightBytes / 2);
  return {
    ".gitattributes": "*.safetensors filter=lfs diff=lfs merge=lfs -text\n",
    "README.md": `---\nlicense: apache-2.0\nlanguage:\n- en\n---\n# ${id}\n\nA model for tests.\n`,
    "config.json": JSON.stringify({ architectures: ["LlamaForCausalLM"], model_type: "llama" }, null, 2) + "\n",
    "generation_config.json": '{ "eos_token_id": 2 }\n',
    "tokenizer.json": JSON.stringify({ model: { type: "BPE" }, seed: id }) + "\n",
    "model.safetensors.index.json": JSON.stringify({ metadata: { total_size: weightBytes }, weight_map: {} }) + "\n",
    "model-00001-of-00002.safetensors": weightsFile(`${id}/1`, half),
    "model-00002-of-00002.safetensors": weightsFile(`${id}/2`, weightBytes - half),
    "original/params.json": '{ "dim": 8 }\n',
    "empty.txt": "",
  };
}

/** Hone's own starter model: a repository whose weights the engine really opens. */
export function starterModel(id = "hone/starter"): TestRepository | undefined {
  const folder = fileURLToPath(new URL("../../assets/starter", import.meta.url));
  if (!readdirSync(join(folder, ".."), { withFileTypes: true }).some(({ name }) => name === "starter"))
    return undefined;
  const files: Files = {};
  for (const name of readdirSync(folder)) {
    if (statSync(join(folder, name)).isFile()) files[name] = readFileSync(join(folder, name));
  }
  return new TestRepository("model", id, files, {
    licence: "apache-2.0",
    downloads: 77,
    modelType: "llama",
    architecture: "LlamaForCausalLM",
    dtype: "F32",
  });
}

export function gatedModel(id = "acme/locked", gated: "auto" | "manual" = "manual"): TestRepository {
  return new TestRepository("model", id, sampleFiles(id, 50_000), {
    gated,
    licence: "llama3.2",
    downloads: 900,
    modelType: "llama",
    architecture: "LlamaForCausalLM",
    parameters: 50_000,
  });
}

export function ggufModel(id = "acme/tiny-GGUF"): TestRepository {
  const files: Files = { "README.md": `# ${id}\n`, "tiny-f16.gguf": noise(`${id}/f16`, 90_000) };
  for (const quant of ["Q4_K_M", "Q8_0"])
    files[`tiny-${quant}.gguf`] = noise(`${id}/${quant}`, quant === "Q8_0" ? 60_000 : 40_000);
  return new TestRepository("model", id, files, {
    licence: "apache-2.0",
    downloads: 500,
    baseModel: "acme/tiny",
    tags: ["gguf"],
  });
}

/** A dataset of rows, with the branch that the hub converts it to. */
export function sampleDataset(id = "acme/rows"): TestRepository {
  const rows = Array.from({ length: 50 }, (_, i) =>
    JSON.stringify({ prompt: `What is ${i} + 1?`, completion: String(i + 1) }),
  );
  const repo = new TestRepository(
    "dataset",
    id,
    {
      "README.md": `---\nlicense: mit\n---\n# ${id}\n`,
      "data/train.jsonl": rows.join("\n") + "\n",
      "data/test.jsonl": rows.slice(0, 5).join("\n") + "\n",
    },
    { licence: "mit", downloads: 300 },
  );
  repo.commit(
    {
      "default/train/0000.parquet": noise(`${id}/train`, 20_000),
      "default/test/0000.parquet": noise(`${id}/test`, 5_000),
    },
    "refs/convert/parquet",
  );
  return repo;
}
