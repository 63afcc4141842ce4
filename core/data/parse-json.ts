/** JSON of a user's row: what `JSON.parse` would change without a word is told instead. */

import { isUtf8 } from "node:buffer";
import { isRecord } from "../contract/is-record.ts";
import { JsonFault, readJson } from "../text/strict-json.ts";

/** A whole number that a double cannot hold exactly. In the value its digits stand as text. */
export interface BigInteger {
  path: (string | number)[];
  digits: string;
}

export type ParsedJson = { value: unknown; bigIntegers: BigInteger[] } | { fault: string };

/** `messages[1].content`; the whole row for an empty path. */
export function pathName(path: readonly (string | number)[]): string {
  return path.map((key, i) => (typeof key === "number" ? `[${key}]` : i === 0 ? key : `.${key}`)).join("");
}

function place(path: readonly (string | number)[]): string {
  return path.length === 0 ? "" : `${pathName(path)}: `;
}

/** A JavaScript string can hold no more. */
const maxTextBytes = 500_000_000;

/** The text of bytes, or why they are none. */
export function decodeText(bytes: Buffer): { text: string } | { fault: string } {
  if (bytes.length > maxTextBytes) return { fault: `${bytes.length} bytes in one row; the most is ${maxTextBytes}` };
  if (isUtf8(bytes)) return { text: bytes.toString("utf8").trim() };
  const at = firstInvalid(bytes);
  const byte = bytes[at].toString(16).toUpperCase().padStart(2, "0");
  const field = fieldOfByte(bytes, at);
  return { fault: `${field}byte 0x${byte} at place ${at + 1} of the row is not UTF-8: save the file as UTF-8` };
}

function firstInvalid(bytes: Buffer): number {
  for (let at = 0; at < bytes.length;) {
    let end = at + 1;
    while (end < bytes.length && (bytes[end] & 0xc0) === 0x80) end++;
    if (!isUtf8(bytes.subarray(at, end))) return at;
    at = end;
  }
  return 0;
}

/** The key whose value holds the byte, where the row is JSON but for its encoding. */
function fieldOfByte(bytes: Buffer, at: number): string {
  const before = bytes.toString("latin1", 0, at);
  const keys = [...before.matchAll(/"((?:[^"\\]|\\.)*)"\s*:/g)];
  const last = keys.at(-1)?.[1];
  return last === undefined ? "" : `${last}: `;
}

/** Levels of lists and objects in one another. */
const maxDepth = 500;

/** Digits or an exponent beyond what a double holds; half a surrogate pair as an escape. */
const longNumber = /\d{16}|[eE]\+?\d{3}/;
const surrogateEscape = /\\u[dD][89a-fA-F]/;

/** Reads one JSON value. A fault names the field and the way out. */
export function parseJson(text: string): ParsedJson {
  let value: unknown;
  const exact = longNumber.test(text);
  try {
    value = exact ? parseExact(text) : JSON.parse(text);
  } catch {
    return { fault: syntaxFault(text) };
  }
  // A repeated key is lost in the value, so its keys are fewer than the text's.
  const keys = keysOf(value, 0);
  if (keys === undefined) return { fault: `lists or objects nested deeper than ${maxDepth}; write them flatter` };
  if (countKeys(text) !== keys) {
    const fault = strictFault(text);
    if (fault !== undefined) return { fault: `${place(fault.path)}${fault.message}; keep one of them` };
  }
  const bigIntegers: BigInteger[] = [];
  if (exact) {
    const infinite = findPath(value, (item) => item instanceof Big && item.digits === "");
    if (infinite !== undefined)
      return { fault: `${place(infinite)}the number is too large; write it as text in quotes` };
    value = takeOutBig(value, [], bigIntegers);
  }
  if (surrogateEscape.test(text)) {
    const half = findPath(value, (item) => typeof item === "string" && !item.isWellFormed());
    if (half !== undefined) {
      return {
        fault: `${place(half)}half a character (a \\ud8…\\udf escape without its pair); write the whole character`,
      };
    }
  }
  return { value, bigIntegers };
}

class Big {
  readonly digits: string;
  constructor(digits: string) {
    this.digits = digits;
  }
}

/** With `Big` for every number that a double cannot hold; without digits for an infinite one. */
function parseExact(text: string): unknown {
  const revive = (_: string, value: unknown, context: { source?: string }) => {
    if (typeof value !== "number") return value;
    if (!Number.isFinite(value)) return new Big("");
    const source = context.source ?? "";
    return /^-?\d+$/.test(source) && !Number.isSafeInteger(value) ? new Big(source) : value;
  };
  return (JSON.parse as (text: string, reviver: typeof revive) => unknown)(text, revive);
}

