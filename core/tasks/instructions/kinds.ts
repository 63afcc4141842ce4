/** Instructions that a program can verify: how they are said, when they are kept, and how models break them. */

import { isRecord } from "../../contract/is-record.ts";
import { jsonIn } from "../../text/strict-json.ts";
import { languageOf, languages, type Language } from "./phrases.ts";

/** What kinds can be told apart by, in reports. */
export const families = {
  format: "the form of the answer",
  length: "how long the answer is",
  words: "words that must or must not stand in it",
  spelling: "capitals and punctuation",
  language: "the language",
} as const;
export type Family = keyof typeof families;

export type InstructionValue = string | number | string[];

interface Kind {
  family: Family;
  /** As it stands in the prompt. */
  say(value: InstructionValue): string;
  holds(text: string, value: InstructionValue): boolean;
  /** A likely way to break it. The text keeps it. */
  spoil(text: string, value: InstructionValue): string;
}

const list = (text: string) => text.split("\n").filter((line) => line.trim() !== "");
export const wordsIn = (text: string) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
const sentencesIn = (text: string) => text.match(/[.!?]+(?=\s|$)/g)?.length ?? 0;
const paragraphsIn = (text: string) => text.trim().split(/\n\s*\n/).length;
const counted = (n: InstructionValue, one: string) => `exactly ${String(n)} ${one}${n === 1 ? "" : "s"}`;
const lower = (value: InstructionValue) => String(value).toLowerCase();
/** Runs of letters and digits, in lower case. */
export function tokensIn(text: string): string[] {
  return Array.from(text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu), ([found]) => found);
}
const hasWord = (text: string, word: InstructionValue) => tokensIn(text).includes(lower(word));
const flat = (text: string) => list(text).join(" ");

