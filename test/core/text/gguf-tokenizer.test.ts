import { describe, expect, it } from "vitest";
import { bpeLibrary } from "../../../core/text/bpe-library.ts";
import { fromByteChars } from "../../../core/text/byte-level.ts";
import { ggufTokenizer } from "../../../core/text/gguf-tokenizer.ts";
import { TextStream } from "../../../core/text/text-stream.ts";
import { Tokenizer } from "../../../core/text/tokenizer.ts";
import { textFixture } from "./fixtures.ts";
import { smallTokenizer } from "./small-tokenizer.ts";

const code = (expected: string) => expect.objectContaining({ name: "HoneError", code: expected }) as Error;

/** The keys of a GGUF file with the small vocabulary. */
function metadata(pre: string, change: Record<string, unknown> = {}): Record<string, unknown> {
  const { json } = smallTokenizer(["<|endoftext|>", "<|im_end|>"]);
  const tokens = Object.entries(json.model.vocab).sort(([, a], [, b]) => a - b);
  return {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": pre,
    "tokenizer.ggml.tokens": tokens.map(([token]) => token),
    "tokenizer.ggml.token_type": Int32Array.from(tokens, (_, id) => (id < 2 ? 3 : 1)),
    "tokenizer.ggml.merges": json.model.merges.map((pair) => pair.join(" ")),
    "tokenizer.ggml.bos_token_id": 0,
    "tokenizer.ggml.eos_token_id": 0n,
    "tokenizer.ggml.eot_token_id": 1,
    "tokenizer.chat_template": "{{ messages }}",
    "tokenizer.chat_template.tool_use": "{{ tools }}",
    ...change,
  };
}

describe("byte-level vocabularies", () => {
  it("equals the tokenizer.json that it came from", () => {
    const source = smallTokenizer(["<|endoftext|>", "<|im_end|>"]);
    const tokenizer = ggufTokenizer(metadata("gpt-2"), "m.gguf");
    for (const text of ["the board has 12 squares<|im_end|>", "  don't\n\n…", "你好 😀"]) {
      expect(tokenizer.encode(text, { allowSpecial: true })).toEqual(source.encode(text, { allowSpecial: true }));
      expect(tokenizer.encode(text, { allowSpecial: false })).toEqual(source.encode(text, { allowSpecial: false }));
    }
    expect(tokenizer).toMatchObject({ bosId: 0, eosId: 0, stopIds: [0, 1] });
    expect(tokenizer.settings.chatTemplates).toEqual({ default: "{{ messages }}", tool_use: "{{ tools }}" });
  });

  it.each([
    ["smollm", "1|2|3|½|٣| x"],
    ["default", "123½٣| x"],
    ["qwen2", "1|2|3|½|٣| x"],
    ["llama-bpe", "123|½٣| x"],
  ])("splits numbers as %s does", (pre, expected) => {
    const { json } = ggufTokenizer(metadata(pre), "m.gguf");
    const words = bpeLibrary(json).pre_tokenizer?.pre_tokenize("123½٣ x") ?? [];
    expect(words.map((word) => Buffer.from(fromByteChars(word) ?? []).toString()).join("|")).toBe(expected);
  });

  it("adds a BOS for llama-bpe unless the file says otherwise, and for no other", () => {
    const first = (pre: string, change = {}) =>
      ggufTokenizer(metadata(pre, change), "m").encode("x", { allowSpecial: false, addSpecial: true })[0];
    expect(first("llama-bpe")).toBe(0);
    expect(first("llama-bpe", { "tokenizer.ggml.add_bos_token": false })).not.toBe(0);
    expect(first("qwen2")).not.toBe(0);
    expect(first("qwen2", { "tokenizer.ggml.add_bos_token": true })).toBe(0);
    // Also where only tokenizer.json is read.
    const flags = { "tokenizer.ggml.add_bos_token": true, "tokenizer.ggml.add_eos_token": true };
    const { json } = ggufTokenizer(metadata("gpt-2", flags), "m");
    const ids = new Tokenizer(json).encode("x", { allowSpecial: false, addSpecial: true });
    expect([ids.length, ids[0], ids[2]]).toEqual([3, 0, 0]);
  });

  it("composes characters for qwen2", () => {
    const tokenizer = ggufTokenizer(metadata("qwen2"), "m.gguf");
    const composed = tokenizer.encode("é", { allowSpecial: false });
    expect(tokenizer.encode("e\u0301", { allowSpecial: false })).toEqual(composed);
  });

  it.each([
    ["another model", { "tokenizer.ggml.model": "bert" }, "unsupported-tokenizer"],
    ["another pre-tokenizer", { "tokenizer.ggml.pre": "tekken" }, "unsupported-tokenizer"],
    ["a name of Object's", { "tokenizer.ggml.pre": "constructor" }, "unsupported-tokenizer"],
    ["no model", { "tokenizer.ggml.model": undefined }, "bad-tokenizer"],
    ["no tokens", { "tokenizer.ggml.tokens": [] }, "bad-tokenizer"],
    ["numbers for tokens", { "tokenizer.ggml.tokens": [1, 2] }, "bad-tokenizer"],
    ["too few types", { "tokenizer.ggml.token_type": [1] }, "bad-tokenizer"],
    ["no merges", { "tokenizer.ggml.merges": undefined }, "bad-tokenizer"],
    ["a merge of one", { "tokenizer.ggml.merges": ["ab"] }, "bad-tokenizer"],
    ["text for an id", { "tokenizer.ggml.eos_token_id": "0" }, "bad-tokenizer"],
  ])("refuses %s", (_name, change, expected) => {
    expect(() => ggufTokenizer(metadata("gpt-2", change), "m.gguf")).toThrow(code(expected));
  });
});

