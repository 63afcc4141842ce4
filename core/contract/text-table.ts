/** Rows as text, for a terminal or a text file. */

/** Columns padded to equal width, two spaces between: labels to the left, values to the right; of two columns, both left. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)));
  const toLeft = (i: number) => i === 0 || widths.length === 2;
  const align = (cell: string, i: number) => (toLeft(i) ? cell.padEnd(widths[i]) : cell.padStart(widths[i]));
  return rows.map((row) => row.map(align).join("  ").trimEnd()).join("\n");
}
