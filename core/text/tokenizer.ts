/**
 * Text to token ids and back. Byte-level BPE and SentencePiece-style BPE, from any source that can be written as a
 * Hugging Face `tokenizer.json`.
 *
 * `@huggingface/tokenizers` runs the normalizer, the pre-tokenizer and the merges. Added tokens and decoding are done
 * here, because the caller must be able to say which text may become a control token, where a text must be cut, and
 * what bytes a single token stands for.
 */

import { createHash } from "node:crypto";
import { HoneError } from "../contract/errors.ts";
import { AddedTokens, type Match } from "./added-tokens.ts";
import { bpeLibrary, type BpeLibrary } from "./bpe-library.ts";
import { markers } from "./markers.ts";
import { tokenDecoder, type TokenDecoder } from "./token-decoder.ts";
import type { AddedToken, TokenizerJson } from "./tokenizer-json.ts";

/** What a tokenizer needs to know beyond `tokenizer.json`. Token texts must be in the vocabulary. */
export interface TokenizerSettings {
  bosToken?: string;
  eosToken?: string;
  padToken?: string;
  unkToken?: string;
  /** Further ids that end a turn (`generation_config.json`, GGUF `eot_token_id`). */
  stopIds?: readonly number[];
  /** Overrules the post-processor; absent: as the post-processor says. */
  addBos?: boolean;
  addEos?: boolean;
  /** Chat templates by name; `default` is the usual one, `tool_use` replaces it when tools are given. */
  chatTemplates?: Readonly<Record<string, string>>;
}

export interface EncodeOptions {
  /** False for text that a user or a data row brings: control tokens written in it stay ordinary characters. */
  allowSpecial: boolean;
  /** Add BOS and EOS as the model's own tokenizer does for plain text. Default false. */
  addSpecial?: boolean;
}

export interface DecodeOptions {
  /** Leave out special tokens. Default false. */
  skipSpecial?: boolean;
  /** The ids continue an earlier text: keep the space that a tokenizer takes from the beginning of a text. Default false. */
  continues?: boolean;
}

const utf8 = new TextEncoder();

export class Tokenizer {
  /** One more than the highest id. A model's embedding may be padded beyond it. */
  readonly vocabSize: number;
  readonly bosId: number | null;
  readonly eosId: number | null;
  readonly padId: number | null;
  /** Ids that end a generated turn, `eosId` first. A chat template may add its own end-of-turn token. */
  readonly stopIds: readonly number[];
  /** Tokens that the tokenizer file itself calls special. */
  readonly specialIds: ReadonlySet<number>;
  /** `specialIds`, `<tool_call>`, `<think>` and the like, and other markers that the chat template writes: never encoded from a user's text. */
  readonly controlIds: ReadonlySet<number>;
  readonly settings: TokenizerSettings;
  /** Equivalent `tokenizer.json`. */
  readonly json: TokenizerJson;

  readonly #pieces: (string | undefined)[] = [];
  readonly #ids = new Map<string, number>();
  readonly #added: AddedTokens;
  readonly #addedIds: ReadonlySet<number>;
  readonly #library: BpeLibrary;
  readonly #decoder: TokenDecoder;
  readonly #bytes = new Map<number, Uint8Array>();
  #hash: string | undefined;

  constructor(json: TokenizerJson, settings: TokenizerSettings = {}) {
    this.json = json;
    this.settings = settings;
    for (const [piece, id] of Object.entries(json.model.vocab)) this.#learn(id, piece);
    for (const { id, content } of json.added_tokens) this.#learn(id, content);
    this.vocabSize = this.#pieces.length;
    this.#added = new AddedTokens(json.added_tokens);
    this.#addedIds = new Set(json.added_tokens.map(({ id }) => id));
    this.specialIds = new Set(json.added_tokens.filter(({ special }) => special).map(({ id }) => id));
    const templates = Object.values(settings.chatTemplates ?? {});
    const isMarker = ({ content }: AddedToken) =>
      markers.includes(content) || (content.trim() !== "" && templates.some((template) => template.includes(content)));
    this.controlIds = new Set([...this.specialIds, ...json.added_tokens.filter(isMarker).map(({ id }) => id)]);
    this.bosId = this.#idOfSetting(settings.bosToken, "bos_token");
    this.eosId = this.#idOfSetting(settings.eosToken, "eos_token");
    this.padId = this.#idOfSetting(settings.padToken, "pad_token");
    this.stopIds = [...new Set([...(this.eosId === null ? [] : [this.eosId]), ...(settings.stopIds ?? [])])];
    this.#decoder = tokenDecoder(json.decoder);
    this.#library = bpeLibrary(withoutControl(json, this.controlIds));
  }

