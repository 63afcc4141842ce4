/** From the tokenizer keys of a GGUF file to an equivalent `tokenizer.json`. */

import { HoneError } from "../contract/errors.ts";
import { addedToken, bpeModel, type AddedToken, type Component, type TokenizerJson } from "./tokenizer-json.ts";
import { Tokenizer, type TokenizerSettings } from "./tokenizer.ts";

/** Key-values of a GGUF file. Arrays are arrays or typed arrays; integers are numbers or bigints. */
export type GgufMetadata = Readonly<Record<string, unknown>>;

/** `llama_token_type` of llama.cpp, as stored in `tokenizer.ggml.token_type`. */
const tokenType = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const words = "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+";
const rest = " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const byteLevel: Component = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };

interface PreTokenizer {
  pre_tokenizer: Component;
  normalizer?: Component;
  ignore_merges?: boolean;
  addBos?: boolean;
}

/** By `tokenizer.ggml.pre`, as the models' own tokenizer.json files have them. */
const preTokenizers: Readonly<Record<string, PreTokenizer>> = {
  "gpt-2": { pre_tokenizer: byteLevel },
  default: { pre_tokenizer: byteLevel },
  smollm: { pre_tokenizer: sequence({ type: "Digits", individual_digits: true }, byteLevel) },
  qwen2: {
    pre_tokenizer: splitThenBytes(`${contractions}|${words}|\\p{N}|${rest}`),
    normalizer: { type: "NFC" },
  },
  "llama-bpe": {
    pre_tokenizer: splitThenBytes(`${contractions}|${words}|\\p{N}{1,3}|${rest}`),
    ignore_merges: true,
    addBos: true,
  },
};

/** Throws `HoneError` `bad-tokenizer` for broken keys, `unsupported-tokenizer` for another kind of vocabulary. */
export function ggufTokenizer(metadata: GgufMetadata, where: string): Tokenizer {
  const read = reader(metadata, where);
  const model = read.string("tokenizer.ggml.model");
  if (model === undefined) {
    throw new HoneError(
      "bad-tokenizer",
      `${where}: the file holds no tokenizer (key tokenizer.ggml.model is missing)`,
      {
        fix: "Use the Hugging Face folder of the model, or a GGUF file that was written with its vocabulary.",
      },
    );
  }
  const tokens = read.strings("tokenizer.ggml.tokens") ?? [];
  if (tokens.length === 0) throw read.bad("tokenizer.ggml.tokens", "is missing or empty");
  const types = read.numbers("tokenizer.ggml.token_type", tokens.length) ?? tokens.map(() => tokenType.normal);
  const vocabulary: Vocabulary = { tokens, types, ids: new Map(tokens.map((token, id) => [token, id])) };
  const kind =
    model === "gpt2"
      ? byteLevelJson(vocabulary, read)
      : model === "llama"
        ? sentencePieceJson(vocabulary, read)
        : undefined;
  if (kind === undefined) {
    throw new HoneError("unsupported-tokenizer", `${where}: GGUF tokenizer model "${model}" is not supported`, {
      fix: 'Hone reads "gpt2" (byte-level BPE) and "llama" (SentencePiece BPE) vocabularies.',
    });
  }
  const token = (key: string) => {
    const id = read.integer(`tokenizer.ggml.${key}`);
    return id === undefined ? undefined : tokens[id];
  };
  const stop = ["eot_token_id", "eom_token_id"].flatMap((key) => read.integer(`tokenizer.ggml.${key}`) ?? []);
  const settings: TokenizerSettings = {
    bosToken: token("bos_token_id"),
    eosToken: token("eos_token_id"),
    padToken: token("padding_token_id"),
    unkToken: token("unknown_token_id"),
    stopIds: stop.filter((id) => id < tokens.length),
    addBos: read.boolean("tokenizer.ggml.add_bos_token") ?? kind.addBos,
    addEos: read.boolean("tokenizer.ggml.add_eos_token") ?? false,
    chatTemplates: chatTemplates(metadata),
  };
  return new Tokenizer({ ...kind.json, post_processor: bosEosProcessor(settings, vocabulary.ids) }, settings);
}

