import { afterEach, describe, expect, test, vi } from "vitest";
import { parseReference, showRef } from "../../../../core/hub/sources/parse-reference.ts";

afterEach(() => void vi.unstubAllEnvs());

/** `source kind id revision [file] [quant]`. */
function summary(text: string, defaults = {}): string {
  const { ref, file, quant } = parseReference(text, defaults);
  return [ref.source, ref.kind, ref.id, ref.revision, file ?? "", quant ?? ""].join(" ").trim();
}

describe("names", () => {
  test.each([
    ["Qwen/Qwen3-0.6B", "huggingface model Qwen/Qwen3-0.6B main"],
    ["  Qwen/Qwen3-0.6B  ", "huggingface model Qwen/Qwen3-0.6B main"],
    ["Qwen/Qwen3-0.6B@v1.0", "huggingface model Qwen/Qwen3-0.6B v1.0"],
    ["a/b@refs/pr/3", "huggingface model a/b refs/pr/3"],
    ["a/b@0123456789abcdef0123456789abcdef01234567", "huggingface model a/b 0123456789abcdef0123456789abcdef01234567"],
    ["a/b-GGUF:Q4_K_M", "huggingface model a/b-GGUF main  Q4_K_M"],
    ["a/b-GGUF@v2:Q8_0", "huggingface model a/b-GGUF v2  Q8_0"],
    ["ms:Qwen/Qwen3-0.6B", "modelscope model Qwen/Qwen3-0.6B master"],
    ["modelscope:a/b@v1", "modelscope model a/b v1"],
    ["hf:a/b", "huggingface model a/b main"],
    ["datasets/openai/gsm8k", "huggingface dataset openai/gsm8k main"],
  ])("%s", (text, expected) => expect(summary(text)).toBe(expected));

  test("what is not said comes from the defaults", () => {
    expect(summary("a/b", { source: "modelscope", kind: "dataset" })).toBe("modelscope dataset a/b master");
  });
});

describe("links", () => {
  test.each([
    ["https://huggingface.co/Qwen/Qwen3-0.6B", "huggingface model Qwen/Qwen3-0.6B main"],
    ["huggingface.co/Qwen/Qwen3-0.6B/", "huggingface model Qwen/Qwen3-0.6B main"],
    ["https://hf.co/a/b?library=transformers#x", "huggingface model a/b main"],
    ["https://hf-mirror.com/a/b/tree/dev", "huggingface model a/b dev"],
    ["https://huggingface.co/a/b/tree/feature%2Fx/sub", "huggingface model a/b feature/x"],
    ["https://huggingface.co/a/b/blob/main/model-Q4_K_M.gguf", "huggingface model a/b main model-Q4_K_M.gguf"],
    ["https://huggingface.co/a/b/resolve/v1/sub/x.json?download=true", "huggingface model a/b v1 sub/x.json"],
    ["https://huggingface.co/a/b/discussions/7", "huggingface model a/b main"],
    ["https://huggingface.co/datasets/openai/gsm8k/viewer/main/train", "huggingface dataset openai/gsm8k main"],
    [
      "https://huggingface.co/datasets/a/b/blob/refs/convert/parquet/default/train/0000.parquet",
      "huggingface dataset a/b refs/convert/parquet default/train/0000.parquet",
    ],
    ["https://www.modelscope.cn/models/Qwen/Qwen3-0.6B/summary", "modelscope model Qwen/Qwen3-0.6B master"],
    ["https://modelscope.cn/models/a/b/files", "modelscope model a/b master"],
    ["https://modelscope.cn/models/a/b/file/view/v2/README.md?status=1", "modelscope model a/b v2 README.md"],
    ["https://modelscope.cn/models/a/b/resolve/master/x.gguf", "modelscope model a/b master x.gguf"],
    ["https://modelscope.cn/datasets/a/b", "modelscope dataset a/b master"],
  ])("%s", (text, expected) => expect(summary(text)).toBe(expected));

  test("of a company's own mirror, known by the endpoint setting", () => {
    vi.stubEnv("HF_ENDPOINT", "https://hub.example:8443");
    vi.stubEnv("MODELSCOPE_ENDPOINT", "http://127.0.0.1:5000");
    expect(summary("https://hub.example:8443/a/b/tree/dev")).toBe("huggingface model a/b dev");
    expect(summary("http://127.0.0.1:5000/models/a/b")).toBe("modelscope model a/b master");
  });

  test("a file that would leave its folder is not taken from a link", () => {
    expect(parseReference("https://huggingface.co/a/b/blob/main/..%2F..%2Fetc%2Fpasswd").file).toBeNull();
  });
});

test.each([
  ["", "owner and a slash"],
  ["gpt2", "owner and a slash"],
  ["a/b/c", "one slash"],
  ["../../etc", "one slash"],
  ["a/b@", "branch, tag or commit"],
  ["a/b@../x", "branch, tag or commit"],
  ["a/b@x y", "branch, tag or commit"],
  ["a/b:", "quantisation"],
  ["a b/c", "letters, digits"],
  ["https://example.org/a/b", "no hub that Hone knows"],
  ["https://huggingface.co/spaces/a/b", "neither a model nor a dataset"],
  ["https://huggingface.co/docs/hub", "neither a model nor a dataset"],
  ["https://huggingface.co/Qwen", "no owner and name"],
  ["https://huggingface.co/a/b%", "not well-formed"],
  ["https://huggingface.co/a/b/tree/..%2F..", "branch, tag or commit"],
])("%j names no repository: %s", (text, why) => {
  expect(() => parseReference(text)).toThrow(
    expect.objectContaining({
      code: "bad-reference",
      message: expect.stringContaining(why) as string,
      fix: expect.stringContaining("owner/name") as string,
    }) as Error,
  );
});

test("a name is shown with its revision where that is not the usual one", () => {
  for (const name of ["a/b", "a/b@v1"]) expect(showRef(parseReference(name).ref)).toBe(name);
  expect(showRef(parseReference("ms:a/b").ref)).toBe("a/b");
});
