/**
 * Learns a byte-level BPE vocabulary: begin with the 256 bytes, then again and again make the most frequent pair of
 * neighbours one token (Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units").
 */

import { HoneError } from "../contract/errors.ts";
import { AddedTokens } from "./added-tokens.ts";
import { preTokenizerOf } from "./bpe-library.ts";
import { byteToChar } from "./byte-level.ts";
import { addedToken, bpeModel, type Component, type TokenizerJson } from "./tokenizer-json.ts";

export interface TrainBpeOptions {
  /** Tokens in all: special tokens, 256 bytes, and merged ones. Fewer when the corpus has nothing more to merge. */
  vocabSize: number;
  /** Take the first ids, in this order. A plain string is special; `special: false` makes a marker such as `<tool_call>`. */
  specialTokens?: readonly (string | { content: string; special: boolean })[];
  /** Regular expression whose matches (and the gaps between) are never merged across. Default: GPT-2's. */
  splitPattern?: string;
  /** A pair must occur this often to be merged. Default 2. */
  minFrequency?: number;
}

/** Equal input gives an equal vocabulary; of equally frequent pairs the one with the lower ids is merged. Throws `HoneError` `bad-vocab-size`. */
export function trainBpe(corpus: Iterable<string>, options: TrainBpeOptions): TokenizerJson {
  const { vocabSize, specialTokens = [], splitPattern, minFrequency = 2 } = options;
  const added = specialTokens.map((token, id) =>
    typeof token === "string" ? addedToken(id, token, true) : addedToken(id, token.content, token.special),
  );
  const pieces = [...added.map(({ content }) => content), ...[...byteToChar].sort()];
  if (vocabSize < pieces.length) {
    throw new HoneError(
      "bad-vocab-size",
      `A vocabulary of ${vocabSize} does not hold ${added.length} special tokens and 256 bytes`,
      {
        fix: `Ask for at least ${pieces.length}.`,
      },
    );
  }
  const ids = new Map(pieces.map((piece, id) => [piece, id]));
  const preTokenizer = splitPattern === undefined ? byteLevel(true) : splitThenBytes(splitPattern);
  const words = countWords(corpus, new AddedTokens(added), preTokenizer);
  const sequences = [...words.keys()].map((word) => Array.from(word, (char) => ids.get(char) ?? 0));
  const frequencies = [...words.values()];

  const pairs = new Pairs();
  sequences.forEach((sequence, word) => pairs.add(sequence, word, frequencies[word] ?? 0));
  const merges: [string, string][] = [];
  while (pieces.length < vocabSize) {
    const best = pairs.best();
    if (best === undefined || best.count < Math.max(1, minFrequency)) break;
    const [left, right] = [pieces[best.left] ?? "", pieces[best.right] ?? ""];
    let id = ids.get(left + right);
    if (id === undefined) {
      id = pieces.push(left + right) - 1;
      ids.set(left + right, id);
    }
    merges.push([left, right]);
    for (const word of best.words) {
      const sequence = sequences[word] ?? [];
      pairs.add(sequence, word, -(frequencies[word] ?? 0));
      sequences[word] = mergePair(sequence, best.left, best.right, id);
      pairs.add(sequences[word], word, frequencies[word] ?? 0);
    }
  }
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: preTokenizer,
    post_processor: null,
    decoder: byteLevel(true),
    model: bpeModel(Object.fromEntries(ids), merges),
  };
}

/** Counts of neighbouring ids, and the words in which they were seen. */
class Pairs {
  readonly #pairs = new Map<number, { left: number; right: number; count: number; words: Set<number> }>();

  /** Adds `frequency` for every pair of the word; a negative one takes it away. */
  add(sequence: readonly number[], word: number, frequency: number): void {
    for (let i = 1; i < sequence.length; i++) {
      const [left, right] = [sequence[i - 1] ?? 0, sequence[i] ?? 0];
      const key = left * 2 ** 24 + right;
      let pair = this.#pairs.get(key);
      if (pair === undefined) this.#pairs.set(key, (pair = { left, right, count: 0, words: new Set() }));
      pair.count += frequency;
      if (frequency > 0) pair.words.add(word);
      if (pair.count === 0) this.#pairs.delete(key);
    }
  }

  best(): { left: number; right: number; count: number; words: readonly number[] } | undefined {
    let best: { left: number; right: number; count: number; words: Set<number> } | undefined;
    for (const pair of this.#pairs.values()) {
      if (
        best === undefined ||
        pair.count > best.count ||
        (pair.count === best.count && (pair.left < best.left || (pair.left === best.left && pair.right < best.right)))
      ) {
        best = pair;
      }
    }
    return best === undefined ? undefined : { ...best, words: [...best.words] };
  }
}

function mergePair(sequence: readonly number[], left: number, right: number, id: number): number[] {
  const merged: number[] = [];
  for (let i = 0; i < sequence.length; i++) {
    if (sequence[i] === left && sequence[i + 1] === right) {
      merged.push(id);
      i++;
    } else merged.push(sequence[i] ?? 0);
  }
  return merged;
}

/** How often each word occurs, in byte characters. Special tokens in the corpus are left out. */
function countWords(corpus: Iterable<string>, added: AddedTokens, preTokenizer: Component): Map<string, number> {
  const splitter = preTokenizerOf(preTokenizer);
  const words = new Map<string, number>();
  const count = (text: string) => {
    for (const word of text === "" ? [] : splitter.pre_tokenize(text)) words.set(word, (words.get(word) ?? 0) + 1);
  };
  for (const text of corpus) {
    let position = 0;
    for (const { start, end } of added.find(text, () => true)) {
      count(text.slice(position, start));
      position = end;
    }
    count(text.slice(position));
  }
  return words;
}

function byteLevel(useRegex: boolean): Component {
  return { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: useRegex };
}

function splitThenBytes(pattern: string): Component {
  const split = { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false };
  return { type: "Sequence", pretokenizers: [split, byteLevel(false)] };
}
