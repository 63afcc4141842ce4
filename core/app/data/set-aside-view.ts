import type { SetAsideView } from "../../contract/api/data-calls.ts";

/** A row that was set aside in its parts: reasons read `FIELD is wrong; the way out`. */
export function setAsideView(
  { line, row, reason, record }: { line: number; row: number; reason: string; record?: Record<string, unknown> },
  columns: readonly string[],
): SetAsideView {
  const end = reason.indexOf("; ");
  const what = end < 0 ? reason : reason.slice(0, end);
  const field = columns
    .filter((column) => what.startsWith(column) && /^(?:$|[\s.[:])/.test(what.slice(column.length)))
    .sort((a, b) => b.length - a.length)
    .at(0);
  // With the place inside of it, such as messages[1].role.
  const place =
    field === undefined ? undefined : field + (/^(?:\[\d+\]|\.\w+)+/.exec(what.slice(field.length))?.[0] ?? "");
  return {
    line,
    row,
    field: place ?? /^([\w.-]+) (?:is|are) missing/.exec(what)?.[1] ?? null,
    what,
    fix: end < 0 ? null : reason.slice(end + 2),
    record: record ?? null,
  };
}