/** What other software needs to add BOS and EOS as the file asks for. */
function bosEosProcessor(
  { bosToken, eosToken, addBos, addEos }: TokenizerSettings,
  ids: Map<string, number>,
): Component | null {
  const before = addBos === true && bosToken !== undefined ? [bosToken] : [];
  const after = addEos === true && eosToken !== undefined ? [eosToken] : [];
  if (before.length + after.length === 0) return null;
  const special = (type: number) => (id: string) => ({ SpecialToken: { id, type_id: type } });
  const sequence = (id: "A" | "B", type: number) => [
    ...before.map(special(type)),
    { Sequence: { id, type_id: type } },
    ...after.map(special(type)),
  ];
  return {
    type: "TemplateProcessing",
    single: sequence("A", 0),
    pair: [...sequence("A", 0), ...sequence("B", 1)],
    special_tokens: Object.fromEntries(
      [...before, ...after].map((token) => [token, { id: token, ids: [ids.get(token)], tokens: [token] }]),
    ),
  };
}

interface Vocabulary {
  tokens: string[];
  types: ArrayLike<number>;
  ids: Map<string, number>;
}

function byteLevelJson({ tokens, types, ids }: Vocabulary, read: Reader): { json: TokenizerJson; addBos: boolean } {
  const merges = read.strings("tokenizer.ggml.merges");
  if (merges === undefined) throw read.bad("tokenizer.ggml.merges", "is missing");
  const pre = read.string("tokenizer.ggml.pre") ?? "default";
  const rule = Object.hasOwn(preTokenizers, pre) ? preTokenizers[pre] : undefined;
  if (rule === undefined) {
    throw new HoneError("unsupported-tokenizer", `${read.where}: GGUF pre-tokenizer "${pre}" is not supported`, {
      fix: `Hone reads ${Object.keys(preTokenizers).join(", ")}. Use the Hugging Face folder of the model.`,
    });
  }
  const json: TokenizerJson = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: addedTokens(tokens, types),
    normalizer: rule.normalizer ?? null,
    pre_tokenizer: rule.pre_tokenizer,
    post_processor: null,
    decoder: byteLevel,
    model: bpeModel(
      Object.fromEntries(ids),
      merges.map((merge, i) => {
        // A piece is never empty, so the first space inside is the border.
        const space = merge.indexOf(" ", 1);
        if (space < 0 || space === merge.length - 1) throw read.bad("tokenizer.ggml.merges", `entry ${i} is no pair`);
        return [merge.slice(0, space), merge.slice(space + 1)];
      }),
      { ignore_merges: rule.ignore_merges ?? false },
    ),
  };
  return { json, addBos: rule.addBos ?? false };
}

/**
 * SentencePiece BPE joins the neighbours whose union has the best score. The same as a list of merges: every way to
 * split an entry into two entries, best score first.
 */
function sentencePieceJson({ tokens, types, ids }: Vocabulary, read: Reader): { json: TokenizerJson; addBos: boolean } {
  const scores = read.numbers("tokenizer.ggml.scores", tokens.length);
  if (scores === undefined) throw read.bad("tokenizer.ggml.scores", "is missing");
  const addPrefix = read.boolean("tokenizer.ggml.add_space_prefix") ?? true;
  const mergeable = (id: number | undefined) =>
    id !== undefined &&
    (types[id] === tokenType.normal || types[id] === tokenType.userDefined || types[id] === tokenType.unused);
  const merges: { pair: [string, string]; score: number }[] = [];
  tokens.forEach((token, id) => {
    if (types[id] !== tokenType.normal) return;
    for (let i = 1; i < token.length; i++) {
      const left = ids.get(token.slice(0, i));
      const right = ids.get(token.slice(i));
      if (!mergeable(left) || !mergeable(right)) continue;
      merges.push({ pair: [token.slice(0, i), token.slice(i)], score: scores[id] ?? 0 });
    }
  });
  merges.sort((a, b) => b.score - a.score || b.pair[0].length - a.pair[0].length);
  const unknown = Array.from(types).indexOf(tokenType.unknown);
  const toSpaces = { type: "Replace", pattern: { String: "▁" }, content: " " };
  const fromSpaces = { type: "Replace", pattern: { String: " " }, content: "▁" };
  const json: TokenizerJson = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: addedTokens(tokens, types),
    normalizer: addPrefix
      ? { type: "Sequence", normalizers: [{ type: "Prepend", prepend: "▁" }, fromSpaces] }
      : fromSpaces,
    pre_tokenizer: null,
    post_processor: null,
    decoder: {
      type: "Sequence",
      decoders: [
        toSpaces,
        { type: "ByteFallback" },
        { type: "Fuse" },
        ...(addPrefix ? [{ type: "Strip", content: " ", start: 1, stop: 0 }] : []),
      ],
    },
    model: bpeModel(
      Object.fromEntries(ids),
      merges.map(({ pair }) => pair),
      {
        byte_fallback: Array.from(types).includes(tokenType.byte),
        fuse_unk: true,
        unk_token: unknown < 0 ? null : (tokens[unknown] ?? null),
      },
    ),
  };
  return { json, addBos: true };
}

