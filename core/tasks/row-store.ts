/** Many rows with little memory: as JSON, in memory while they are few, in an unnamed temporary file beyond that. */

import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Bytes of JSON that stay in memory. */
const memoryBytes = 64 * 2 ** 20;
/** Bytes that are gathered before they are written. */
const writeBytes = 2 ** 20;

export class RowStore<Row> {
  readonly #memoryBytes: number;
  /** Rows that are not in the file: all of them, or the newest. */
  #recent: Buffer[] = [];
  #recentBytes = 0;
  /** Where each row that is in the file begins; one more than there are rows there. */
  readonly #offsets: number[] = [0];
  #file: { handle: number; path: string } | undefined;

  constructor(limit: { memoryBytes?: number } = {}) {
    this.#memoryBytes = limit.memoryBytes ?? memoryBytes;
  }

  get length(): number {
    return this.#offsets.length - 1 + this.#recent.length;
  }

  append(row: Row): void {
    const json = Buffer.from(JSON.stringify(row), "utf8");
    this.#recent.push(json);
    this.#recentBytes += json.length;
    if (this.#recentBytes > (this.#file === undefined ? this.#memoryBytes : Math.min(writeBytes, this.#memoryBytes))) {
      this.#write();
    }
  }

  /** Row `index`, from 0; a new object every time. */
  get(index: number): Row {
    const inFile = this.#offsets.length - 1;
    const json = index < inFile ? this.#read(index) : this.#recent[index - inFile];
    return JSON.parse(json.toString("utf8")) as Row;
  }

  close(): void {
    if (this.#file === undefined) return;
    closeSync(this.#file.handle);
    rmSync(dirname(this.#file.path), { recursive: true, force: true });
    this.#file = undefined;
  }

  #write(): void {
    this.#file ??= temporaryFile();
    const at = this.#offsets[this.#offsets.length - 1];
    writeSync(this.#file.handle, Buffer.concat(this.#recent), 0, this.#recentBytes, at);
    let end = at;
    for (const { length } of this.#recent) this.#offsets.push((end += length));
    this.#recent = [];
    this.#recentBytes = 0;
  }

  #read(index: number): Buffer {
    if (this.#file === undefined) throw new Error("the rows are closed");
    const start = this.#offsets[index];
    const json = Buffer.alloc(this.#offsets[index + 1] - start);
    readSync(this.#file.handle, json, 0, json.length, start);
    return json;
  }
}

function temporaryFile(): { handle: number; path: string } {
  const path = join(mkdtempSync(join(tmpdir(), "hone-rows-")), "rows");
  const handle = openSync(path, "wx+", 0o600);
  // An open file without a name goes when the process does, however that ends. Windows keeps it until it is closed.
  if (process.platform !== "win32") rmSync(dirname(path), { recursive: true, force: true });
  return { handle, path };
}
