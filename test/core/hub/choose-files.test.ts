import { describe, expect, test } from "vitest";
import { repoSnapshotSchema, type FileChoice, type RepoSnapshot } from "../../../core/contract/hub.ts";
import { chooseModelFiles } from "../../../core/hub/choose-files.ts";
import { chooseDatasetFiles, datasetSplits, parquetRevision } from "../../../core/hub/dataset-files.ts";

const gigabyte = 1e9;
const large = { memory_bytes: 64 * gigabyte, free_bytes: 60 * gigabyte };

function repo(
  files: Record<string, number> | readonly string[],
  facts: Partial<RepoSnapshot> & { revision?: string; kind?: "model" | "dataset" } = {},
): RepoSnapshot {
  const sizes = Array.isArray(files) ? Object.fromEntries(files.map((path) => [path as string, 10])) : files;
  const { revision = "main", kind = "model", ...rest } = facts;
  return repoSnapshotSchema.parse({
    ref: { source: "huggingface", kind, id: "acme/model", revision },
    commit: "0".repeat(40),
    files: Object.entries(sizes as Record<string, number>).map(([path, size]) => ({
      path,
      size,
      sha256: null,
      etag: null,
    })),
    gated: false,
    private: false,
    licence: null,
    page: "https://huggingface.co/acme/model",
    last_modified: null,
    downloads: null,
    likes: null,
    architecture: null,
    parameters: null,
    base_model: null,
    tags: [],
    ...rest,
  });
}

const paths = ({ files }: Pick<FileChoice, "files">) => files.map(({ path }) => path).sort();
const code = (name: string) => expect.objectContaining({ code: name }) as Error;
const choose = (snapshot: RepoSnapshot, quant: string | null = null, machine = large) =>
  chooseModelFiles(snapshot, { quant, machine });

describe("a model's files", () => {
  const small = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
  ];

  test("safetensors and what stands with them; no pickles, other formats, other layouts, code", () => {
    const unwanted = [
      "pytorch_model.bin",
      "model.fp16.safetensors",
      "consolidated.safetensors",
      "tf_model.h5",
      "onnx/model.onnx",
      "flax_model.msgpack",
      "modeling_x.py",
      "original/consolidated.00.pth",
      "training_args.bin",
      "tokenizer.model",
    ];
    const choice = choose(
      repo([
        ...small,
        "model.safetensors",
        "merges.txt",
        "vocab.json",
        "chat_template.jinja",
        "LICENSE",
        "README.md",
        ...unwanted,
      ]),
    );
    expect(paths(choice)).toEqual(
      [...small, "model.safetensors", "merges.txt", "vocab.json", "chat_template.jinja", "LICENSE", "README.md"].sort(),
    );
    expect(choice).toMatchObject({ format: "safetensors", quant: null, bytes: 11 * 10 });
    const reasons = Object.fromEntries(choice.left_out.map(({ path, reason }) => [path, reason]));
    expect(Object.keys(reasons).sort()).toEqual([...unwanted].sort());
    expect(reasons["pytorch_model.bin"]).toMatch(/pickle/);
    expect(reasons["modeling_x.py"]).toMatch(/code/);
    expect(reasons["consolidated.safetensors"]).toMatch(/another layout/);
  });

  test("all parts with their index, or none", () => {
    const parts = [1, 2, 3].map((n) => `model-0000${n}-of-00003.safetensors`);
    const index = "model.safetensors.index.json";
    expect(paths(choose(repo(["config.json", ...parts, index])))).toEqual(["config.json", index, ...parts].sort());
    expect(() => choose(repo(["config.json", ...parts.slice(1), index]))).toThrow(code("incomplete-repo"));
    expect(() => choose(repo(["config.json", ...parts]))).toThrow(code("incomplete-repo"));
    expect(paths(choose(repo(["config.json", "model.safetensors", ...parts, index])))).toEqual([
      "config.json",
      "model.safetensors",
    ]);
  });

  test("a SentencePiece model only where there is no tokenizer.json; adapters", () => {
    expect(paths(choose(repo(["model.safetensors", "tokenizer.model"])))).toContain("tokenizer.model");
    expect(paths(choose(repo(["adapter_config.json", "adapter_model.safetensors", "optimizer.pt"])))).toEqual([
      "adapter_config.json",
      "adapter_model.safetensors",
    ]);
  });

  test("what has no weights, or only pickles", () => {
    expect(() => choose(repo(["README.md"]))).toThrow(code("no-weights"));
    expect(() => choose(repo(["config.json", "pytorch_model.bin"]))).toThrow(code("only-pickle"));
    expect(() => choose(repo(["model.safetensors"]), "Q4_K_M")).toThrow(code("no-such-quant"));
  });
});

