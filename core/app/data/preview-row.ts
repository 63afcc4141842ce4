import type { CellPreview, RowPreview } from "../../contract/api/data-calls.ts";
import { isRecord } from "../../contract/is-record.ts";

/** Characters of a cell in a list. */
const most = 240;

/** The beginning of each column, on one line. */
export function previewRow(row: number, record: Record<string, unknown>): RowPreview {
  return { row, cells: Object.fromEntries(Object.entries(record).map(([column, value]) => [column, preview(value)])) };
}

function preview(value: unknown): CellPreview {
  if (typeof value === "string") return { kind: "text", ...start(value) };
  if (isMessages(value)) {
    // What all rows begin with says least.
    const shown = value.some((message) => roleOf(message) !== "system")
      ? value.filter((message) => roleOf(message) !== "system")
      : value;
    const said = shown.map((message) => `${roleOf(message)}: ${saidIn(message)}`);
    return { kind: "messages", ...start(said.join(" ⏎ ")) };
  }
  return { kind: "value", ...start(JSON.stringify(value)) };
}

function start(text: string): { text: string; cut: boolean } {
  const line = text
    .slice(0, 2 * most)
    .replaceAll(/\s+/g, " ")
    .trim();
  return { text: line.slice(0, most), cut: line.length > most || text.length > 2 * most };
}

type Message = Record<string, unknown>;

function isMessages(value: unknown): value is Message[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => isRecord(item) && roleOf(item) !== "");
}

function roleOf(message: Message): string {
  const role = message["role"] ?? message["from"];
  return typeof role === "string" ? role : "";
}

function saidIn(message: Message): string {
  const content = message["content"] ?? message["value"] ?? message["tool_calls"] ?? "";
  return typeof content === "string" ? content : JSON.stringify(content);
}
