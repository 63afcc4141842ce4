import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTokenizer } from "../../../core/text/open-tokenizer.ts";
import { addedToken, readTokenizerJson } from "../../../core/text/tokenizer-json.ts";
import { Tokenizer } from "../../../core/text/tokenizer.ts";
import { trainBpe } from "../../../core/text/train-bpe.ts";
import { itWithShared } from "../../shared.ts";
import { textFixture, type SmolLm2Golden } from "./fixtures.ts";
import { readGgufMetadata } from "./read-gguf.ts";
import { randomText, seededRandom, smallTokenizer } from "./small-tokenizer.ts";

const code = (expected: string) => expect.objectContaining({ name: "HoneError", code: expected }) as Error;

describe("SmolLM2's own vocabulary", () => {
  itWithShared(
    "gives the reference ids of every string",
    ["models", "SmolLM2-135M-Instruct.Q4_1.gguf"],
    async (path) => {
      const tokenizer = await openTokenizer(path, { readGgufMetadata });
      const golden = textFixture<SmolLm2Golden>("smollm2.json");
      expect(golden.cases).toHaveLength(33);
      for (const { text, ids, ids_specials_as_text: asText } of golden.cases) {
        expect(tokenizer.encode(text, { allowSpecial: true }), JSON.stringify(text)).toEqual(ids);
        expect(tokenizer.encode(text, { allowSpecial: false }), JSON.stringify(text)).toEqual(asText ?? ids);
        expect(tokenizer.decode(ids)).toBe(text);
      }
      expect(tokenizer.decode(golden.greedy_ids)).toBe(golden.greedy_text);
      expect(tokenizer).toMatchObject({ vocabSize: 49152, bosId: 1, eosId: 2, padId: 2, stopIds: [2] });
      expect([...tokenizer.specialIds]).toEqual(Array.from({ length: 17 }, (_, id) => id));
    },
  );
});