interface SentencePiece {
  cases: Record<string, { metadata: Record<string, unknown>; texts: string[]; ids: number[][] }>;
}

describe("SentencePiece vocabularies", () => {
  const { cases } = textFixture<SentencePiece>("sentencepiece.json");

  it.each(Object.entries(cases))("%s: ids and text equal sentencepiece's", (_name, { metadata, texts, ids }) => {
    const tokenizer = ggufTokenizer(metadata, "m.gguf");
    texts.forEach((text, i) => {
      const found = tokenizer.encode(text, { allowSpecial: false });
      expect(found, JSON.stringify(text)).toEqual(ids[i]);
      expect(tokenizer.decode(found)).toBe(text);
      const stream = new TextStream(tokenizer);
      expect(found.map((id) => stream.push(id)).join("") + stream.flush()).toBe(text);
    });
    expect(tokenizer.encode("a", { allowSpecial: false, addSpecial: true })[0]).toBe(1);
  });

  it("keeps the leading space of a text that continues", () => {
    const tokenizer = ggufTokenizer(cases.prefix?.metadata ?? {}, "m.gguf");
    const ids = tokenizer.encode("board", { allowSpecial: false });
    expect(tokenizer.decode(ids)).toBe("board");
    expect(tokenizer.decode(ids, { continues: true })).toBe(" board");
  });

  it("gives a later part no prefix space, whichever component adds it", () => {
    const tokenizer = ggufTokenizer(cases.prefix?.metadata ?? {}, "m.gguf");
    const metaspace = { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true };
    const marked = new Tokenizer({ ...tokenizer.json, normalizer: null, pre_tokenizer: metaspace });
    for (const each of [tokenizer, marked]) {
      const [first = [], second = [], third = []] = each.encodeParts(["the board", "free", " squares"]);
      expect(each.decode(first)).toBe("the board");
      expect(each.decode(second, { continues: true })).toBe("free");
      expect(each.decode(third, { continues: true })).toBe(" squares");
      expect(each.encodeParts(["the board"])).toEqual([each.encode("the board", { allowSpecial: true })]);
    }
  });
});
