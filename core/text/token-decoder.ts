/** From a vocabulary entry to the bytes it stands for, as the tokenizer.json's decoder says. */

import { HoneError } from "../contract/errors.ts";
import { isRecord } from "../contract/is-record.ts";
import { fromByteChars } from "./byte-level.ts";
import type { Component } from "./tokenizer-json.ts";

export interface TokenDecoder {
  /** Bytes of one vocabulary entry (not of an added token, which stands for itself). */
  bytes(piece: string): Uint8Array;
  /** A text's first space was put there by the tokenizer, so decoding takes it away. */
  stripsFirstSpace: boolean;
}

const encoder = new TextEncoder();

/** Throws `HoneError` `unsupported-tokenizer` for a decoder that is neither byte-level nor SentencePiece-like. */
export function tokenDecoder(component: Component | null): TokenDecoder {
  const steps = flatten(component);
  if (steps.some((step) => step.type === "ByteLevel")) {
    return { bytes: (piece) => fromByteChars(piece) ?? encoder.encode(piece), stripsFirstSpace: false };
  }
  const replacements: [string, string][] = [];
  let byteFallback = false;
  let stripsFirstSpace = false;
  for (const step of steps) {
    switch (step.type) {
      case "Replace": {
        const pattern = step.pattern;
        if (!isRecord(pattern) || typeof pattern.String !== "string" || typeof step.content !== "string") {
          throw unsupported(step);
        }
        replacements.push([pattern.String, step.content]);
        break;
      }
      case "ByteFallback":
        byteFallback = true;
        break;
      case "Fuse":
        break;
      case "Strip":
        if (step.content !== " " || step.start !== 1 || (step.stop ?? 0) !== 0) throw unsupported(step);
        stripsFirstSpace = true;
        break;
      case "Metaspace":
        replacements.push([typeof step.replacement === "string" ? step.replacement : "▁", " "]);
        stripsFirstSpace = step.prepend_scheme !== "never" && step.add_prefix_space !== false;
        break;
      default:
        throw unsupported(step);
    }
  }
  return {
    bytes(piece) {
      const byte = byteFallback ? /^<0x([0-9A-Fa-f]{2})>$/.exec(piece)?.[1] : undefined;
      if (byte !== undefined) return Uint8Array.of(parseInt(byte, 16));
      return encoder.encode(replacements.reduce((text, [from, to]) => text.replaceAll(from, to), piece));
    },
    stripsFirstSpace,
  };
}

function flatten(component: Component | null): Component[] {
  if (component === null) return [];
  if (component.type !== "Sequence") return [component];
  if (!Array.isArray(component.decoders)) throw unsupported(component);
  return component.decoders.flatMap((part: unknown) => {
    if (!isRecord(part) || typeof part.type !== "string") throw unsupported(component);
    return flatten({ ...part, type: part.type });
  });
}

function unsupported(component: Component): HoneError {
  return new HoneError("unsupported-tokenizer", `tokenizer.json: decoder ${component.type} is not supported`, {
    fix: "Use a model whose tokenizer is byte-level BPE or SentencePiece BPE.",
  });
}