describe("Tokenizer", () => {
  const tokenizer = smallTokenizer(["<s>", "</s>", { content: "<mark>", special: false }], {
    bosToken: "<s>",
    eosToken: "</s>",
  });

  it("gives back every text", () => {
    const random = seededRandom(1);
    for (let i = 0; i < 300; i++) {
      const text = randomText(random, 12);
      const ids = tokenizer.encode(text, { allowSpecial: false });
      expect(tokenizer.decode(ids)).toBe(text);
    }
  });

  it("refuses a text that is too long for its pattern, with the way out", () => {
    const nested = new Tokenizer(trainBpe(["a b"], { vocabSize: 260, splitPattern: "[a-z]+(?:[ -][a-z]+)*" }), {});
    expect(() => nested.encode("a ".repeat(20_000_000), { allowSpecial: false })).toThrow(code("text-too-long"));
  });

  it("makes control tokens of allowed text only", () => {
    const text = "</s> a <mark> b<s></s>";
    const allowed = tokenizer.encode(text, { allowSpecial: true });
    expect(allowed.filter((id) => tokenizer.specialIds.has(id))).toEqual([1, 0, 1]);
    const plain = tokenizer.encode(text, { allowSpecial: false });
    expect(plain.some((id) => tokenizer.specialIds.has(id))).toBe(false);
    expect(plain).toContain(tokenizer.idOf("<mark>"));
    expect(tokenizer.decode(plain)).toBe(text);
  });

  it("counts markers of the chat template as control tokens", () => {
    const chatTemplates = { default: "{{ messages[0].content }}<mark>" };
    const marked = smallTokenizer(["<s>", { content: "<mark>", special: false }], { chatTemplates });
    const id = marked.idOf("<mark>");
    expect(marked.specialIds.has(id ?? -1)).toBe(false);
    expect(marked.controlIds.has(id ?? -1)).toBe(true);
    expect(marked.encode("<mark>", { allowSpecial: false })).not.toContain(id);
    // Those that Hone itself reads, whatever the template.
    const known = smallTokenizer([{ content: "<tool_call>", special: false }]);
    expect(known.encode("<tool_call>", { allowSpecial: false })).not.toContain(0);
    expect(known.encode("<tool_call>", { allowSpecial: true })).toEqual([0]);
  });

  it("never merges ordinary text into a control token", () => {
    const json = trainBpe(["square", "square"], { vocabSize: 300 });
    const id = json.model.vocab.square ?? -1;
    const added = { ...json, added_tokens: [addedToken(id, "square", true)] };
    for (const ignore_merges of [false, true]) {
      const merging = new Tokenizer({ ...added, model: { ...json.model, ignore_merges } });
      expect(merging.encode("square", { allowSpecial: true })).toEqual([id]);
      const plain = merging.encode("square", { allowSpecial: false });
      expect(plain).not.toContain(id);
      expect(merging.decode(plain)).toBe("square");
    }
  });

  it("adds BOS and EOS only when asked and as configured", () => {
    const ids = tokenizer.encode("board", { allowSpecial: false });
    expect(tokenizer.encode("board", { allowSpecial: false, addSpecial: true })).toEqual(ids);
    const both = new Tokenizer(tokenizer.json, { ...tokenizer.settings, addBos: true, addEos: true });
    expect(both.encode("board", { allowSpecial: false, addSpecial: true })).toEqual([0, ...ids, 1]);
    const post_processor = {
      type: "TemplateProcessing",
      single: [{ SpecialToken: { id: "<s>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
      pair: [],
      special_tokens: {},
    };
    const processed = { ...tokenizer.json, post_processor };
    const own = new Tokenizer(processed, { bosToken: "<s>" });
    expect(own.encode("board", { allowSpecial: false, addSpecial: true })).toEqual([0, ...ids]);
    const off = new Tokenizer(processed, { bosToken: "<s>", addBos: false });
    expect(off.encode("board", { allowSpecial: false, addSpecial: true })).toEqual(ids);
  });

  it("lets tokens swallow white space, but not across a border", () => {
    const [first, ...others] = tokenizer.json.added_tokens;
    if (first === undefined) throw new Error("no token");
    const json = { ...tokenizer.json, added_tokens: [{ ...first, lstrip: true, rstrip: true }, ...others] };
    const strip = new Tokenizer(json);
    const a = strip.encode("a", { allowSpecial: true });
    expect(strip.encode("a  <s> \n a", { allowSpecial: true })).toEqual([...a, 0, ...a]);
    const space = strip.encode("\n ", { allowSpecial: true });
    expect(strip.encodeParts(["a  <s>", "\n "])).toEqual([[...a, 0], space]);
  });

  it("matches whole words only where a token asks for it", () => {
    const json = { ...tokenizer.json, added_tokens: tokenizer.json.added_tokens.map((token) => ({ ...token })) };
    const mark = {
      id: 900,
      content: "mk",
      special: true,
      single_word: true,
      lstrip: false,
      rstrip: false,
      normalized: false,
    };
    json.added_tokens.push(mark);
    const words = new Tokenizer(json);
    expect(words.encode("mk, amk mkb _mk", { allowSpecial: true }).filter((id) => id === 900)).toHaveLength(1);
  });

  it("encodes parts so that no token crosses a border, and otherwise like one text", () => {
    const whole = tokenizer.encode("the board has a square", { allowSpecial: true });
    expect(tokenizer.encodeParts(["the board", " has a", " square"]).flat()).toEqual(whole);
    const [left, right] = tokenizer.encodeParts(["the boa", "rd"]);
    expect(tokenizer.decode(left ?? [])).toBe("the boa");
    expect(tokenizer.decode(right ?? [])).toBe("rd");
    expect(tokenizer.encodeParts(["", "<s>", "", "a"])).toEqual([
      [],
      [0],
      [],
      tokenizer.encode("a", { allowSpecial: true }),
    ]);
    expect(() => tokenizer.encodeParts(["a<", "s>"])).toThrow(code("inexact-mask"));
  });

  it("shows tokens that hold a part of a character", () => {
    const [first] = tokenizer.encode("世", { allowSpecial: false });
    const ids = tokenizer.encode("𓀀", { allowSpecial: false });
    expect(ids.map((id) => tokenizer.piece(id)).join("")).toBe("\\xF0\\x93\\x80\\x80");
    expect(tokenizer.tokenBytes(first ?? 0).length).toBeGreaterThan(0);
    expect(tokenizer.tokenBytes(10_000)).toEqual(new Uint8Array());
  });

  it("skips special tokens when asked", () => {
    const ids = tokenizer.encode("<s>a<mark></s>", { allowSpecial: true });
    expect(tokenizer.decode(ids)).toBe("<s>a<mark></s>");
    expect(tokenizer.decode(ids, { skipSpecial: true })).toBe("a<mark>");
  });

  it("has a hash of what decides the ids", () => {
    const entries = Object.entries(tokenizer.json.model.vocab).reverse();
    const shuffled = { ...tokenizer.json, model: { ...tokenizer.json.model, vocab: Object.fromEntries(entries) } };
    expect(new Tokenizer(shuffled).hash).toBe(tokenizer.hash);
    const other = {
      ...tokenizer.json,
      model: { ...tokenizer.json.model, merges: tokenizer.json.model.merges.slice(1) },
    };
    expect(new Tokenizer(other).hash).not.toBe(tokenizer.hash);
    expect(tokenizer.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it("drops characters that the vocabulary lacks before it merges", () => {
    const { json } = tokenizer;
    const vocab = Object.fromEntries(Object.entries(json.model.vocab).filter(([token]) => token !== "x"));
    const lacking = new Tokenizer({ ...json, model: { ...json.model, vocab } });
    expect(lacking.encode("squaxre", { allowSpecial: false })).toEqual(
      lacking.encode("square", { allowSpecial: false }),
    );
  });

  it("refuses a BOS that is not in the vocabulary", () => {
    expect(() => new Tokenizer(tokenizer.json, { bosToken: "<bos>" })).toThrow(code("bad-tokenizer"));
  });
});

describe("readTokenizerJson", () => {
  const good = smallTokenizer(["<s>"]).json;

  it("reads merges of both spellings and fills in what old files leave out", () => {
    const { type: _type, ...model } = good.model;
    const old = {
      model: { ...model, merges: good.model.merges.map((pair) => pair.join(" ")) },
      added_tokens: good.added_tokens,
    };
    expect(readTokenizerJson(old, "f").model).toEqual(good.model);
  });

  it.each([
    ["no object", [], "bad-tokenizer"],
    ["no model", {}, "bad-tokenizer"],
    ["WordPiece", { ...good, model: { type: "WordPiece", vocab: {} } }, "unsupported-tokenizer"],
    ["Unigram", { ...good, model: { type: "Unigram", vocab: [] } }, "unsupported-tokenizer"],
    ["a huge id", { ...good, model: { ...good.model, vocab: { a: 2 ** 40 } } }, "bad-tokenizer"],
    ["a negative id", { ...good, model: { ...good.model, vocab: { a: -1 } } }, "bad-tokenizer"],
    ["a fraction", { ...good, model: { ...good.model, vocab: { a: 0.5 } } }, "bad-tokenizer"],
    ["broken merges", { ...good, model: { ...good.model, merges: ["a"] } }, "bad-tokenizer"],
    ["merges of three", { ...good, model: { ...good.model, merges: [["a", "b", "c"]] } }, "bad-tokenizer"],
    [
      "a prefix for subwords",
      { ...good, model: { ...good.model, continuing_subword_prefix: "##" } },
      "unsupported-tokenizer",
    ],
    ["an added token without text", { ...good, added_tokens: [{ id: 1 }] }, "bad-tokenizer"],
    ["a malformed decoder", { ...good, decoder: "ByteLevel" }, "bad-tokenizer"],
  ])("refuses %s", (_name, value, expected) => {
    expect(() => readTokenizerJson(value, "model/tokenizer.json")).toThrow(code(expected));
  });

  it.each([
    ["pre-tokenizer", { pre_tokenizer: { type: "UnicodeScripts" } }],
    ["normalizer", { normalizer: { type: "Lowercase" } }],
    ["decoder", { decoder: { type: "CTC" } }],
    ["split", { pre_tokenizer: { type: "Split", pattern: { String: "a" }, behavior: "MergedWithNext", invert: true } }],
  ])("names a %s that cannot be reproduced exactly", (_name, change) => {
    expect(() => new Tokenizer({ ...good, ...change })).toThrow(code("unsupported-tokenizer"));
  });
});

describe("openTokenizer", () => {
  let folder = "";
  const write = async (name: string, files: Record<string, string | object>) => {
    const target = join(folder, name);
    await mkdir(target, { recursive: true });
    for (const [file, content] of Object.entries(files)) {
      await mkdir(dirname(join(target, file)), { recursive: true });
      await writeFile(join(target, file), typeof content === "string" ? content : JSON.stringify(content));
    }
    return target;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "hone-tokenizer-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("reads what it wrote", async () => {
    const written = smallTokenizer(["<s>", "</s>", "<|im_end|>"], {
      bosToken: "<s>",
      eosToken: "</s>",
      stopIds: [2],
      addBos: true,
      chatTemplates: { default: "{{ bos_token }}", tool_use: "{{ tools }}" },
    });
    const read = await openTokenizer(await write("own", written.files()));
    expect(read.hash).toBe(written.hash);
    expect(read.settings).toEqual({ ...written.settings, stopIds: [1, 2] });
    expect(read.stopIds).toEqual([1, 2]);
  });

  it("reads the older places of tokens and templates", async () => {
    const { json } = smallTokenizer(["<s>"]);
    const path = await write("old", {
      "tokenizer.json": json,
      "tokenizer_config.json": {
        bos_token: { content: "<s>" },
        eos_token: "<late>",
        added_tokens_decoder: { 0: { content: "<s>", special: true }, 700: { content: "<late>", special: true } },
        chat_template: [
          { name: "default", template: "D" },
          { name: "tool_use", template: "T" },
        ],
      },
      "special_tokens_map.json": { pad_token: "<s>" },
      "generation_config.json": { eos_token_id: [700, 0] },
    });
    const tokenizer = await openTokenizer(path);
    expect(tokenizer).toMatchObject({ bosId: 0, eosId: 700, padId: 0, stopIds: [700, 0], vocabSize: 701 });
    expect(tokenizer.settings.chatTemplates).toEqual({ default: "D", tool_use: "T" });
    await writeFile(join(path, "chat_template.jinja"), "J");
    expect((await openTokenizer(path)).settings.chatTemplates?.default).toBe("J");
  });

  it("finds the only GGUF file of a folder", async () => {
    const path = await write("gguf", { "model.Q8_0.gguf": "" });
    const seen: string[] = [];
    const readMetadata = async (file: string) => {
      seen.push(file);
      return {};
    };
    await expect(openTokenizer(path, { readGgufMetadata: readMetadata })).rejects.toEqual(code("bad-tokenizer"));
    expect(seen).toEqual([join(path, "model.Q8_0.gguf")]);
  });

  it.each([
    ["nothing", {}, "no-tokenizer"],
    ["two GGUF files", { "a.gguf": "", "b.gguf": "" }, "no-tokenizer"],
    ["only a SentencePiece file", { "tokenizer.model": "" }, "no-tokenizer"],
    ["broken JSON", { "tokenizer.json": "{" }, "bad-tokenizer"],
    [
      "a list as configuration",
      { "tokenizer.json": smallTokenizer().json, "tokenizer_config.json": [] },
      "bad-tokenizer",
    ],
  ])("refuses a folder with %s", async (name, files, expected) => {
    await expect(openTokenizer(await write(name, files))).rejects.toEqual(code(expected));
  });

  it("refuses a path that is not there", async () => {
    await expect(openTokenizer(join(folder, "missing"))).rejects.toEqual(code("no-tokenizer"));
  });
});