export const kinds = {
  sentences: {
    family: "length",
    say: (n) => `Write ${counted(n, "sentence")}.`,
    holds: (text, n) => sentencesIn(text) === n,
    spoil: (text) => `${text} I hope this helps.`,
  },
  words: {
    family: "length",
    say: (n) => `Write ${counted(n, "word")}.`,
    holds: (text, n) => wordsIn(text).length === n,
    spoil: (text) => `${text} I hope this helps.`,
  },
  max_words: {
    family: "length",
    say: (n) => `Use at most ${String(n)} words.`,
    holds: (text, n) => wordsIn(text).length <= Number(n),
    spoil: (text, n) => Array.from({ length: 1 + Math.ceil(Number(n) / wordsIn(text).length) }, () => text).join(" "),
  },
  lines: {
    family: "format",
    say: (n) => `Write ${counted(n, "line")}.`,
    holds: (text, n) => list(text).length === n,
    spoil: (text) => (list(text).length > 1 ? flat(text) : `Here it is:\n${text}`),
  },
  paragraphs: {
    family: "format",
    say: (n) => `Write ${counted(n, "paragraph")} with a blank line between.`,
    holds: (text, n) => paragraphsIn(text) === n,
    spoil: (text) => list(text).join("\n"),
  },
  bullets: {
    family: "format",
    say: (n) => `Write ${counted(n, "bullet point")}, each on a line that begins with "- ", and nothing else.`,
    holds: (text, n) => list(text).length === n && list(text).every((line) => /^- \S/.test(line)),
    spoil: (text) => `Here are some points:\n${text}`,
  },
  numbered: {
    family: "format",
    say: (n) => `Write a numbered list of ${counted(n, "item")} (1. 2. …) and nothing else.`,
    holds: (text, n) =>
      list(text).length === n && list(text).every((line, i) => new RegExp(`^${i + 1}\\. \\S`).test(line)),
    spoil: (text) => text.replace(/^\d+\. /gm, "- "),
  },
  json: {
    family: "format",
    say: (keys) => `Answer with one JSON object with the keys ${(keys as string[]).join(" and ")}, and nothing else.`,
    holds: (text, keys) => {
      const found = wholeObject(text);
      return (
        found !== undefined &&
        Object.keys(found).sort().join() === [...(keys as string[])].sort().join() &&
        Object.values(found).every((value) => typeof value === "string" && value !== "")
      );
    },
    spoil: (text) => `\`\`\`json\n${text}\n\`\`\``,
  },
  title: {
    family: "format",
    say: () => "Begin with a title in double angle brackets, like <<title>>, on a line of its own.",
    holds: (text) => /^<<[^<>\n]+>>\n/.test(text.trim()),
    spoil: (text) => text.replaceAll("<<", "# ").replaceAll(">>", ""),
  },
  start_with: {
    family: "words",
    say: (word) => `Start with the word "${String(word)}".`,
    holds: (text, word) =>
      wordsIn(text)[0]
        ?.toLowerCase()
        .replace(/[^\p{L}\p{N}]/gu, "") === lower(word),
    spoil: (text) => `Sure! ${text}`,
  },
  end_with: {
    family: "words",
    say: (sentence) => `End with the sentence "${String(sentence)}"`,
    holds: (text, sentence) => text.trim().toLowerCase().endsWith(lower(sentence)),
    spoil: (text) => `${text} Let me know what you think.`,
  },
  include: {
    family: "words",
    say: (word) => `Use the word "${String(word)}".`,
    holds: (text, word) => hasWord(text, word),
    spoil: (text, word) => text.replace(new RegExp(`(?<!\\p{L})${String(word)}(?!\\p{L})`, "giu"), "thing"),
  },
  exclude: {
    family: "words",
    say: (word) => `Do not use the word "${String(word)}".`,
    holds: (text, word) => !hasWord(text, word),
    spoil: (text, word) => `${text} So much for ${String(word)}.`,
  },
  placeholder: {
    family: "words",
    say: (name) => `Use the placeholder ${String(name)} exactly once.`,
    holds: (text, name) => text.split(String(name)).length === 2,
    spoil: (text, name) => text.replace(String(name), "Anna"),
  },
  lowercase: {
    family: "spelling",
    say: () => "Write in lower case only.",
    holds: (text) => text === text.toLowerCase(),
    spoil: (text) => text.replace(/\p{L}/u, (letter) => letter.toUpperCase()),
  },
  uppercase: {
    family: "spelling",
    say: () => "Write in capital letters only.",
    holds: (text) => text === text.toUpperCase(),
    spoil: (text) => text.toLowerCase(),
  },
  no_commas: {
    family: "spelling",
    say: () => "Do not use commas.",
    holds: (text) => !text.includes(","),
    spoil: (text) => text.replace(/(\p{L}) /u, "$1, "),
  },
  question: {
    family: "spelling",
    say: () => "End with a question.",
    holds: (text) => text.trim().endsWith("?"),
    spoil: (text) => text.replace(/\?$/, "."),
  },
  language: {
    family: "language",
    say: (language) => `Write in ${languages[language as Language]}.`,
    holds: (text, language) => languageOf(text) === language,
    spoil: () => "This is what I can say about it: it is good for all of us.",
  },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as KindName[];

export interface Instruction {
  kind: KindName;
  /** The number, word, sentence, keys or language that it is about. */
  value: InstructionValue;
}

export function kindOf({ kind }: Instruction): Kind {
  return kinds[kind];
}

export function holds(instruction: Instruction, text: string): boolean {
  return kindOf(instruction).holds(text, instruction.value);
}

/** Kinds that say the same thing twice or cannot be kept together. */
const clashes: readonly (readonly KindName[])[] = [
  ["sentences", "words", "lines", "paragraphs", "bullets", "numbered", "json", "title"],
  ["words", "max_words"],
  ["lowercase", "uppercase"],
  ["end_with", "question"],
  ["start_with", "bullets"],
  ["start_with", "numbered"],
  ["start_with", "title"],
  ["placeholder", "uppercase"],
  ...(["start_with", "end_with", "question", "lowercase", "uppercase", "no_commas", "max_words"] as const).map(
    (kind): [KindName, KindName] => ["json", kind],
  ),
];

/** Whether all of these can be asked for at once. */
export function agree(names: readonly KindName[]): boolean {
  return clashes.every((clash) => names.filter((name) => clash.includes(name)).length < 2);
}

function wholeObject(text: string): Record<string, unknown> | undefined {
  const read = jsonIn(text);
  return read?.around === false && isRecord(read.value) ? read.value : undefined;
}
