/**
 * The head of a GGUF file: metadata and the list of tensors, which stand before the weights.
 * https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */

import { ggufArchitectures } from "../contract/architectures.ts";
import { HoneError } from "../contract/errors.ts";
import type { ReadAt } from "./remote-header.ts";

const firstRead = 1024 ** 2;
/** The largest vocabularies with their merges take a tenth of it. */
const maxHeader = 128 * 1024 ** 2;
const maxEntries = 1e6;

/** ggml's types by their numbers (`GGMLQuantizationType` in `gguf-py/gguf/constants.py`). */
const typeNames: Record<number, string> = {
  ...{ 0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1", 10: "Q2_K" },
  ...{ 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS" },
  ...{ 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32" },
  ...{ 27: "I64", 28: "F64", 29: "IQ1_M", 30: "BF16", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4", 40: "NVFP4" },
};

/** What the engine computes with: `Dtype` in `native/engine/src/formats/tensor.rs`. */
const readable = new Set("F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K".split(" "));

export interface GgufHeader {
  /** Numbers, texts and truth values; of arrays only their length. */
  metadata: Map<string, number | string | boolean>;
  parameters: number;
  /** Of all tensors, with the padding between them. */
  bytes: number;
  tensors: number;
  /** Parameters of each type. */
  dtypes: Record<string, number>;
  /** The `config.json` that says of this model what memory and support depend on. */
  config: Record<string, unknown>;
  /** Types of tensors that the engine does not compute with. */
  unreadable: string[];
}

/** Reads as much as the header takes and no more than twice that. Throws `bad-header`. */
export async function readGgufHeader(read: ReadAt, path: string, size: number): Promise<GgufHeader> {
  let bytes = await read(path, 0, Math.min(size, firstRead));
  for (;;) {
    const header = parse(bytes, path, size);
    if (header !== undefined) return header;
    if (bytes.length >= size || bytes.length >= maxHeader) throw bad(path, "its header does not end");
    const more = Math.min(size, maxHeader, 2 * bytes.length);
    const next = await read(path, bytes.length, more);
    if (next.length === 0) throw bad(path, "it is shorter than the hub says");
    bytes = Buffer.concat([bytes, next]);
  }
}

function bad(path: string, why: string): HoneError {
  return new HoneError("bad-header", `${path} is no whole GGUF file: ${why}`, {
    fix: "choose another file, revision or repository",
  });
}

class EndOfBytes extends Error {}

/** Undefined while there are too few bytes. */
function parse(bytes: Buffer, path: string, size: number): GgufHeader | undefined {
  try {
    return new Reader(bytes, path).header(size);
  } catch (error) {
    if (error instanceof EndOfBytes) return undefined;
    throw error;
  }
}

class Reader {
  readonly #bytes: Buffer;
  readonly #path: string;
  #at = 0;

  constructor(bytes: Buffer, path: string) {
    this.#bytes = bytes;
    this.#path = path;
  }

  header(size: number): GgufHeader {
    if (this.#take(4).toString("latin1") !== "GGUF") throw bad(this.#path, 'it does not begin with "GGUF"');
    const version = this.#take(4).readUInt32LE();
    if (version !== 2 && version !== 3) throw bad(this.#path, `its version is ${version}`);
    const tensors = this.#long(maxEntries);
    const pairs = this.#long(maxEntries);
    const metadata: GgufHeader["metadata"] = new Map();
    for (let i = 0; i < pairs; i++) {
      const key = this.#text();
      metadata.set(key, this.#value(this.#take(4).readUInt32LE()));
    }
    const shapes = new Map<string, number[]>();
    const dtypes: Record<string, number> = {};
    let parameters = 0;
    for (let i = 0; i < tensors; i++) {
      const name = this.#text();
      const rank = this.#take(4).readUInt32LE();
      if (rank > 4) throw bad(this.#path, "a tensor has too many dimensions");
      const shape = Array.from({ length: rank }, () => this.#long(Number.MAX_SAFE_INTEGER));
      const id = this.#take(4).readUInt32LE();
      this.#take(8);
      const elements = shape.reduce((product, side) => product * side, 1);
      const type = typeNames[id] ?? `type ${id}`;
      dtypes[type] = (dtypes[type] ?? 0) + elements;
      parameters += elements;
      shapes.set(name, shape);
    }
    const alignment = Number(metadata.get("general.alignment") ?? 32);
    const bytes = size - Math.ceil(this.#at / alignment) * alignment;
    // No type takes less than a bit: what claims more weights than that is made up.
    if (!(bytes >= 0) || parameters > 8 * bytes) throw bad(this.#path, "its tensors do not fit into it");
    const unreadable = Object.keys(dtypes).filter((type) => !readable.has(type));
    return { metadata, parameters, bytes, tensors, dtypes, unreadable, config: configOf(metadata, shapes) };
  }

  #take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw new EndOfBytes();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  #long(most: number): number {
    const value = this.#take(8).readBigUInt64LE();
    if (value > BigInt(most)) throw bad(this.#path, `a length of ${value} is impossible`);
    return Number(value);
  }

  #text(): string {
    return this.#take(this.#long(maxHeader)).toString("utf8");
  }

  /** Sizes of types 0 to 12; 8 is a text, 9 an array. */
  #value(type: number): number | string | boolean {
    switch (type) {
      case 0:
        return this.#take(1).readUInt8();
      case 1:
        return this.#take(1).readInt8();
      case 2:
        return this.#take(2).readUInt16LE();
      case 3:
        return this.#take(2).readInt16LE();
      case 4:
        return this.#take(4).readUInt32LE();
      case 5:
        return this.#take(4).readInt32LE();
      case 6:
        return this.#take(4).readFloatLE();
      case 7:
        return this.#take(1).readUInt8() !== 0;
      case 8:
        return this.#text();
      case 9:
        return this.#skipArray();
      case 10:
        return Number(this.#take(8).readBigUInt64LE());
      case 11:
        return Number(this.#take(8).readBigInt64LE());
      case 12:
        return this.#take(8).readDoubleLE();
      default:
        throw bad(this.#path, `its metadata holds a value of unknown type ${type}`);
    }
  }

  /** Only the length is kept. */
  #skipArray(): number {
    const type = this.#take(4).readUInt32LE();
    const length = this.#long(maxHeader);
    const sizes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
    const size = sizes[type];
    if (size !== undefined && size > 0) this.#take(size * length);
    else if (type === 8) for (let i = 0; i < length; i++) this.#text();
    else throw bad(this.#path, "its metadata holds an array of arrays or of an unknown type");
    return length;
  }
}

/**
 * What of `config.json` memory and support depend on, from the same keys as `native/engine/src/formats/gguf_config.rs`.
 * Missing sizes are left out: the engine's reader then says which.
 */
function configOf(metadata: GgufHeader["metadata"], shapes: Map<string, number[]>): Record<string, unknown> {
  const architecture = String(metadata.get("general.architecture") ?? "");
  const of = (suffix: string) => metadata.get(`${architecture}.${suffix}`);
  const embedding = shapes.get("token_embd.weight") ?? [];
  const hidden = of("embedding_length");
  const heads = of("attention.head_count");
  const rotated = architecture === "llama" ? of("rope.dimension_count") : undefined;
  const experts = Number(of("expert_count") ?? 0);
  const plainHead = typeof hidden === "number" && typeof heads === "number" ? Math.floor(hidden / heads) : undefined;
  return {
    model_type: experts > 0 ? `${architecture} with experts` : (ggufArchitectures[architecture] ?? architecture),
    vocab_size: embedding[1],
    hidden_size: hidden,
    intermediate_size: of("feed_forward_length"),
    num_hidden_layers: of("block_count"),
    num_attention_heads: heads,
    num_key_value_heads: of("attention.head_count_kv") ?? heads,
    head_dim: of("attention.key_length") ?? rotated ?? plainHead,
    max_position_embeddings: of("context_length"),
    tie_word_embeddings: !shapes.has("output.weight"),
    attention_bias: architecture === "llama" && shapes.has("blk.0.attn_q.bias"),
    ...(architecture === "gemma3" && {
      sliding_window: of("attention.sliding_window"),
      final_logit_softcapping: of("final_logit_softcapping") || undefined,
    }),
  };
}
