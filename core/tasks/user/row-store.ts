/** Many texts with little memory: in memory while they are few, in an unnamed temporary file beyond that. */

import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Bytes that stay in memory. */
const memoryBytes = 8 * 2 ** 20;
/** Bytes that are gathered before they are written. */
const writeBytes = 2 ** 20;

export class RowStore {
  readonly #memoryBytes: number;
  /** What is not in the file: everything, or the newest. */
  #recent = Buffer.alloc(1024);
  #recentBytes = 0;
  #bytesInFile = 0;
  /** Where each text ends, over file and memory. */
  #ends = new Float64Array(64);
  #length = 0;
  #file: { handle: number; path: string } | undefined;

  constructor(limit: { memoryBytes?: number } = {}) {
    this.#memoryBytes = limit.memoryBytes ?? memoryBytes;
  }

  get length(): number {
    return this.#length;
  }

  append(text: string): void {
    const bytes = Buffer.byteLength(text);
    const most = this.#file === undefined ? this.#memoryBytes : Math.min(writeBytes, this.#memoryBytes);
    if (this.#recentBytes > 0 && this.#recentBytes + bytes > most) this.#write();
    const needed = this.#recentBytes + bytes;
    if (needed > this.#recent.length) {
      const larger = Buffer.alloc(2 * needed);
      this.#recent.copy(larger, 0, 0, this.#recentBytes);
      this.#recent = larger;
    }
    this.#recent.write(text, this.#recentBytes);
    this.#recentBytes = needed;
    if (this.#length === this.#ends.length) {
      const larger = new Float64Array(2 * this.#length);
      larger.set(this.#ends);
      this.#ends = larger;
    }
    this.#ends[this.#length++] = this.#bytesInFile + this.#recentBytes;
  }

  /** Text `index`, from 0. */
  get(index: number): string {
    const begin = index === 0 ? 0 : this.#ends[index - 1];
    const end = this.#ends[index];
    if (begin >= this.#bytesInFile) {
      return this.#recent.toString("utf8", begin - this.#bytesInFile, end - this.#bytesInFile);
    }
    if (this.#file === undefined) throw new Error("the rows are closed");
    const bytes = Buffer.alloc(end - begin);
    readSync(this.#file.handle, bytes, 0, bytes.length, begin);
    return bytes.toString("utf8");
  }

  close(): void {
    if (this.#file === undefined) return;
    closeSync(this.#file.handle);
    rmSync(dirname(this.#file.path), { recursive: true, force: true });
    this.#file = undefined;
  }

  #write(): void {
    this.#file ??= temporaryFile();
    writeSync(this.#file.handle, this.#recent, 0, this.#recentBytes, this.#bytesInFile);
    this.#bytesInFile += this.#recentBytes;
    this.#recent = Buffer.alloc(Math.min(writeBytes, this.#memoryBytes));
    this.#recentBytes = 0;
  }
}

function temporaryFile(): { handle: number; path: string } {
  const path = join(mkdtempSync(join(tmpdir(), "hone-rows-")), "rows");
  const handle = openSync(path, "wx+", 0o600);
  // An open file without a name goes when the process does, however that ends. Windows keeps it until it is closed.
  if (process.platform !== "win32") rmSync(dirname(path), { recursive: true, force: true });
  return { handle, path };
}
