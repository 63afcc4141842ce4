/**
 * A table of any length: only the rows in sight exist, and they are fetched in blocks as they come into sight. It is a
 * grid for screen readers and for the keyboard: arrows, Page Up/Down, Home, End (with Ctrl or ⌘: first and last row),
 * Enter or F2 to open a cell.
 */

import type { ReactNode } from "react";

export interface DataTableColumn<Row> {
  /** Of this table alone; stable. */
  key: string;
  header: ReactNode;
  /** Width as a CSS grid track: `80px`, `minmax(160px, 1fr)`. */
  width: string;
  cell(row: Row): ReactNode;
  numeric?: boolean;
}

export interface DataTableProps<Row> {
  /** Accessible name. */
  label: string;
  /** Rows in all. */
  count: number;
  columns: readonly DataTableColumn<Row>[];
  /** Rows `from` (0 is the first) to before `from + limit`. */
  load(from: number, limit: number, signal: AbortSignal): Promise<readonly Row[]>;
  /** When it is another, rows are fetched again; old ones stay in sight until new ones are there. */
  version: string | number;
  /** Pixels. */
  rowHeight?: number;
  /** CSS height of the table with its header. */
  height?: string;
  /** Index of the row that is marked as chosen, and brought into sight. */
  chosen?: number | null;
  /** A row became the active one: by click or by keyboard. */
  onChoose?(index: number, row: Row): void;
  /** Enter, F2 or a double click on a cell. */
  onOpen?(index: number, columnKey: string, row: Row): void;
  /** What stands in a cell in place of its content, such as an editor; undefined: its content. */
  editor?(index: number, columnKey: string, row: Row): ReactNode | undefined;
}

export function DataTable<Row>(_props: DataTableProps<Row>): ReactNode {
  return null;
}
