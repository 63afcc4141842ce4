/** Values of a million rows in a few bytes each: strings and objects of their own would take a hundred. */

import { hash } from "node:crypto";

/** Texts by their number, as UTF-8 one behind the other. */
export class TextColumn {
  #bytes = Buffer.alloc(1024);
  /** Where each text ends. */
  #ends = new Float64Array(64);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(text: string): void {
    const begin = this.#begin(this.#length);
    const end = begin + Buffer.byteLength(text);
    if (end > this.#bytes.length) this.#bytes = grown(this.#bytes, Buffer.alloc(2 * end));
    if (this.#length === this.#ends.length) this.#ends = grown(this.#ends, new Float64Array(2 * this.#length));
    this.#bytes.write(text, begin);
    this.#ends[this.#length++] = end;
  }

  get(index: number): string {
    return this.#bytes.toString("utf8", this.#begin(index), this.#ends[index]);
  }

  /** Number of the first text that is this one; -1 when there is none. */
  indexOf(text: string): number {
    const wanted = Buffer.from(text);
    for (let i = 0; i < this.#length; i++) {
      const begin = this.#begin(i);
      if (this.#ends[i] - begin === wanted.length && wanted.equals(this.#bytes.subarray(begin, this.#ends[i])))
        return i;
    }
    return -1;
  }

  #begin(index: number): number {
    return index === 0 ? 0 : this.#ends[index - 1];
  }
}

/**
 * Different texts by number in the order of their coming, known by 48 bits of their hashes: of a million, two are taken
 * for one in one file of five hundred.
 */
export class TextNumbers {
  #size = 0;
  /** By place of the hash: the hash, and the text's number plus one. */
  #hashes = new Float64Array(256);
  #numbers = new Int32Array(256);

  get size(): number {
    return this.#size;
  }

  /** A new one when the text is new: the size before. */
  numberOf(text: string): number {
    if (2 * this.#size >= this.#hashes.length) this.#grow();
    const own = hash48(text);
    const place = this.#place(own);
    if (this.#numbers[place] === 0) {
      this.#hashes[place] = own;
      this.#numbers[place] = ++this.#size;
    }
    return this.#numbers[place] - 1;
  }

  #place(own: number): number {
    const { length } = this.#hashes;
    let place = own % length;
    while (this.#numbers[place] !== 0 && this.#hashes[place] !== own) place = (place + 1) % length;
    return place;
  }

  #grow(): void {
    const [hashes, numbers] = [this.#hashes, this.#numbers];
    this.#hashes = new Float64Array(2 * hashes.length);
    this.#numbers = new Int32Array(2 * numbers.length);
    for (let i = 0; i < hashes.length; i++) {
      if (numbers[i] === 0) continue;
      const place = this.#place(hashes[i]);
      this.#hashes[place] = hashes[i];
      this.#numbers[place] = numbers[i];
    }
  }
}

/** The first 48 bits of SHA-256. */
export function hash48(text: string): number {
  return parseInt(hash("sha256", text, "hex").slice(0, 12), 16);
}

function grown<T extends Uint8Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