/** Control tokens are special; user-defined ones are matched as they stand, but are ordinary text. */
function addedTokens(tokens: string[], types: ArrayLike<number>): AddedToken[] {
  const added: AddedToken[] = [];
  tokens.forEach((token, id) => {
    const type = types[id];
    if (token === "") return;
    if (type === tokenType.control || type === tokenType.unknown) added.push(addedToken(id, token, true));
    if (type === tokenType.userDefined) added.push(addedToken(id, token, false));
  });
  return added;
}

/** `tokenizer.chat_template` and `tokenizer.chat_template.<name>`. */
function chatTemplates(metadata: GgufMetadata): Record<string, string> {
  const prefix = "tokenizer.chat_template";
  const templates: Record<string, string> = {};
  for (const [key, value] of Object.entries(metadata)) {
    if (typeof value !== "string" || value === "") continue;
    if (key === prefix) templates.default = value;
    else if (key.startsWith(`${prefix}.`)) templates[key.slice(prefix.length + 1)] = value;
  }
  return templates;
}

function sequence(...pretokenizers: Component[]): Component {
  return { type: "Sequence", pretokenizers };
}

function splitThenBytes(pattern: string): Component {
  return sequence(
    { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false },
    { ...byteLevel, use_regex: false },
  );
}

interface Reader {
  where: string;
  bad(key: string, what: string): HoneError;
  string(key: string): string | undefined;
  boolean(key: string): boolean | undefined;
  integer(key: string): number | undefined;
  strings(key: string): string[] | undefined;
  numbers(key: string, length: number): ArrayLike<number> | undefined;
}

function reader(metadata: GgufMetadata, where: string): Reader {
  const bad = (key: string, what: string) => new HoneError("bad-tokenizer", `${where}: key ${key} ${what}`);
  const get = <T>(key: string, kind: string, check: (value: unknown) => value is T): T | undefined => {
    const value = metadata[key];
    if (value === undefined || value === null) return undefined;
    if (!check(value)) throw bad(key, `is not ${kind}`);
    return value;
  };
  const isArray = (value: unknown): value is ArrayLike<unknown> =>
    Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
  return {
    where,
    bad,
    string: (key) => get(key, "a string", (value) => typeof value === "string"),
    boolean: (key) => get(key, "a boolean", (value) => typeof value === "boolean"),
    integer(key) {
      const value = get(key, "an integer", (value) => typeof value === "number" || typeof value === "bigint");
      return value === undefined ? undefined : Number(value);
    },
    strings(key) {
      const list = get(key, "a list of strings", isArray);
      if (list === undefined) return undefined;
      return Array.from(list, (value, i) => {
        if (typeof value !== "string") throw bad(key, `entry ${i} is not a string`);
        return value;
      });
    },
    numbers(key, length) {
      const list = get(key, "a list of numbers", isArray);
      if (list === undefined) return undefined;
      if (list.length !== length) throw bad(key, `has ${list.length} entries for ${length} tokens`);
      return Array.from(list, Number);
    },
  };
}
