/** Records that are lines, or blocks of lines. */

import { Cursor, isSpace, RecordIndex, type Bytes } from "./bytes.ts";

/** One record for each line that is not blank. */
export function indexLines(bytes: Bytes, from: number): RecordIndex {
  using cursor = new Cursor(bytes);
  const index = new RecordIndex();
  for (let start = from, line = 1; start < bytes.size; line++) {
    const found = cursor.find(0x0a, start);
    const end = found < 0 ? bytes.size : found;
    if (!isBlank(cursor, start, end)) index.push(start, end, line);
    start = end + 1;
  }
  return index;
}

/** One record for each block of text between blank lines. */
export function indexBlocks(bytes: Bytes, from: number): RecordIndex {
  const lines = indexLines(bytes, from);
  const blocks = new RecordIndex();
  for (let i = 0; i < lines.size;) {
    const first = lines.at(i);
    let last = first;
    while (++i < lines.size && lines.at(i).line === last.line + 1) last = lines.at(i);
    blocks.push(first.start, last.end, first.line);
  }
  return blocks;
}

function isBlank(cursor: Cursor, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (!isSpace(cursor.byte(at))) return false;
  return true;
}
