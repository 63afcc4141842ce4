/** The parts of a Hugging Face `tokenizer.json` that Hone reads, and the checks a file must pass. */

import { HoneError } from "../contract/errors.ts";
import { isRecord } from "../contract/is-record.ts";

/** A normalizer, pre-tokenizer, post-processor or decoder. */
export interface Component {
  type: string;
  [key: string]: unknown;
}

export interface AddedToken {
  id: number;
  content: string;
  special: boolean;
  /** Swallow white space before or after the token. */
  lstrip: boolean;
  rstrip: boolean;
  single_word: boolean;
  normalized: boolean;
}

export interface BpeModel {
  type: "BPE";
  vocab: Record<string, number>;
  merges: [string, string][];
  unk_token: string | null;
  fuse_unk: boolean;
  byte_fallback: boolean;
  ignore_merges: boolean;
  end_of_word_suffix: string | null;
  continuing_subword_prefix: string | null;
  dropout: number | null;
}

export interface TokenizerJson {
  version: string;
  truncation: null;
  padding: null;
  added_tokens: AddedToken[];
  normalizer: Component | null;
  pre_tokenizer: Component | null;
  post_processor: Component | null;
  decoder: Component | null;
  model: BpeModel;
}

/** A BPE model with everything optional left out. */
export function bpeModel(
  vocab: Record<string, number>,
  merges: [string, string][],
  options: Partial<BpeModel> = {},
): BpeModel {
  return {
    type: "BPE",
    dropout: null,
    unk_token: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    fuse_unk: false,
    byte_fallback: false,
    ignore_merges: false,
    ...options,
    vocab,
    merges,
  };
}

export function addedToken(id: number, content: string, special: boolean): AddedToken {
  return { id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special };
}

/** Checks a parsed `tokenizer.json`. `where` names the file in errors. Throws `HoneError` `bad-tokenizer` or `unsupported-tokenizer`. */
export function readTokenizerJson(value: unknown, where: string): TokenizerJson {
  const bad = (what: string) =>
    new HoneError("bad-tokenizer", `${where}: ${what}`, {
      fix: "Take the file again from where the model came from; it must be a Hugging Face tokenizer.json.",
    });
  if (!isRecord(value)) throw bad("not a JSON object");
  const { model } = value;
  if (!isRecord(model)) throw bad('no "model"');
  // Files of old versions leave the type out; only BPE has both a vocabulary object and merges.
  const type = model.type ?? (isRecord(model.vocab) && Array.isArray(model.merges) ? "BPE" : "unknown");
  if (type !== "BPE") {
    throw new HoneError("unsupported-tokenizer", `${where}: tokenizer model ${JSON.stringify(type)} is not supported`, {
      fix: "Hone reads BPE tokenizers, which Llama, Qwen and Gemma models use.",
    });
  }
  const { vocab, merges } = model;
  if (!isRecord(vocab)) throw bad('no "model.vocab"');
  const ids: Record<string, number> = Object.create(null) as Record<string, number>;
  for (const [token, id] of Object.entries(vocab)) {
    if (!isId(id)) throw bad(`token ${JSON.stringify(token)} has the id ${JSON.stringify(id)}`);
    ids[token] = id;
  }
  if (!Array.isArray(merges)) throw bad('no "model.merges"');
  for (const key of ["continuing_subword_prefix", "dropout"]) {
    if (model[key] != null && model[key] !== "" && model[key] !== 0) {
      throw new HoneError("unsupported-tokenizer", `${where}: a BPE model with ${key} is not supported`);
    }
  }
  const added = value.added_tokens ?? [];
  if (!Array.isArray(added)) throw bad('"added_tokens" is no list');
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: added.map((token: unknown, i) => readAddedToken(token, () => bad(`added token ${i} is malformed`))),
    normalizer: readComponent(value.normalizer, () => bad("malformed normalizer")),
    pre_tokenizer: readComponent(value.pre_tokenizer, () => bad("malformed pre_tokenizer")),
    post_processor: readComponent(value.post_processor, () => bad("malformed post_processor")),
    decoder: readComponent(value.decoder, () => bad("malformed decoder")),
    model: bpeModel(
      ids,
      merges.map((merge: unknown, i) => readMerge(merge, () => bad(`merge ${i} is malformed`))),
      {
        unk_token: typeof model.unk_token === "string" ? model.unk_token : null,
        end_of_word_suffix: typeof model.end_of_word_suffix === "string" ? model.end_of_word_suffix : null,
        fuse_unk: model.fuse_unk === true,
        byte_fallback: model.byte_fallback === true,
        ignore_merges: model.ignore_merges === true,
      },
    ),
  };
}

/** Reads an entry of `added_tokens`, or of `added_tokens_decoder` when `id` is given. */
export function readAddedToken(value: unknown, error: () => Error, id?: number): AddedToken {
  if (!isRecord(value) || typeof value.content !== "string" || value.content === "") throw error();
  const tokenId = id ?? value.id;
  if (!isId(tokenId)) throw error();
  const special = value.special === true;
  return {
    ...addedToken(tokenId, value.content, special),
    lstrip: value.lstrip === true,
    rstrip: value.rstrip === true,
    single_word: value.single_word === true,
    normalized: typeof value.normalized === "boolean" ? value.normalized : !special,
  };
}

/** Ids index arrays; a wild one in a damaged file must not make them huge. */
function isId(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 24;
}

function readComponent(value: unknown, error: () => Error): Component | null {
  if (value == null) return null;
  if (!isRecord(value) || typeof value.type !== "string") throw error();
  return { ...value, type: value.type };
}

/** `"a b"` (old) or `["a", "b"]`. */
function readMerge(value: unknown, error: () => Error): [string, string] {
  const parts: unknown[] = typeof value === "string" ? value.split(" ") : Array.isArray(value) ? value : [];
  const [left, right] = parts;
  if (parts.length !== 2 || typeof left !== "string" || typeof right !== "string") throw error();
  return [left, right];
}
