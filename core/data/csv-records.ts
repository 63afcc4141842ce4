/**
 * Comma- or tab-separated records as RFC 4180 has them: a cell in quotes may hold separators, line breaks and doubled
 * quotes. A quote inside a cell that does not begin with one is an ordinary character. A record whose quotes do not
 * come out even ends with its physical line, so that it costs itself and not the rest of the file.
 */

import { Cursor, RecordIndex, type Bytes } from "./bytes.ts";

const [newline, carriageReturn, quote] = [0x0a, 0x0d, 0x22];

export const delimiters = [",", "\t", ";"] as const;
export type Delimiter = (typeof delimiters)[number];

/** One entry per record; the first is the header. Blank lines are none. */
export function indexCsv(bytes: Bytes, from: number, delimiter: Delimiter): RecordIndex {
  using cursor = new Cursor(bytes);
  const index = new RecordIndex();
  const separator = delimiter.charCodeAt(0);
  let line = 1;
  for (let start = from; start < bytes.size;) {
    const end = recordEnd(cursor, start, separator) ?? lineEnd(cursor, start);
    if (!isBlank(cursor, start, end)) index.push(start, end, line);
    const next = afterBreak(cursor, end);
    for (let at = start; at < next; at++) if (isBreak(cursor, at)) line++;
    start = next;
  }
  return index;
}

/** A line feed, or a carriage return that none follows. */
function isBreak(cursor: Cursor, at: number): boolean {
  const byte = cursor.byte(at);
  return byte === newline || (byte === carriageReturn && cursor.byte(at + 1) !== newline);
}

function lineEnd(cursor: Cursor, start: number): number {
  let at = start;
  for (let byte = cursor.byte(at); byte >= 0 && byte !== newline && byte !== carriageReturn; byte = cursor.byte(++at));
  return at;
}

function afterBreak(cursor: Cursor, end: number): number {
  return cursor.byte(end) === carriageReturn && cursor.byte(end + 1) === newline ? end + 2 : end + 1;
}

function isBlank(cursor: Cursor, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (cursor.byte(at) !== 0x20) return false;
  return true;
}

/** Undefined when the quotes do not come out even. */
function recordEnd(cursor: Cursor, start: number, separator: number): number | undefined {
  let at = start;
  for (;;) {
    if (cursor.byte(at) === quote) {
      do {
        at = cursor.find(quote, at + 1);
        if (at < 0) return undefined;
      } while (cursor.byte(at + 1) === quote && ++at > 0);
      at++;
    } else {
      for (let byte = cursor.byte(at); !endsCell(byte, separator); byte = cursor.byte(++at));
    }
    const byte = cursor.byte(at);
    if (!endsCell(byte, separator)) return undefined;
    if (byte !== separator) return at;
    at++;
  }
}

function endsCell(byte: number, separator: number): boolean {
  return byte < 0 || byte === separator || byte === newline || byte === carriageReturn;
}

/** The cells of one record, or what is wrong with its quotes. */
export function splitCells(text: string, delimiter: Delimiter): { cells: string[] } | { fault: string } {
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    if (text.charAt(at) === '"') {
      let close = at;
      do {
        close = text.indexOf('"', close + 1);
        if (close < 0) return { fault: `cell ${cells.length + 1}: its opening quote is never closed; close it` };
      } while (text.charAt(close + 1) === '"' && ++close > 0);
      const behind = text.charAt(close + 1);
      if (behind !== "" && behind !== delimiter) {
        const fault = `cell ${cells.length + 1}: text stands behind its closing quote; write a quote inside a cell as ""`;
        return { fault };
      }
      cells.push(text.slice(at + 1, close).replaceAll('""', '"'));
      at = close + 1;
    } else {
      const found = text.indexOf(delimiter, at);
      const end = found < 0 ? text.length : found;
      cells.push(text.slice(at, end));
      at = end;
    }
    if (at >= text.length) return { cells };
    at++;
    if (at === text.length) return { cells: [...cells, ""] };
  }
}
