/**
 * `@huggingface/tokenizers` differs from the Rust library in some pre-tokenizers and normalizers: JavaScript's `\s` and
 * `\d` are not Unicode's, half of the split behaviours are missing, `$` in a replacement is special, … Each such
 * component has an equivalent spelling that the library does run exactly; this file rewrites one into the other. A
 * component without one is refused by name: a tokenizer that is almost right would train a model on wrong ids.
 */

import { HoneError } from "../contract/errors.ts";
import { isRecord } from "../contract/is-record.ts";
import type { Component } from "./tokenizer-json.ts";

/** The GPT-2 split that `ByteLevel` applies on its own. */
const gpt2Pattern = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/** What Rust calls ASCII punctuation, and Unicode's. */
const punctuation = "[\\p{P}!-/:-@\\[-`{-~]";

/** `\w` of Rust's regex library. */
const wordChars = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\u200C\\u200D";

export function exactNormalizer(component: Component | null): Component | null {
  if (component === null) return null;
  switch (component.type) {
    case "Sequence":
      return { type: "Sequence", normalizers: parts(component, "normalizers").map(exactNormalizer) };
    case "Replace": {
      const content = typeof component.content === "string" ? component.content : "";
      return {
        type: "Replace",
        pattern: { Regex: patternSource(component) },
        content: content.replaceAll("$", "$$$$"),
      };
    }
    case "Strip":
      return sequence("normalizers", [
        ...(component.strip_left === true ? [replaceAll("\\A\\s+")] : []),
        ...(component.strip_right === true ? [replaceAll("\\s+\\z")] : []),
      ]);
    case "Prepend":
    case "NFC":
    case "NFD":
    case "NFKC":
    case "NFKD":
      return component;
    default:
      throw unsupported("normalizer", component);
  }
}

export function exactPreTokenizer(component: Component | null): Component | null {
  if (component === null) return null;
  switch (component.type) {
    case "Sequence":
      return sequence("pretokenizers", parts(component, "pretokenizers").map(exactPreTokenizer));
    case "ByteLevel": {
      const bytes = { type: "ByteLevel", add_prefix_space: false, use_regex: false };
      return sequence("pretokenizers", [
        ...(component.add_prefix_space === true ? [{ ...replaceAll("\\A([^ ])"), content: " $1" }] : []),
        ...(component.use_regex === false ? [] : [isolate(gpt2Pattern)]),
        bytes,
      ]);
    }
    case "Digits":
      return isolate(component.individual_digits === true ? "\\p{N}" : "\\p{N}+");
    case "Split":
      return split(patternSource(component), component);
    case "Punctuation":
      return split(punctuation, { ...component, behavior: component.behavior ?? "Isolated" });
    case "Whitespace":
      return split(`[${wordChars}]+|[^${wordChars}\\s]+`, { type: component.type, behavior: "Removed", invert: true });
    case "WhitespaceSplit":
      return split("\\s+", { type: component.type, behavior: "Removed" });
    case "FixedLength":
      return isolate(`[\\s\\S]{1,${Number(component.length)}}`);
    case "Metaspace": {
      const replacement = typeof component.replacement === "string" ? component.replacement : "▁";
      const scheme = component.prepend_scheme ?? (component.add_prefix_space === false ? "never" : "always");
      const mark = { type: "Metaspace", replacement, prepend_scheme: scheme };
      if (component.split === false) return mark;
      return sequence("pretokenizers", [
        mark,
        split(escapePattern(replacement), { type: component.type, behavior: "MergedWithNext" }),
      ]);
    }
    default:
      throw unsupported("pre-tokenizer", component);
  }
}

/** The pieces that each behaviour makes, as one pattern whose matches and gaps are the pieces. */
function split(source: string, component: Component): Component {
  const behavior = component.behavior;
  const invert = component.invert === true;
  switch (behavior) {
    case "Isolated":
      return isolate(source);
    case "Removed":
      return { type: "Split", pattern: { Regex: nonCapturing(source) }, behavior: "Removed", invert };
    case "Contiguous":
      if (!invert) return isolate(`(?:${source})+`);
      break;
    case "MergedWithPrevious":
      if (!invert) return isolate(`[\\s\\S]*?(?:${source})`);
      break;
    case "MergedWithNext":
      if (!invert) return isolate(`(?:${source})(?:(?!${source})[\\s\\S])*`);
      break;
    default:
  }
  throw unsupported("pre-tokenizer", component);
}

function isolate(source: string): Component {
  return { type: "Split", pattern: { Regex: source }, behavior: "Isolated", invert: false };
}

function replaceAll(source: string): Component {
  return { type: "Replace", pattern: { Regex: source }, content: "" };
}

function sequence(key: "normalizers" | "pretokenizers", components: (Component | null)[]): Component {
  return { type: "Sequence", [key]: components };
}

function parts(component: Component, key: string): Component[] {
  const list = component[key];
  if (!Array.isArray(list)) throw unsupported("component", component);
  return list.map((part: unknown) => {
    if (!isRecord(part) || typeof part.type !== "string") throw unsupported("component", component);
    return { ...part, type: part.type };
  });
}

function patternSource(component: Component): string {
  const pattern = component.pattern;
  if (isRecord(pattern) && typeof pattern.Regex === "string") return pattern.Regex;
  if (isRecord(pattern) && typeof pattern.String === "string") return escapePattern(pattern.String);
  throw unsupported("pattern", component);
}

export function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** JavaScript's `split` would return what groups capture. */
function nonCapturing(source: string): string {
  return source.replace(/\\.|\[(?:\\.|[^\]\\])*\]|\((?!\?)/gs, (part) => (part === "(" ? "(?:" : part));
}

function unsupported(kind: string, component: Component): HoneError {
  const options = Object.entries(component)
    .filter(([key, value]) => key !== "type" && typeof value !== "object")
    .map(([key, value]) => `${key} ${JSON.stringify(value)}`);
  const detail = options.length > 0 ? ` (${options.join(", ")})` : "";
  return new HoneError("unsupported-tokenizer", `tokenizer.json: ${kind} ${component.type}${detail} is not supported`, {
    fix: "Use a model whose tokenizer is byte-level BPE or SentencePiece BPE.",
  });
}
