/** Finds out how a file stores its records, by what is in it rather than by its name. */

import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { HoneError } from "../contract/errors.ts";
import { Bytes, Cursor, isSpace } from "./bytes.ts";
import { delimiters, indexCsv, splitCells, type Delimiter } from "./csv-records.ts";
import { fieldNames } from "./forms.ts";
import { indexJson } from "./json-records.ts";
import { indexBlocks, indexLines } from "./line-records.ts";
import { ParquetSource } from "./parquet-source.ts";
import { IndexedSource, readCells, readHeader, readJsonRow, type RecordSource } from "./source.ts";

const extensions = [".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".tab", ".parquet", ".txt", ".md"];

/** Opens a file, or what is piped in for `-`. Throws `no-such-file`, `bad-encoding`, `bad-header`, `bad-parquet`, `unknown-format`. */
export async function openSource(path: string): Promise<RecordSource> {
  // A pipe has no size and can be read once.
  const piped = path === "-" || !statSync(requireFile(path)).isFile();
  const bytes = new Bytes(path, piped ? readFileSync(path === "-" ? 0 : path) : undefined);
  const head = bytes.read(0, Math.min(bytes.size, 1 << 16));
  if (head.subarray(0, 4).toString("latin1") === "PAR1") return ParquetSource.open(bytes);
  refuse(bytes.name, head);
  if (extname(path).toLowerCase() === ".parquet") {
    throw new HoneError("bad-parquet", `${path} is named as Parquet and is none`, {
      fix: "download or write it again",
    });
  }
  const from = head.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])) ? 3 : 0;
  const extension = extname(path).toLowerCase();
  const start = head.toString("utf8", from).trimStart();
  if (start.startsWith("[") || start.startsWith("{")) return jsonSource(bytes, from, extension);
  if (extension === ".jsonl" || extension === ".ndjson") {
    return new IndexedSource(bytes, "jsonl", indexLines(bytes, from), readJsonRow);
  }
  const csv = extension === ".csv" || extension === ".tsv" || extension === ".tab";
  if (csv || (extension !== ".txt" && extension !== ".md" && hasKnownHeader(start)))
    return csvSource(bytes, from, extension);
  return new IndexedSource(bytes, "text", indexBlocks(bytes, from), (text) => ({ record: { text } }));
}

function requireFile(path: string): string {
  if (!existsSync(path)) {
    throw new HoneError("no-such-file", `there is no file ${path}`, {
      fix: "give a file, the name of a dataset (`hone data list`), or - for what is piped in",
    });
  }
  if (!statSync(path).isDirectory()) return path;
  const parts = readdirSync(path).filter((name) => extensions.includes(extname(name).toLowerCase()));
  throw new HoneError("no-such-file", `${path} is a folder, not a file`, {
    fix: parts.length === 0 ? "give a file of rows" : `give one of its files: ${join(path, parts.sort()[0])}`,
  });
}

/** Says what to do with files that hold no text. */
function refuse(name: string, head: Buffer): void {
  const starts = (...bytes: number[]) => head.subarray(0, bytes.length).equals(Buffer.from(bytes));
  const utf16 = starts(0xff, 0xfe) || starts(0xfe, 0xff) || (head.length >= 4 && (head[0] === 0) !== (head[1] === 0));
  if (utf16) {
    throw new HoneError("bad-encoding", `${name} is UTF-16, not UTF-8`, {
      fix: "save it as UTF-8 (`iconv -f UTF-16 -t UTF-8 FILE > NEW`, or in Windows Notepad: Save as, encoding UTF-8)",
    });
  }
  const packed = starts(0x1f, 0x8b) ? "gzip" : starts(0x50, 0x4b, 3, 4) ? "zip (or a spreadsheet)" : undefined;
  if (packed !== undefined) {
    const fix = packed === "gzip" ? "unpack it first, with gunzip" : "unpack it first; save a spreadsheet as CSV";
    throw new HoneError("unknown-format", `${name} is packed as ${packed}`, { fix });
  }
  if (head.subarray(0, 6).toString("latin1") === "ARROW1" || starts(0xff, 0xff, 0xff, 0xff)) {
    throw new HoneError("unknown-format", `${name} is an Arrow file`, {
      fix: "write it as Parquet or JSON Lines (in Python: dataset.to_parquet, dataset.to_json)",
    });
  }
  if (head.includes(0)) {
    throw new HoneError("unknown-format", `${name} is no text: it has zero bytes`, {
      fix: "Hone reads JSON Lines, JSON, CSV, TSV, Parquet and plain text",
    });
  }
}

