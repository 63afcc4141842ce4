/**
 * The parts of `@huggingface/tokenizers` that Hone uses. The package's own type files do not resolve under Node's module
 * rules (their relative imports have no extension), so the shapes are written down here.
 */

import * as library from "@huggingface/tokenizers";
import { exactNormalizer, exactPreTokenizer } from "./exact-components.ts";
import type { Component, TokenizerJson } from "./tokenizer-json.ts";

export interface PreTokenizer {
  /** Splits normalized text into words. `section_index`: 0 for the beginning of a text. */
  pre_tokenize(text: string, options?: { section_index: number }): string[];
}

export interface BpeLibrary {
  normalizer: { normalize(text: string): string } | null;
  pre_tokenizer: PreTokenizer | null;
  /** Merges each word; returns vocabulary entries. */
  model: { _call(words: string[]): string[] };
  post_processor: {
    post_process(tokens: string[], pair: null, addSpecialTokens: boolean): { tokens: string[] };
  } | null;
}

interface Package {
  Tokenizer: new (tokenizer: object, config: object) => BpeLibrary;
}

const { Tokenizer } = library as unknown as Package;

/** The library's tokenizer with components that it runs exactly. Throws `HoneError` `unsupported-tokenizer`. */
export function bpeLibrary(json: TokenizerJson): BpeLibrary {
  return new Tokenizer(
    {
      ...json,
      added_tokens: [],
      normalizer: exactNormalizer(json.normalizer),
      pre_tokenizer: exactPreTokenizer(json.pre_tokenizer),
      decoder: null,
    },
    {},
  );
}

/** A pre-tokenizer on its own. */
export function preTokenizerOf(component: Component): PreTokenizer {
  const model = { type: "BPE", vocab: {}, merges: [] };
  const empty = { model, added_tokens: [], normalizer: null, post_processor: null, decoder: null };
  const { pre_tokenizer: preTokenizer } = new Tokenizer({ ...empty, pre_tokenizer: exactPreTokenizer(component) }, {});
  if (preTokenizer === null) throw new Error("no pre-tokenizer");
  return preTokenizer;
}
