/** Bytes of a file, or of what was pasted, at any place; and where its records begin and end. */

import { createHash } from "node:crypto";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { HoneError } from "../contract/errors.ts";
import { sha256File } from "../files/manifest.ts";

const windowSize = 1 << 20;

/** White space of JSON. */
export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** A file is opened for each pass over it and each single look, so nothing has to be closed. */
export class Bytes {
  /** Path, or `-` for what was pasted. */
  readonly name: string;
  readonly size: number;
  readonly #memory: Buffer | undefined;
  readonly #modified: number;

  constructor(name: string, memory?: Buffer) {
    this.name = name;
    this.#memory = memory;
    const stat = memory === undefined ? statSync(name) : undefined;
    this.size = memory?.length ?? stat?.size ?? 0;
    this.#modified = stat?.mtimeMs ?? 0;
  }

  /** The bytes from `start` to before `end`. */
  read(start: number, end: number): Buffer {
    using cursor = new Cursor(this, 0);
    return Buffer.from(cursor.slice(start, end));
  }

  sha256(): Promise<string> {
    if (this.#memory === undefined) return sha256File(this.name);
    return Promise.resolve(createHash("sha256").update(this.#memory).digest("hex"));
  }

  /** The whole in memory, where it is there already. */
  get memory(): Buffer | undefined {
    return this.#memory;
  }

  /** Offsets hold only for the file that they were taken from. */
  requireUnchanged(): void {
    if (this.#memory !== undefined) return;
    const { size, mtimeMs } = statSync(this.name);
    if (size === this.size && mtimeMs === this.#modified) return;
    throw new HoneError("data-changed", `${this.name} was changed while Hone was reading it`, {
      fix: "run the command again when nothing writes to the file",
    });
  }
}

/** One pass over bytes: a window that moves along. */
export class Cursor {
  readonly #bytes: Bytes;
  readonly #file: number | undefined;
  /** Least bytes of a read from the file. */
  readonly #least: number;
  #window: Buffer;
  #from = 0;

  /** `least`: bytes that are read at a time, at least; 0 for a single look. */
  constructor(bytes: Bytes, least = windowSize) {
    this.#bytes = bytes;
    this.#least = least;
    bytes.requireUnchanged();
    this.#file = bytes.memory === undefined ? openSync(bytes.name, "r") : undefined;
    this.#window = bytes.memory ?? Buffer.alloc(0);
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }

  /** The byte at `at`; −1 behind the end. */
  byte(at: number): number {
    const i = at - this.#from;
    if (i >= 0 && i < this.#window.length) return this.#window[i];
    if (at >= this.#bytes.size) return -1;
    this.#load(at, 1);
    return this.#window[at - this.#from];
  }

  /** Place of the next `byte` at or behind `at`; −1 when there is none. */
  find(byte: number, at: number): number {
    for (let from = at; from < this.#bytes.size; from = this.#from + this.#window.length) {
      this.byte(from);
      const found = this.#window.indexOf(byte, from - this.#from);
      if (found >= 0) return this.#from + found;
    }
    return -1;
  }

  /** Valid until the cursor moves on. */
  slice(start: number, end: number): Buffer {
    if (start < this.#from || end > this.#from + this.#window.length) this.#load(start, end - start);
    return this.#window.subarray(start - this.#from, end - this.#from);
  }

  #load(start: number, least: number): void {
    if (this.#file === undefined) return;
    const length = Math.min(Math.max(least, this.#least), this.#bytes.size - start);
    const window = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const got = readSync(this.#file, window, filled, length - filled, start + filled);
      if (got === 0) break;
      filled += got;
    }
    this.#window = window.subarray(0, filled);
    this.#from = start;
    if (filled < length) this.#bytes.requireUnchanged();
  }
}

/** Where each record begins (byte and physical line) and ends: 20 bytes of memory per record. */
export class RecordIndex {
  size = 0;
  #starts = new Float64Array(1024);
  #ends = new Float64Array(1024);
  #lines = new Uint32Array(1024);

  push(start: number, end: number, line: number): void {
    if (this.size === this.#starts.length) {
      this.#starts = grown(this.#starts, new Float64Array(2 * this.size));
      this.#ends = grown(this.#ends, new Float64Array(2 * this.size));
      this.#lines = grown(this.#lines, new Uint32Array(2 * this.size));
    }
    this.#starts[this.size] = start;
    this.#ends[this.size] = end;
    this.#lines[this.size] = line;
    this.size++;
  }

  /** Takes the last record back. */
  pop(): void {
    this.size--;
  }

  /** Of record `i`, from 0. */
  at(i: number): { start: number; end: number; line: number } {
    return { start: this.#starts[i], end: this.#ends[i], line: this.#lines[i] };
  }
}

function grown<T extends Float64Array | Uint32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
