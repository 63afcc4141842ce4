/** Built-in parts that judge an answer's text. Every value lies in 0 … 1. */

import { HoneError } from "../contract/errors.ts";
import type { RewardSample } from "../contract/reward.ts";
import { alternatives, asText, badSample, columnOf, expectedOf } from "./expected.ts";
import type { OpenPartOf } from "./part.ts";
import { withinTime } from "./within-time.ts";

function textOf({ text }: { text: "answer" | "completion" | "reasoning" }, sample: RewardSample): string {
  return sample[text];
}

function folded(text: string, ignoreCase: boolean): string {
  return ignoreCase ? text.toLowerCase() : text;
}

function sourceText({ column = "answer", value }: { column?: string | undefined; value?: unknown }): string {
  return value === undefined ? `the column ${column}` : JSON.stringify(value);
}

export const exactMatch: OpenPartOf<"exact_match"> = (options) => {
  const same = (text: string) => folded(options.trim ? text.trim() : text, options.ignore_case);
  return {
    description: `1 when the ${options.text} is ${sourceText(options)}, else 0`,
    score(sample) {
      const given = same(textOf(options, sample));
      return Number(alternatives(expectedOf(options, sample)).some((right) => same(asText(right)) === given));
    },
  };
};

/** Numbers as people write them: `-1,234.5`, `.5`, `2e-3`. A digit inside a word (`A1`) is none. */
function numbersIn(text: string): number[] {
  const pattern =
    /(?:(?<![\w)\]])[-+−])?(?<![\w.])(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?/g;
  return Array.from(text.matchAll(pattern), ([found]) => Number(found.replaceAll(",", "").replace("−", "-")));
}

export const numeric: OpenPartOf<"numeric"> = (options) => ({
  description: `1 when the ${options.pick} number of the ${options.text} is ${sourceText(options)}, else 0`,
  score(sample) {
    const given = numbersIn(textOf(options, sample));
    const rights = alternatives(expectedOf(options, sample)).map((right) => {
      // Worked solutions (GSM8K) end in the number that counts.
      const number = typeof right === "number" ? right : numbersIn(asText(right)).at(-1);
      if (number === undefined || !Number.isFinite(number)) {
        throw badSample(options.name, sample, `there is no number in ${sourceText(options)}: ${asText(right)}`);
      }
      return number;
    });
    if (options.pick === "only" && given.length !== 1) return 0;
    const number = given.at(options.pick === "last" ? -1 : 0);
    if (number === undefined) return 0;
    const near = (right: number) => Math.abs(number - right) <= Math.max(options.abs, options.rel * Math.abs(right));
    return Number(rights.some(near));
  },
});

export const regex: OpenPartOf<"regex"> = (options) => {
  const { name, pattern, flags, full, negate } = options;
  let compiled: RegExp;
  try {
    compiled = new RegExp(full ? `^(?:${pattern})$` : pattern, flags.replace(/[gy]/g, ""));
  } catch (error) {
    throw new HoneError("bad-reward-file", `reward part ${name}: ${(error as Error).message}`, { cause: error });
  }
  return {
    description: `1 when the ${options.text} ${negate ? "does not match" : "matches"} /${pattern}/${flags}, else 0`,
    score(sample) {
      const text = textOf(options, sample);
      const found = withinTime(
        () => compiled.test(text),
        (why) =>
          badSample(
            name,
            sample,
            `the pattern /${pattern}/ ${why}`,
            "write it without nested repetitions such as (a+)+",
          ),
      );
      return Number(found !== negate);
    },
  };
};

export const length: OpenPartOf<"length"> = (options) => {
  const { name, unit, min, max, soft } = options;
  if (min > max) throw new HoneError("bad-reward-file", `reward part ${name}: min ${min} is above max ${max}`);
  const measure = (sample: RewardSample): number => {
    if (unit === "tokens") return sample.loss_mask.filter((mask) => mask === 1).length;
    const text = textOf(options, sample).trim();
    return unit === "characters" ? [...text].length : text === "" ? 0 : text.split(/\s+/).length;
  };
  return {
    description:
      `1 when the ${unit === "tokens" ? "completion" : options.text} has ${min} to ${max} ${unit}` +
      (soft > 0 ? `, falling to 0 over ${soft} beyond` : ", else 0"),
    score(sample) {
      const count = measure(sample);
      const beyond = Math.max(min - count, count - max, 0);
      if (beyond === 0) return 1;
      return soft === 0 ? 0 : Math.max(0, 1 - beyond / soft);
    },
  };
};

