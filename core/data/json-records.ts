/** Where the records of a JSON file are. One damaged record costs that record, not the file. */

import { Cursor, isSpace, RecordIndex, type Bytes } from "./bytes.ts";

const [newline, quote, comma, colon, backslash] = [0x0a, 0x22, 0x2c, 0x3a, 0x5c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

export interface JsonIndex {
  index: RecordIndex;
  warnings: string[];
}

/** How often a scan goes back to a record that never closes before it gives up. */
const maxRecoveries = 20;

/**
 * The elements of a list; the elements of `data` in an object that has one; otherwise every object at the top is a
 * record, so a single object is one. Commas too many or too few between records do no harm.
 */
export function indexJson(bytes: Bytes, from: number): JsonIndex {
  using cursor = new Cursor(bytes);
  return new JsonScan(cursor, from).run();
}

class JsonScan {
  readonly #cursor: Cursor;
  readonly #index = new RecordIndex();
  readonly #warnings = new Set<string>();
  #at: number;
  #line = 1;
  /** What the records stand in: nothing, a list, or the list `data` of an object. */
  #inside: "nothing" | "list" | "data" = "nothing";
  #afterComma = false;

  constructor(cursor: Cursor, from: number) {
    this.#cursor = cursor;
    this.#at = from;
  }

  run(): JsonIndex {
    let recoveries = 0;
    for (;;) {
      this.#skipSpace();
      if (this.#byte < 0) break;
      if (this.#passBetween()) continue;
      const [start, line] = [this.#at, this.#line];
      if (this.#passRecord()) continue;
      // Its brackets do not come out even: it ends where the next line begins as it did, or where it broke.
      const next = recoveries++ < maxRecoveries ? this.#nextAlike(start) : -1;
      this.#afterComma = next >= 0;
      if (next < 0) {
        this.#index.push(start, Math.max(this.#at, start + 1), line);
        if (this.#at === start) this.#step();
        continue;
      }
      this.#index.push(start, next, line);
      this.#at = start;
      this.#line = line;
      while (this.#at < next) this.#step();
    }
    return { index: this.#index, warnings: [...this.#warnings] };
  }

  get #byte(): number {
    return this.#cursor.byte(this.#at);
  }

  /** Steps over commas and the brackets around the records. False: a record begins here. */
  #passBetween(): boolean {
    const byte = this.#byte;
    if (byte === comma) {
      if (this.#afterComma || this.#index.size === 0) this.#warnings.add("commas without a row between them");
      this.#afterComma = true;
    } else if (this.#inside === "nothing" && byte === openList) {
      this.#inside = "list";
    } else if (this.#inside !== "nothing" && byte === closeList) {
      if (this.#afterComma) this.#warnings.add("a comma behind the last row");
      this.#afterComma = false;
      const isData = this.#inside === "data";
      this.#inside = "nothing";
      this.#at++;
      // The other keys behind `data`.
      if (isData) this.#passBrackets([openObject]);
      return true;
    } else return false;
    this.#at++;
    return true;
  }

  /** Steps over one record and notes it. False: its brackets do not come out even. */
  #passRecord(): boolean {
    const [start, line] = [this.#at, this.#line];
    const opens = this.#byte === openObject || this.#byte === openList;
    if (opens && this.#inside !== "nothing" && this.#index.size > 0 && !this.#afterComma) {
      this.#warnings.add("a comma is missing between two rows");
    }
    if (opens ? !this.#passBrackets([]) : !this.#passScalar()) return false;
    this.#afterComma = false;
    // Stepped into the list of `data`, whose elements are the records.
    if (this.#inside === "data" && this.#index.size === 0 && this.#cursor.byte(this.#at - 1) === openList) return true;
    this.#index.push(start, this.#at, line);
    return true;
  }

  /** A number, a word, a text or a stray bracket where a record should stand. */
  #passScalar(): boolean {
    do {
      if (this.#byte === quote) {
        if (!this.#passString()) return false;
      } else this.#step();
    } while (this.#byte >= 0 && ![comma, closeList, closeObject, newline].includes(this.#byte));
    return true;
  }

  /** Steps on until all brackets are closed, those of `open` too. False: the file ends before, or another one closes. */
  #passBrackets(open: number[]): boolean {
    const mayHoldData = open.length === 0 && this.#inside === "nothing" && this.#index.size === 0;
    do {
      const byte = this.#byte;
      if (byte < 0) return false;
      if (byte === quote) {
        const keyAt = this.#at + 1;
        if (!this.#passString()) return false;
        if (mayHoldData && open.length === 1 && this.#passDataList(keyAt)) return true;
        continue;
      }
      if (byte === openObject || byte === openList) open.push(byte);
      // Each closing bracket's code is that of its opening one plus two.
      if ((byte === closeObject || byte === closeList) && open.pop() !== byte - 2) return false;
      this.#step();
    } while (open.length > 0);
    return true;
  }

  /** Steps into the list of objects behind the key that was just read, if that is `data`. */
  #passDataList(keyAt: number): boolean {
    if (this.#at !== keyAt + 5 || this.#cursor.slice(keyAt, keyAt + 4).toString("latin1") !== "data") return false;
    const [at, line] = [this.#at, this.#line];
    for (const expected of [colon, openList]) {
      this.#skipSpace();
      if (this.#byte !== expected) return false;
      this.#at++;
    }
    const inside = this.#at;
    this.#skipSpace();
    const holdsRows = this.#byte === openObject || this.#byte === closeList;
    this.#at = holdsRows ? inside : at;
    if (!holdsRows) this.#line = line;
    else this.#inside = "data";
    return holdsRows;
  }

  #passString(): boolean {
    this.#at++;
    for (;;) {
      const byte = this.#byte;
      if (byte < 0) return false;
      this.#step();
      if (byte === quote) return true;
      if (byte === backslash) this.#step();
    }
  }

  #step(): void {
    if (this.#byte === newline) this.#line++;
    this.#at++;
  }

  #skipSpace(): void {
    while (isSpace(this.#byte)) this.#step();
  }

  /** The bracket of the next line that begins with the same white space and bracket; −1 when there is none. */
  #nextAlike(start: number): number {
    let lineStart = start;
    while (lineStart > 0 && isSpace(this.#cursor.byte(lineStart - 1)) && this.#cursor.byte(lineStart - 1) !== newline) {
      lineStart--;
    }
    const opening = Buffer.from(this.#cursor.slice(lineStart, start + 1));
    for (let at = this.#cursor.find(newline, start); at >= 0; at = this.#cursor.find(newline, at + 1)) {
      const bracket = at + opening.length;
      if (this.#cursor.byte(bracket) >= 0 && this.#cursor.slice(at + 1, bracket + 1).equals(opening)) return bracket;
    }
    return -1;
  }
}
