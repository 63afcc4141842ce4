import { describe, expect, it } from "vitest";
import { Tokenizer } from "../../../core/text/tokenizer.ts";
import { trainBpe } from "../../../core/text/train-bpe.ts";
import { textFixture } from "./fixtures.ts";

interface Reference {
  corpus: string[];
  vocabSize: number;
  specialTokens: string[];
  vocab: string[];
  merges: [string, string][];
  texts: string[];
  ids: number[][];
}

describe("trainBpe", () => {
  const reference = textFixture<Reference>("bpe-trainer.json");

  it("learns what the Python library learns, and encodes alike", () => {
    const json = trainBpe(reference.corpus, { ...reference, minFrequency: 2 });
    expect(
      Object.entries(json.model.vocab)
        .sort(([, a], [, b]) => a - b)
        .map(([token]) => token),
    ).toEqual(reference.vocab);
    expect(json.model.merges).toEqual(reference.merges);
    const tokenizer = new Tokenizer(json);
    reference.texts.forEach((text, i) => {
      expect(tokenizer.encode(text, { allowSpecial: true }), text).toEqual(reference.ids[i]);
    });
  });

  it("is deterministic and takes any iterable", () => {
    const lines = function* () {
      yield* reference.corpus;
    };
    const a = trainBpe(lines(), { vocabSize: 300 });
    expect(JSON.stringify(trainBpe(reference.corpus, { vocabSize: 300 }))).toBe(JSON.stringify(a));
  });

  it("never merges across a split, and learns nothing from special tokens in the corpus", () => {
    const json = trainBpe(["12 12 12 <end><end><end>"], {
      vocabSize: 300,
      splitPattern: "\\p{N}|[^\\p{N}]+",
      specialTokens: ["<end>"],
    });
    expect(json.model.merges).toEqual([]);
    const loose = trainBpe(["12 12 12"], { vocabSize: 300, minFrequency: 2 });
    expect(loose.model.merges).toEqual([
      ["1", "2"],
      ["Ġ", "12"],
    ]);
  });

  it("stops at the vocabulary size and at the frequency", () => {
    expect(Object.keys(trainBpe(reference.corpus, { vocabSize: 260 }).model.vocab)).toHaveLength(260);
    expect(trainBpe(["abab"], { vocabSize: 300, minFrequency: 3 }).model.merges).toEqual([]);
    expect(trainBpe([], { vocabSize: 300 }).model.merges).toEqual([]);
  });

  it("keeps markers apart from special tokens", () => {
    const json = trainBpe([], { vocabSize: 258, specialTokens: ["<s>", { content: "<tool_call>", special: false }] });
    expect(json.added_tokens).toMatchObject([
      { id: 0, content: "<s>", special: true },
      { id: 1, content: "<tool_call>", special: false },
    ]);
  });

  it("refuses a vocabulary without room for the bytes", () => {
    expect(() => trainBpe([], { vocabSize: 200 })).toThrow(
      expect.objectContaining({ code: "bad-vocab-size" }) as Error,
    );
  });
});
