/**
 * Finds texts that are almost the same without comparing every pair. MinHash by one permutation (Li, Owen and Zhang,
 * 2012): each text's word triples are hashed once, and the smallest hash of each of 128 bins is its signature. Texts
 * that agree in all of some band of four bins are candidates; what share of their triples they have in common is
 * estimated from the signatures, with a standard error of at most 4 points.
 */

const bins = 128;
const empty = 0xffffffff;
const bandSize = 4;
/** Share of word triples, of all that either text has, from which texts count as near-duplicates. */
export const nearShare = 0.8;
/** Words of a text that are looked at. */
const mostWords = 5000;
/** Texts that one text is compared with. */
const mostComparisons = 16;

export class NearDuplicates {
  /** Band and its hash → the first text with it. */
  readonly #buckets = new Map<number, number>();
  readonly #signatures = new Map<number, Uint32Array>();

  /** Takes a text in; returns the earlier one that it is almost the same as. One of fewer than three words is like none. */
  add(item: number, text: string): number | undefined {
    const signature = sign(text);
    if (signature === undefined) return undefined;
    const bands = bandHashes(signature);
    const candidates = new Set(bands.map((band) => this.#buckets.get(band)).filter((found) => found !== undefined));
    for (const candidate of [...candidates].slice(0, mostComparisons)) {
      const other = this.#signatures.get(candidate);
      if (other !== undefined && sharedTriples(signature, other) >= nearShare) return candidate;
    }
    for (const band of bands) if (!this.#buckets.has(band)) this.#buckets.set(band, item);
    this.#signatures.set(item, signature);
    return undefined;
  }
}

function sign(text: string): Uint32Array | undefined {
  const signature = new Uint32Array(bins).fill(empty);
  // In scripts without spaces a character is a word.
  const words = text.toLowerCase().matchAll(/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}_]+/gu);
  let [first, second, count] = [0, 0, 0];
  for (const [word] of words) {
    const hash = hashWord(word);
    if (++count >= 3) {
      const triple = mix(mix(first, second), hash);
      const bin = triple % bins;
      if (triple < signature[bin]) signature[bin] = triple;
    }
    [first, second] = [second, hash];
    if (count === mostWords) break;
  }
  return count < 3 ? undefined : signature;
}

/** Of the bins that either fills, the share with the same hash. */
function sharedTriples(a: Uint32Array, b: Uint32Array): number {
  let [same, filled] = [0, 0];
  for (let bin = 0; bin < bins; bin++) {
    if (a[bin] === empty && b[bin] === empty) continue;
    filled++;
    if (a[bin] === b[bin]) same++;
  }
  return same / filled;
}

function bandHashes(signature: Uint32Array): number[] {
  // An empty bin takes the value of the next full one, marked by the distance (Shrivastava and Li, 2014).
  const full = signature.map((value, bin) => {
    let distance = 0;
    while (signature[(bin + distance) % bins] === empty) distance++;
    return distance === 0 ? value : mix(signature[(bin + distance) % bins], distance);
  });
  return Array.from({ length: bins / bandSize }, (_, band) => {
    let hash = band;
    for (let i = 0; i < bandSize; i++) hash = mix(hash, full[band * bandSize + i]);
    // 53 bits, so that different bands hardly ever meet by chance.
    return (mix(hash, 0x5bd1e995) & 0x1fffff) * 2 ** 32 + hash;
  });
}

function hashWord(word: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** As in murmur3: every bit of the result depends on every bit of both. */
function mix(a: number, b: number): number {
  let hash = Math.imul(a ^ Math.imul(b, 0xcc9e2d51), 0x1b873593);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
