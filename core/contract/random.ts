/**
 * Seeded randomness: the same seed gives the same draws on every machine and in every process.
 *
 * xoshiro128** 1.1 (Blackman and Vigna, public domain); its four 32-bit words are FNV-1a hashes of the seed's text. Not
 * for secrets.
 */

/** `7` and `"7"` are the same seed. */
export type Seed = number | string;

/** Everything that a saved run needs to draw on where it stopped. */
export interface RandomState {
  seed: string;
  words: [number, number, number, number];
}

export class Random {
  readonly seed: string;
  readonly #words: Uint32Array;

  constructor(seed: Seed) {
    this.seed = String(seed);
    this.#words = seedWords(this.seed);
  }

  static restore(state: RandomState): Random {
    const random = new Random(state.seed);
    random.#words.set(state.words);
    return random;
  }

  state(): RandomState {
    const [a, b, c, d] = this.#words;
    return { seed: this.seed, words: [a, b, c, d] };
  }

  /** A generator of its own for one purpose. It depends on this one's seed and the labels only, not on what was drawn before. */
  split(...labels: Seed[]): Random {
    return new Random([this.seed, ...labels].join("/"));
  }

  /** Uniform in 0 … 2^32 − 1. */
  uint32(): number {
    const s = this.#words;
    const [a, b, c, d] = s;
    const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
    s[0] = a ^ d ^ b;
    s[1] = b ^ c ^ a;
    s[2] = c ^ a ^ (b << 9);
    s[3] = rotateLeft(d ^ b, 11);
    return result;
  }

  /** Uniform in [0, 1), 53 bits. */
  next(): number {
    return ((this.uint32() >>> 5) * 2 ** 26 + (this.uint32() >>> 6)) / 2 ** 53;
  }

  /** Uniform in 0 … n − 1, without bias; n is a whole number in 1 … 2^32. */
  integer(n: number): number {
    if (!Number.isInteger(n) || n < 1 || n > 2 ** 32) throw new RangeError(`cannot draw below ${n}`);
    const unbiased = 2 ** 32 - (2 ** 32 % n);
    let draw = this.uint32();
    while (draw >= unbiased) draw = this.uint32();
    return draw % n;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.integer(items.length)];
  }

  /** A new array in random order (Fisher-Yates). */
  shuffle<T>(items: readonly T[]): T[] {
    const shuffled = [...items];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.integer(i + 1);
      [shuffled[i], shuffled[j]] = [shuffled[j], shuffled[i]];
    }
    return shuffled;
  }
}

/** A seed for the engine, 0 … 2^31 − 1, from anything that names the draw: (run seed, step, prompt, …). */
export function deriveSeed(...parts: Seed[]): number {
  return new Random(parts.join("/")).uint32() >>> 1;
}

function seedWords(seed: string): Uint32Array {
  return Uint32Array.of(0, 1, 2, 3).map((_, i) => {
    let hash = 0x811c9dc5;
    for (const byte of new TextEncoder().encode(`${i}:${seed}`)) hash = Math.imul(hash ^ byte, 0x01000193);
    // Mixed as in splitmix32, so that seeds which differ in one character give unrelated words.
    hash = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad);
    hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97);
    return hash ^ (hash >>> 15);
  });
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