describe("quantisations", () => {
  const sizes = { "README.md": 10, "imatrix.dat": 10, "mmproj-F16.gguf": 99 };
  const gguf = (parameters: number, quants: Record<string, number>) =>
    repo(
      {
        ...sizes,
        ...Object.fromEntries(Object.entries(quants).map(([name, bytes]) => [`Model-1B-Instruct-${name}.gguf`, bytes])),
      },
      { parameters },
    );

  test("are told apart by the names that people give files", () => {
    const names = {
      "SmolLM2-135M-Instruct.Q4_1.gguf": "Q4_1",
      "qwen2.5-0.5b-instruct-q4_k_m.gguf": "Q4_K_M",
      "Q8_0/model-Q8_0-00001-of-00002.gguf": "Q8_0",
      "Q8_0/model-Q8_0-00002-of-00002.gguf": "Q8_0",
      "Qwen3-0.6B-UD-Q4_K_XL.gguf": "UD-Q4_K_XL",
      "gemma-fp16.gguf": "F16",
      "x.IQ4_XS.gguf": "IQ4_XS",
      "BF16/x-bf16.gguf": "BF16",
      "plain.gguf": "plain",
    };
    const { quants } = choose(repo(Object.keys(names)), "plain");
    for (const [file, name] of Object.entries(names)) {
      expect(quants.find(({ files }) => files.includes(file))?.name, file).toBe(name);
    }
    const split = quants.find(({ name }) => name === "Q8_0");
    expect(split).toMatchObject({ bytes: 20, supported: false, quality: expect.stringContaining("2 parts") as string });
    expect(quants.find(({ name }) => name === "IQ4_XS")?.supported).toBe(false);
  });

  test("the choice follows size and memory", () => {
    const all = { F16: 2.5e9, Q8_0: 1.3e9, Q6_K: 1e9, Q4_K_M: 0.8e9, Q2_K: 0.5e9, IQ2_XS: 0.4e9 };
    const best = (quants: Record<string, number>, memory: number, free = memory) =>
      choose(gguf(1.2e9, quants), null, { memory_bytes: memory, free_bytes: free }).quant;
    expect(best(all, 64e9)).toBe("Q8_0");
    expect(best(all, 1.8e9)).toBe("Q6_K");
    expect(best(all, 1.2e9)).toBe("Q2_K");
    expect(best({ F16: 16e9, Q8_0: 8e9, Q4_K_M: 5e9, Q3_K_M: 4e9 }, 64e9)).toBe("Q4_K_M");
    expect(best({ F16: 16e9, Q8_0: 8e9, Q4_K_M: 5e9, Q3_K_M: 4e9 }, 5.5e9)).toBe("Q3_K_M");
    // Nothing fits beside what runs now: the one that does with other programs closed.
    expect(best(all, 64e9, 0.1e9)).toBe("Q8_0");
    expect(() => best(all, 0.5e9)).toThrow(code("no-quant-fits"));
    expect(() => best({ IQ2_XS: 1e6 }, 64e9)).toThrow(
      expect.objectContaining({
        code: "no-quant-fits",
        message: expect.stringContaining("opens none") as string,
      }) as Error,
    );
  });

  test("one is downloaded, by its name in any case, by its file, or as recommended; a slip is told", () => {
    const snapshot = gguf(1.2e9, { Q8_0: 1.3e9, Q4_K_M: 0.8e9 });
    expect(paths(choose(snapshot))).toEqual(["Model-1B-Instruct-Q8_0.gguf", "README.md"]);
    expect(choose(snapshot, "q4_k_m")).toMatchObject({ quant: "Q4_K_M", bytes: 0.8e9 + 10, format: "gguf" });
    expect(choose(snapshot, "Model-1B-Instruct-Q4_K_M.gguf").quant).toBe("Q4_K_M");
    expect(() => choose(snapshot, "Q4_K_X")).toThrow(
      expect.objectContaining({ code: "no-such-quant", fix: expect.stringContaining("Q4_K_M") as string }) as Error,
    );
    const { quants } = choose(snapshot);
    expect(quants.find(({ name }) => name === "Q8_0")).toMatchObject({
      recommended: true,
      bits_per_weight: 8.67,
      verdict: "fits",
    });
  });

  test("beside safetensors they are there for those who ask", () => {
    const both = repo({ "config.json": 1, "model.safetensors": 100, "model-Q8_0.gguf": 50 });
    expect(choose(both)).toMatchObject({ format: "safetensors", quants: [{ name: "Q8_0" }] });
    expect(choose(both, "Q8_0").format).toBe("gguf");
  });
});

