/**
 * A file in the making: its bytes, in any order, and a note of which are there. The note never says more than the disk
 * holds: data is forced to the disk before the note is.
 */

import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import type { IncompletePaths } from "../storage/cache-target.ts";
import { asWriteError, type DataFile, type Disk } from "./data-file.ts";
import { RangeSet, type Interval } from "./range-set.ts";

const noteSchema = z.object({
  version: z.literal(1),
  size: z.number().int().min(0),
  done: z.array(z.tuple([z.number().int().min(0), z.number().int().min(0)])),
});

/** What an earlier attempt left of a file of `size` bytes; empty where nothing can be relied on. */
export function readNote(paths: IncompletePaths, size: number): RangeSet {
  if (!existsSync(paths.data) || !existsSync(paths.state)) return new RangeSet();
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(paths.state, "utf8"));
  } catch {
    return new RangeSet();
  }
  const note = noteSchema.safeParse(json);
  if (!note.success || note.data.size !== size || note.data.done.some(([, end]) => end > size)) return new RangeSet();
  return RangeSet.from(note.data.done);
}

export class PartialFile {
  readonly paths: IncompletePaths;
  readonly size: number;
  readonly #data: DataFile;
  #there: RangeSet;
  #isDirty = false;
  #saved = Date.now();
  #saving: Promise<void> | undefined;

  private constructor(paths: IncompletePaths, size: number, data: DataFile, there: RangeSet) {
    this.paths = paths;
    this.size = size;
    this.#data = data;
    this.#there = there;
  }

  /** Throws `disk-full`, `not-writable`. */
  static async open(paths: IncompletePaths, size: number, disk: Disk): Promise<PartialFile> {
    try {
      await mkdir(dirname(paths.data), { recursive: true });
      await mkdir(dirname(paths.state), { recursive: true });
      const there = readNote(paths, size);
      const data = await disk.open(paths.data);
      await data.setLength(size);
      return new PartialFile(paths, size, data, there);
    } catch (error) {
      throw asWriteError(error, paths.data);
    }
  }

  get bytes(): number {
    return this.#there.size;
  }

  get prefix(): number {
    return this.#there.prefix;
  }

  get isWhole(): boolean {
    return this.#there.size === this.size;
  }

  missing(start = 0, end = this.size): Interval[] {
    return this.#there.missing(start, end);
  }

  /** Returns how many of the bytes are new. */
  async write(pieces: readonly Buffer[], position: number): Promise<number> {
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    if (position + length > this.size)
      throw new Error(`${this.paths.data} would become longer than ${this.size} bytes`);
    try {
      await this.#data.write(pieces, position);
    } catch (error) {
      throw asWriteError(error, this.paths.data);
    }
    const before = this.#there.size;
    this.#there.add(position, position + length);
    this.#isDirty = true;
    return this.#there.size - before;
  }

  /** Takes bytes back that turned out to be none of this file's. */
  forget(start: number, end: number): void {
    this.#there.remove(start, end);
    this.#isDirty = true;
  }

  /** Writes the note when the last one is older than `seconds` and none is being written. */
  async saveAfter(seconds: number): Promise<void> {
    if (this.#saving !== undefined || !this.#isDirty || Date.now() - this.#saved < seconds * 1000) return;
    this.#saving = this.#save().finally(() => (this.#saving = undefined));
    await this.#saving;
  }

  async #save(): Promise<void> {
    // Taken before the data is forced out: what comes meanwhile belongs to the next note.
    const done = this.#there.intervals();
    this.#isDirty = false;
    this.#saved = Date.now();
    const temporary = `${this.paths.state}.partial-${process.pid}`;
    try {
      await this.#data.sync();
      await writeFile(temporary, JSON.stringify({ version: 1, size: this.size, done }), { flush: true });
      await rename(temporary, this.paths.state);
    } catch (error) {
      this.#isDirty = true;
      await rm(temporary, { force: true });
      throw asWriteError(error, this.paths.state);
    }
  }

  /** Begins from nothing. */
  async reset(): Promise<void> {
    await this.#saving?.catch(() => undefined);
    this.#there = new RangeSet();
    this.#isDirty = false;
    await rm(this.paths.state, { force: true });
  }

  /** Of a whole file: forces its data out and lets go of it. It needs no note any more. */
  async finish(): Promise<void> {
    try {
      await this.#saving?.catch(() => undefined);
      await this.#data.sync();
    } catch (error) {
      throw asWriteError(error, this.paths.data);
    } finally {
      await this.#data.close();
    }
  }

  /** Forces data and note out and lets go of the file. */
  async close(): Promise<void> {
    try {
      await this.#saving?.catch(() => undefined);
      if (this.#isDirty) await this.#save();
    } finally {
      await this.#data.close();
    }
  }
}