export const formatTags: OpenPartOf<"format_tags"> = ({ tags, opened, outside, partial }) => ({
  description: `${partial ? "share of" : "1 when all of"} ${tags.map((tag) => `<${tag}>`).join(", ")} in order, closed, once each`,
  score(sample) {
    const text = opened ? `<${tags[0]}>${sample.completion}` : sample.completion;
    let position = 0;
    let rest = "";
    let right = 0;
    for (const tag of tags) {
      const [open, close] = [`<${tag}>`, `</${tag}>`];
      const once = text.split(open).length === 2 && text.split(close).length === 2;
      const [begin, end] = [text.indexOf(open), text.indexOf(close)];
      if (!once || begin < position || end < begin) continue;
      right += 1;
      rest += text.slice(position, begin);
      position = end + close.length;
    }
    rest += text.slice(position);
    const clean = outside || rest.trim() === "";
    if (right === 0) return 0;
    if (partial) return (right + (outside ? 0 : Number(clean))) / (tags.length + (outside ? 0 : 1));
    return Number(right === tags.length && clean);
  },
});

/** Fewest insertions, deletions and replacements (Levenshtein) that turn `a` into `b`, in two rows. */
function distance<T>(a: readonly T[], b: readonly T[]): number {
  let row = Uint32Array.from({ length: b.length + 1 }, (_, j) => j);
  let next = new Uint32Array(b.length + 1);
  for (let i = 1; i <= a.length; i++) {
    next[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const kept = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min(kept, row[j] + 1, next[j - 1] + 1);
    }
    [row, next] = [next, row];
  }
  return row[b.length];
}

/** Units beyond which two texts are not compared: the time grows with the square. */
const mostUnits = 8192;

export const similarity: OpenPartOf<"similarity"> = (options) => {
  const unitsOf = (text: string): string[] => {
    const plain = folded(text.trim(), options.ignore_case);
    return options.unit === "characters" ? [...plain] : plain.split(/\s+/).filter((word) => word !== "");
  };
  return {
    description: `1 − edit distance of the ${options.text} from ${sourceText(options)} / longer length, in ${options.unit}`,
    score(sample) {
      const given = unitsOf(textOf(options, sample));
      const likeness = alternatives(expectedOf(options, sample)).map((value) => {
        const right = unitsOf(asText(value));
        const longest = Math.max(given.length, right.length);
        if (longest > mostUnits) {
          const why = `${longest} ${options.unit} are too many to compare (at most ${mostUnits})`;
          throw badSample(options.name, sample, why, options.unit === "words" ? undefined : '"unit": "words"');
        }
        return longest === 0 ? 1 : 1 - distance(given, right) / longest;
      });
      return Math.max(...likeness);
    },
  };
};

export const words: OpenPartOf<"words"> = (options) => {
  const { name, required, forbidden, column, whole, ignore_case } = options;
  if (required.length + forbidden.length === 0 && column === undefined) {
    throw new HoneError("bad-reward-file", `reward part ${name}: give required, forbidden or column`);
  }
  const has = (text: string, word: string): boolean => {
    if (!whole) return folded(text, ignore_case).includes(folded(word, ignore_case));
    const literal = word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    return new RegExp(`(?<![\\p{L}\\p{N}_])${literal}(?![\\p{L}\\p{N}_])`, ignore_case ? "iu" : "u").test(text);
  };
  return {
    description:
      required.length === 0 && column === undefined
        ? `1 unless a forbidden word stands in the ${options.text}`
        : `share of the required words in the ${options.text}${forbidden.length > 0 ? "; 0 when a forbidden one stands there" : ""}`,
    score(sample) {
      const text = textOf(options, sample);
      if (forbidden.some((word) => has(text, word))) return 0;
      const wanted = [...required, ...(column === undefined ? [] : wordList(columnOf(name, column, sample)))];
      return wanted.length === 0 ? 1 : wanted.filter((word) => has(text, word)).length / wanted.length;
    },
  };
};

function wordList(value: unknown): string[] {
  const list = typeof value === "string" ? value.split(",") : alternatives(value).map(asText);
  return list.map((word) => word.trim()).filter((word) => word !== "");
}