describe("datasets", () => {
  const splits = (files: readonly string[], revision = "main") =>
    datasetSplits(repo(files, { kind: "dataset", revision })).map(
      ({ config, split, files: of }) => `${config}/${split}: ${of.join(" ")}`,
    );

  test("the converted branch names its parts in folders", () => {
    expect(
      splits(
        [
          "main/train/0000.parquet",
          "main/train/0001.parquet",
          "main/test/0000.parquet",
          "socratic/partial-train/0000.parquet",
        ],
        parquetRevision,
      ),
    ).toEqual([
      "main/train: main/train/0000.parquet main/train/0001.parquet",
      "main/test: main/test/0000.parquet",
      "socratic/train: socratic/partial-train/0000.parquet",
    ]);
  });

  test.each([
    [
      ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet", "data/test-00000-of-00001.parquet"],
      [
        "default/train: data/train-00000-of-00002.parquet data/train-00001-of-00002.parquet",
        "default/test: data/test-00000-of-00001.parquet",
      ],
    ],
    [
      ["train.jsonl", "valid.jsonl", "eval.jsonl"],
      ["default/train: train.jsonl", "default/validation: valid.jsonl", "default/test: eval.jsonl"],
    ],
    [
      ["en/dev.csv", "zh/dev.csv"],
      ["en/validation: en/dev.csv", "zh/validation: zh/dev.csv"],
    ],
    [
      ["train/a.json", "test/a.json"],
      ["default/train: train/a.json", "default/test: test/a.json"],
    ],
    [["alpaca_data.json", "README.md", "dataset_infos.json", "load.py"], ["default/train: alpaca_data.json"]],
    [["train.csv", "train.parquet"], ["default/train: train.parquet"]],
    [["contest.jsonl", "trained.jsonl"], ["default/train: contest.jsonl trained.jsonl"]],
  ])("%j", (files, expected) => expect(splits(files)).toEqual(expected));

  test("one part, all parts, and what is not there", () => {
    const snapshot = repo(["README.md", "train.jsonl", "test.jsonl", "load.py"], { kind: "dataset" });
    expect(paths(chooseDatasetFiles(snapshot))).toEqual(["README.md", "test.jsonl", "train.jsonl"]);
    const test_ = chooseDatasetFiles(snapshot, { split: "test" });
    expect(paths(test_)).toEqual(["README.md", "test.jsonl"]);
    expect(test_.format).toBe("rows");
    expect(() => chooseDatasetFiles(snapshot, { split: "dev" })).toThrow(
      expect.objectContaining({
        code: "no-such-split",
        fix: expect.stringContaining("train, test") as string,
      }) as Error,
    );
    expect(() => chooseDatasetFiles(repo(["a.png", "x.py"], { kind: "dataset" }))).toThrow(code("no-rows-in-repo"));
  });
});