function takeOutBig(value: unknown, path: (string | number)[], found: BigInteger[]): unknown {
  if (value instanceof Big) {
    found.push({ path, digits: value.digits });
    return value.digits;
  }
  if (Array.isArray(value)) return value.map((item, i) => takeOutBig(item, [...path, i], found));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, takeOutBig(item, [...path, key], found)]));
}

/** Path of the first value, or key, that `is` holds for. */
export function findPath(
  value: unknown,
  is: (item: unknown) => boolean,
  path: (string | number)[] = [],
): (string | number)[] | undefined {
  if (is(value)) return path;
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      const found = findPath(item, is, [...path, i]);
      if (found !== undefined) return found;
    }
  } else if (isRecord(value)) {
    for (const [key, item] of Object.entries(value)) {
      const found = is(key) ? [...path, key] : findPath(item, is, [...path, key]);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** Strings that a colon follows. */
function countKeys(text: string): number {
  let count = 0;
  let at = 0;
  for (;;) {
    const open = text.indexOf('"', at);
    if (open < 0) return count;
    let close = text.indexOf('"', open + 1);
    while (isEscaped(text, close)) close = text.indexOf('"', close + 1);
    at = close + 1;
    while (isSpace(text.charCodeAt(at))) at++;
    if (text.charCodeAt(at) === 0x3a) count++;
  }
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text.charCodeAt(at - 1 - slashes) === 0x5c) slashes++;
  return slashes % 2 === 1;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Keys of all objects in a value; undefined when it is nested too deeply to be walked. */
function keysOf(value: unknown, depth: number): number | undefined {
  if (typeof value !== "object" || value === null || value instanceof Big) return 0;
  if (depth === maxDepth) return undefined;
  let count = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const item of Object.values(value)) {
    const inside = keysOf(item, depth + 1);
    if (inside === undefined) return undefined;
    count += inside;
  }
  return count;
}

function strictFault(text: string): JsonFault | undefined {
  try {
    const { end } = readJson(text);
    if (text.slice(end).trim() === "") return undefined;
    return new JsonFault("syntax", `something stands behind the end at character ${end + 1}`, [], {});
  } catch (error) {
    if (error instanceof JsonFault) return error;
    throw error;
  }
}

/** What is wrong with a text that is no JSON, and what to do about it. */
function syntaxFault(text: string): string {
  const start = text.slice(0, 40);
  if (/^\{\s*'/.test(text) || /^\[\s*\{?\s*'/.test(text)) {
    return `Python text, not JSON (${start}…): write rows with json.dumps`;
  }
  const fault = strictFault(text);
  if (fault === undefined) return "not JSON";
  const where = place(fault.path);
  if (fault.kind === "end") {
    return `${where}the row ends in the middle: it is cut off, a bracket is missing, or a line break in text is not written as \\n`;
  }
  const at = Number(/character (\d+)$/.exec(fault.message)?.[1] ?? 1) - 1;
  const rest = text.slice(at);
  const nonNumber = /^[-+]?(NaN|Infinity|Inf|nan|inf)\b/.exec(rest)?.[0];
  if (nonNumber !== undefined) return `${where}${nonNumber} is not JSON: write null, or leave the field out`;
  if (/^\r+[^\r\n]/.test(rest)) {
    return "its lines end in a carriage return alone, as on old Macs: save the file with line feeds";
  }
  const constant = /^(None|True|False|undefined)\b/.exec(rest)?.[0];
  if (constant !== undefined) return `${where}${constant} is not JSON: write null, true or false`;
  if (/^\s*[}\]]/.test(rest) && /,\s*$/.test(text.slice(0, at))) {
    return `${where}a comma too many before ${rest.trimStart().charAt(0)} at character ${at + 1}: take it out`;
  }
  if (/^\{\s*"/.test(rest) && fault.message.startsWith("expected ,")) {
    return `${where}a new object begins at character ${at + 1} before this one has ended: a closing bracket is missing`;
  }
  if (rest.startsWith('"')) {
    return `${where}text with an unescaped control character or backslash at character ${at + 1}: write \\n, \\t or \\\\`;
  }
  return `${where}${fault.message}, near ${JSON.stringify(rest.slice(0, 20))}: not JSON`;
}
