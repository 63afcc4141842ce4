/** A small byte-level tokenizer for tests that need no particular vocabulary. */

import { Tokenizer, type TokenizerSettings } from "../../../core/text/tokenizer.ts";
import { trainBpe } from "../../../core/text/train-bpe.ts";

const corpus = [
  "The board has nine squares. Square 5 is free, square 7 is taken by O.",
  "Take a free square: the assistant takes square 5 and the user takes square 1.",
  '{"name": "choose_square", "arguments": {"square": 5}}',
  "Hello! How can I help? One, two, three. Thinking about the board…",
  "你好，世界 😀 naïve café",
];

export function smallTokenizer(
  specialTokens: readonly (string | { content: string; special: boolean })[] = [],
  settings: TokenizerSettings = {},
): Tokenizer {
  return new Tokenizer(trainBpe(corpus, { vocabSize: 420 + specialTokens.length, specialTokens }), settings);
}

/** The tokens of most chat models; markers that models write themselves are not special. */
export function chatTokenizer(template: string): Tokenizer {
  const markers = ["<think>", "</think>", "<tool_call>", "</tool_call>"].map((content) => ({
    content,
    special: false,
  }));
  return smallTokenizer(["<|endoftext|>", "<|im_start|>", "<|im_end|>", ...markers], {
    bosToken: "<|endoftext|>",
    eosToken: "<|endoftext|>",
    chatTemplates: { default: template },
  });
}

/** Numbers in [0, 1) from a seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A text of whole characters of all sorts. */
export function randomText(random: () => number, length: number): string {
  const atoms = [
    "a",
    "Board",
    " ",
    "\n",
    "  ",
    "é",
    "你",
    "😀",
    "👨‍👩‍👧",
    "½",
    "\u0000",
    "\ufeff",
    "e\u0301",
    "5",
    "<",
    "|>",
    "square",
  ];
  return Array.from({ length }, () => atoms[Math.floor(random() * atoms.length)]).join("");
}