  encode(text: string, { allowSpecial, addSpecial = false }: EncodeOptions): number[] {
    const allow = (token: AddedToken) => allowSpecial || !this.controlIds.has(token.id);
    const ids = this.#encodeParts(this.#added.find(text, allow), [text]).flat();
    return addSpecial ? this.#withBosEos(ids) : ids;
  }

  /**
   * Encodes a text of several parts, one list of ids for each. The parts are one text to the normalizer and to added
   * tokens, but no token reaches over a border. Every added token in it is allowed; `restore` turns the parts into what
   * is really to be encoded, once added tokens were found. Throws `HoneError` `inexact-mask` if a border has no exact
   * place among the tokens.
   */
  encodeParts(parts: readonly string[], restore?: (text: string) => string): number[][] {
    return this.#encodeParts(
      this.#added.find(parts.join(""), () => true),
      parts,
      restore,
    );
  }

  decode(ids: ArrayLike<number>, { skipSpecial = false, continues = false }: DecodeOptions = {}): string {
    const chunks: Uint8Array[] = [];
    for (const id of Array.from(ids)) if (!(skipSpecial && this.specialIds.has(id))) chunks.push(this.tokenBytes(id));
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(chunks));
    return !continues && this.stripsFirstSpace && text.startsWith(" ") ? text.slice(1) : text;
  }

  /** Whether decoding a text from its beginning takes one leading space away. */
  get stripsFirstSpace(): boolean {
    return this.#decoder.stripsFirstSpace;
  }

  /** The bytes a token stands for: often a part of a character. Empty for an id without an entry. */
  tokenBytes(id: number): Uint8Array {
    let bytes = this.#bytes.get(id);
    if (bytes === undefined) {
      const piece = this.#pieces[id] ?? "";
      bytes = this.#addedIds.has(id) ? utf8.encode(piece) : this.#decoder.bytes(piece);
      this.#bytes.set(id, bytes);
    }
    return bytes;
  }

  /** A token for people to read: its text, with bytes that are no whole character as `\xE4`. */
  piece(id: number): string {
    return readableBytes(this.tokenBytes(id));
  }

  /** The id of a vocabulary entry or added token, by its exact spelling in the vocabulary. */
  idOf(token: string): number | undefined {
    return this.#ids.get(token);
  }

  /** A token's spelling in the vocabulary. */
  tokenOf(id: number): string | undefined {
    return this.#pieces[id];
  }

  /** SHA-256 (hex) of what decides the ids of a text: equal hashes, equal ids. */
  get hash(): string {
    this.#hash ??= createHash("sha256").update(canonicalJson(this.json)).digest("hex");
    return this.#hash;
  }

  /** The files that make a model folder usable by other software: name → text. */
  files(): Record<string, string> {
    const { bosToken, eosToken, padToken, unkToken, addBos, addEos, chatTemplates = {} } = this.settings;
    const config = {
      tokenizer_class: "PreTrainedTokenizerFast",
      bos_token: bosToken,
      eos_token: eosToken,
      pad_token: padToken,
      unk_token: unkToken,
      add_bos_token: addBos,
      add_eos_token: addEos,
      clean_up_tokenization_spaces: false,
    };
    const files: Record<string, string> = {
      "tokenizer.json": `${JSON.stringify(this.json)}\n`,
      "tokenizer_config.json": `${JSON.stringify(config, null, 2)}\n`,
    };
    if (this.stopIds.length > 0) {
      const [stop, ...more] = this.stopIds;
      const generation = {
        bos_token_id: this.bosId ?? undefined,
        eos_token_id: more.length === 0 ? stop : this.stopIds,
        pad_token_id: this.padId ?? undefined,
      };
      files["generation_config.json"] = `${JSON.stringify(generation, null, 2)}\n`;
    }
    for (const [name, template] of Object.entries(chatTemplates)) {
      files[name === "default" ? "chat_template.jinja" : `additional_chat_templates/${name}.jinja`] = template;
    }
    return files;
  }

  #learn(id: number, piece: string): void {
    this.#pieces[id] = piece;
    this.#ids.set(piece, id);
  }

  #idOfSetting(token: string | undefined, name: string): number | null {
    if (token === undefined) return null;
    const id = this.#ids.get(token);
    if (id === undefined) {
      throw new HoneError("bad-tokenizer", `tokenizer: ${name} ${JSON.stringify(token)} is not in the vocabulary`);
    }
    return id;
  }

  #encodeParts(
    matches: Match[],
    parts: readonly string[],
    restore: (text: string) => string = (text) => text,
  ): number[][] {
    const text = parts.join("");
    const ends: number[] = [];
    for (const part of parts) ends.push((ends.at(-1) ?? 0) + part.length);
    const partAt = (position: number) => ends.findIndex((end) => position < end);
    const out: number[][] = parts.map(() => []);
    const append = (part: number, ids: number[]) => (out[part] = (out[part] ?? []).concat(ids));
    let position = 0;
    /** Encodes what stands between here and `end`, where there is no added token. */
    const encodeUpTo = (end: number) => {
      if (position >= end) return;
      const first = partAt(position);
      const section = position === 0 ? 0 : 1;
      const pieces: string[] = [];
      for (let part = first; position < end; part++) {
        const to = Math.min(end, ends[part] ?? end);
        pieces.push(restore(text.slice(position, to)));
        position = to;
      }
      this.#encodeSection(pieces, section).forEach((ids, i) => append(first + i, ids));
    };
    for (const { token, start, end, at } of matches) {
      const behind = at + token.content.length;
      if (ends.some((border) => border > at && border < behind)) {
        throw inexact(`the border of a message lies inside the token ${JSON.stringify(token.content)}`);
      }
      // White space that a token swallows stops at a border: what stands behind it is another part's.
      encodeUpTo(Math.max(start, ...ends.filter((border) => border <= at)));
      append(partAt(at), [token.id]);
      position = Math.min(end, ...ends.filter((border) => border >= behind));
    }
    encodeUpTo(text.length);
    return out;
  }

  /** Encodes a text without added tokens, given in pieces that no token may reach across. `section` is 0 at the very beginning of a text. */
  #encodeSection(pieces: string[], section: number): number[][] {
    const normalize = (text: string) => (text === "" ? "" : (this.#library.normalizer?.normalize(text) ?? text));
    const whole = normalize(pieces.join(""));
    let raw = "";
    let done = 0;
    return pieces.map((piece, i) => {
      raw += piece;
      const prefix = i === pieces.length - 1 ? whole : normalize(raw);
      if (!whole.startsWith(prefix) || prefix.length < done) {
        throw inexact(`the tokenizer joins characters across the border after ${JSON.stringify(raw.slice(-20))}`);
      }
      const text = whole.slice(done, prefix.length);
      done = prefix.length;
      return this.#merge(text, section, i > 0);
    });
  }

  /** Pre-tokenizes and merges normalized text. */
  #merge(text: string, section: number, continues: boolean): number[] {
    const { pre_tokenizer: preTokenizer, model } = this.#library;
    if (text === "") return [];
    let words = [text];
    try {
      if (preTokenizer) words = preTokenizer.pre_tokenize(text, { section_index: section });
    } catch (error) {
      // A pattern that repeats within a repetition keeps a way back for every character.
      if (!(error instanceof RangeError)) throw error;
      throw new HoneError("text-too-long", `a text of ${text.length} characters is too long for this tokenizer`, {
        cause: error,
        fix: "cut it into several rows, or leave it out",
      });
    }
    if (continues) {
      // A prefix space belongs to the beginning of a text only.
      const [word = "", ...rest] = words;
      const first = word.charAt(0);
      if ((first === "▁" || first === "Ġ") && !text.startsWith(" ") && !text.startsWith(first))
        words = [word.slice(1), ...rest];
    }
    const ids: number[] = [];
    for (const token of model._call(words.map((word) => this.#known(word)).filter((word) => word !== ""))) {
      const id = this.#ids.get(token);
      if (id !== undefined) ids.push(id);
    }
    return ids;
  }

  /** Without an unknown token, characters that the vocabulary lacks vanish before merging: their neighbours may merge. */
  #known(word: string): string {
    const { unk_token: unk, byte_fallback: fallback } = this.json.model;
    if (unk !== null || fallback) return word;
    return Array.from(word).every((char) => this.#ids.has(char))
      ? word
      : Array.from(word)
          .filter((char) => this.#ids.has(char))
          .join("");
  }

  #withBosEos(ids: number[]): number[] {
    const { addBos, addEos } = this.settings;
    const processed = this.#library.post_processor?.post_process(["x"], null, true).tokens ?? ["x"];
    const at = processed.indexOf("x");
    const idsOf = (tokens: string[]) => tokens.flatMap((token) => this.#ids.get(token) ?? []);
    const before = idsOf(processed.slice(0, at));
    const after = idsOf(processed.slice(at + 1));
    return [...edge(before, addBos, this.bosId), ...ids, ...edge(after, addEos, this.eosId)];
  }
}

/** What stands before or after a plain text: the post-processor's tokens, unless the settings say otherwise. */
function edge(processed: number[], wanted: boolean | undefined, id: number | null): number[] {
  if (wanted === undefined || id === null) return processed;
  const others = processed.filter((token) => token !== id);
  return wanted ? (processed.includes(id) ? processed : [...others, id]) : others;
}

/** Leaves no entry through which merging ordinary text could end in a control token. */
function withoutControl(json: TokenizerJson, controlIds: ReadonlySet<number>): TokenizerJson {
  const control = new Set(json.added_tokens.filter(({ id }) => controlIds.has(id)).map(({ content }) => content));
  const { vocab, merges } = json.model;
  return {
    ...json,
    model: {
      ...json.model,
      vocab: Object.fromEntries(Object.entries(vocab).filter(([token]) => !control.has(token))),
      merges: merges.filter(([left, right]) => !control.has(left + right)),
    },
  };
}

function inexact(why: string): HoneError {
  return new HoneError("inexact-mask", `The trained tokens cannot be told exactly: ${why}`);
}

/** Valid UTF-8 as text, other bytes as `\xE4`. */
function readableBytes(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length;) {
    const length = characterLength(bytes, i);
    if (length > 0) text += Buffer.from(bytes.subarray(i, i + length)).toString("utf8");
    else text += `\\x${(bytes[i] ?? 0).toString(16).toUpperCase().padStart(2, "0")}`;
    i += Math.max(1, length);
  }
  return text;
}

/** Length in bytes of the whole character at `start`; 0 if there is none. */
function characterLength(bytes: Uint8Array, start: number): number {
  const lead = bytes[start] ?? 0;
  const length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0;
  if (length === 0 || start + length > bytes.length) return 0;
  const text = Buffer.from(bytes.subarray(start, start + length)).toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes.subarray(start, start + length)) ? length : 0;
}

/** JSON with the vocabulary in order of ids, so that equal tokenizers give equal text. */
function canonicalJson(json: TokenizerJson): string {
  const byId = Object.entries(json.model.vocab).sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
  return JSON.stringify({ ...json, model: { ...json.model, vocab: byId } });
}