/** A longer one is not looked at to tell JSON from JSON Lines. */
const maxFirstLine = 200_000_000;

/** JSON Lines when the first line is a whole object and more follows; a `.jsonl` file also when it is damaged. */
function jsonSource(bytes: Bytes, from: number, extension: string): RecordSource {
  using cursor = new Cursor(bytes);
  let at = from;
  while (isSpace(cursor.byte(at))) at++;
  const end = cursor.find(0x0a, at);
  const isObject = cursor.byte(at) === 0x7b;
  const named = extension === ".jsonl" || extension === ".ndjson";
  const lineEnd = end < 0 ? bytes.size : end;
  const firstLine = lineEnd - at < maxFirstLine ? cursor.slice(at, lineEnd).toString("utf8").trim() : "";
  let more = lineEnd;
  while (isSpace(cursor.byte(more))) more++;
  const hasMore = more < bytes.size;
  const wrapped = !hasMore && isWrapped(firstLine);
  const wholeRow = hasMore && isWhole(firstLine);
  const lines = !wrapped && (named ? (isObject ? !isOpening(firstLine) : wholeRow) : isObject && wholeRow);
  if (lines) return new IndexedSource(bytes, "jsonl", indexLines(bytes, from), readJsonRow);
  const { index, warnings } = indexJson(bytes, from);
  const misnamed = named ? ["the file is named as JSON Lines and holds JSON; read as JSON"] : [];
  return new IndexedSource(bytes, "json", index, readJsonRow, { warnings: [...misnamed, ...warnings] });
}

/** The first line of an object that is spread over lines. */
function isOpening(line: string): boolean {
  return (
    /^\{\s*("[^"]*"\s*:\s*[[{]?\s*)?$/.test(line) ||
    (/^\{\s*"/.test(line) && line.endsWith(",") && !/[}\]],$/.test(line))
  );
}

function isWhole(line: string): boolean {
  try {
    JSON.parse(line.replace(/,$/, ""));
    return true;
  } catch {
    return false;
  }
}

/** `{"data": [{…}, …]}` on one line. */
function isWrapped(line: string): boolean {
  return /^\{.*"data"\s*:\s*\[\s*[{\]]/s.test(line);
}

function csvSource(bytes: Bytes, from: number, extension: string): RecordSource {
  const head = bytes.read(from, Math.min(bytes.size, from + (1 << 16))).toString("utf8");
  const delimiter = findDelimiter(head, extension);
  const index = indexCsv(bytes, from, delimiter);
  if (index.size === 0) return new IndexedSource(bytes, "csv", index, readJsonRow);
  const { start, end } = index.at(0);
  const header = readHeader(bytes.read(start, end).toString("utf8"), delimiter, bytes.name);
  const named = extension === ".csv" ? "," : extension === "" ? delimiter : "\t";
  const warnings: string[] = [];
  if (delimiter !== named && header.length > 1) {
    warnings.push(`the cells are separated by ${names[delimiter]}, not by ${names[named]}; read so`);
  }
  if (header.length === 1 && header[0].includes("\\t")) {
    warnings.push("the header has \\t as two characters; TSV needs a real tab");
  }
  const format = delimiter === "\t" ? "tsv" : "csv";
  return new IndexedSource(bytes, format, index, readCells(header, delimiter), { skip: 1, warnings });
}

const names: Record<Delimiter, string> = { ",": "commas", "\t": "tabs", ";": "semicolons" };

/** What the file's name says, if the header has it; otherwise what splits the header most. */
function findDelimiter(head: string, extension: string): Delimiter {
  const count = (delimiter: Delimiter) => headerCells(head, delimiter).length;
  const named = extension === ".csv" ? "," : extension === "" ? undefined : "\t";
  if (named !== undefined && count(named) > 1) return named;
  const [best] = [...delimiters].sort((a, b) => count(b) - count(a));
  return count(best) > 1 ? best : (named ?? ",");
}

function headerCells(head: string, delimiter: Delimiter): string[] {
  const line = head.split(/\r?\n|\r/, 1)[0];
  const split = splitCells(line, delimiter);
  return "fault" in split ? [] : split.cells.map((cell) => cell.trim());
}

/** Pasted text is a table when its first line names a field that Hone knows, beside another one. */
function hasKnownHeader(head: string): boolean {
  return delimiters.some((delimiter) => {
    const cells = headerCells(head, delimiter);
    return cells.length > 1 && cells.some((cell) => fieldNames.includes(cell));
  });
}
