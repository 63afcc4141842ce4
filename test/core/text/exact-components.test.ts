import { describe, expect, it } from "vitest";
import { bpeLibrary } from "../../../core/text/bpe-library.ts";
import type { Component } from "../../../core/text/tokenizer-json.ts";
import { bpeModel } from "../../../core/text/tokenizer-json.ts";
import { textFixture } from "./fixtures.ts";

interface Words {
  texts: string[];
  cases: Record<string, { normalizer: Component | null; pre_tokenizer: Component | null; words: string[][] }>;
}

const { texts, cases } = textFixture<Words>("words.json");

describe("words equal those of the Python library", () => {
  it.each(Object.entries(cases))("%s", (_name, { normalizer, pre_tokenizer, words }) => {
    const library = bpeLibrary({
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: [],
      normalizer,
      pre_tokenizer,
      post_processor: null,
      decoder: null,
      model: bpeModel({}, []),
    });
    texts.forEach((text, i) => {
      const normalized = library.normalizer?.normalize(text) ?? text;
      const found = library.pre_tokenizer?.pre_tokenize(normalized, { section_index: 0 }) ?? [normalized];
      expect(
        found.filter((word) => word !== ""),
        JSON.stringify(text),
      ).toEqual(words[i]);
    });
  });
});
