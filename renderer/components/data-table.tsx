/**
 * A table of any length: only the rows in sight exist, and they are fetched in blocks as they come into sight. It is a
 * grid for screen readers and for the keyboard: arrows, Page Up/Down, Home, End (with Ctrl or ⌘: first and last row),
 * Enter or F2 to open a cell.
 */

import { Button, Group, Text } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useId, useReducer, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { formatCount } from "../../core/contract/units.ts";
import { ErrorBox } from "./error-box.tsx";
import { RowWindows, type LoadRows } from "./row-windows.ts";
import classes from "./data-table.module.css";

export interface DataTableColumn<Row> {
  /** Of this table alone; stable. */
  key: string;
  header: ReactNode;
  /** Pixels, at least. */
  width: number;
  /** Share of the space that is left; default 0. */
  grow?: number;
  cell: (row: Row) => ReactNode;
  numeric?: boolean;
}

export interface DataTableProps<Row> {
  /** Accessible name. */
  label: string;
  /** Rows in all. */
  count: number;
  columns: readonly DataTableColumn<Row>[];
  /** Rows `from` (0 is the first) to before `from + limit`. */
  load: LoadRows<Row>;
  /** When it is another, rows are fetched again; old ones stay in sight until new ones are there. */
  version: string | number;
  /** Pixels. */
  rowHeight?: number;
  /** CSS height of the table with its header. */
  height?: string;
  /** Index of the row that is marked as chosen; brought into sight when it becomes another. */
  chosen?: number | null;
  /** A row became the active one: by click or by keyboard. */
  onChoose?: (index: number) => void;
  /** Enter, F2 or a double click on a cell. */
  onOpen?: (index: number, columnKey: string) => void;
  /** What stands in a cell in place of its content, such as an editor; undefined: its content. */
  editor?: (index: number, columnKey: string) => ReactNode;
  /** Other keys on the active row; true when it was one of these. */
  onKey?: (event: KeyboardEvent, index: number) => boolean;
}

const headHeight = 34;
/** Browsers lay out at most some 33 million pixels: longer lists are shown in parts. */
const partRows = 500_000;

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { count, chosen } = props;
  const { t } = useTranslation();
  const parts = Math.max(1, Math.ceil(count / partRows));
  const [part, setPart] = useState(0);
  const wanted = chosen == null ? undefined : Math.floor(chosen / partRows);
  useEffect(() => {
    if (wanted !== undefined) setPart(wanted);
  }, [wanted]);
  const shown = Math.min(part, parts - 1);
  const from = shown * partRows;
  const to = Math.min(count, from + partRows);
  return (
    <>
      <TablePart key={shown} {...props} from={from} to={to} />
      {parts > 1 && (
        <Group gap="xs" mt={4}>
          <Button size="compact-xs" variant="default" disabled={shown === 0} onClick={() => setPart(shown - 1)}>
            {t("data.table.partBefore")}
          </Button>
          <Text size="sm" className="hone-numbers" role="status">
            {t("data.table.part", { from: formatCount(from + 1), to: formatCount(to), count: formatCount(count) })}
          </Text>
          <Button size="compact-xs" variant="default" disabled={to === count} onClick={() => setPart(shown + 1)}>
            {t("data.table.partAfter")}
          </Button>
        </Group>
      )}
    </>
  );
}

/** Indices outside count all rows, inside those from `from`. */
function TablePart<Row>({ from, to, ...props }: DataTableProps<Row> & { from: number; to: number }) {
  const { label, columns, version, rowHeight = 36, height = "60vh", chosen = null, onChoose, onOpen, editor } = props;
  const id = useId();
  const frame = useRef<HTMLDivElement>(null);
  const windows = useWindows(props.load, version);
  const [active, setActive] = useState({ row: Math.max(0, (chosen ?? 0) - from), column: 0 });
  const rows = to - from;
  const row = Math.min(active.row, Math.max(0, rows - 1));
  const column = Math.min(active.column, columns.length - 1);
  const virtual = useVirtualizer({
    count: rows,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: 10,
    paddingStart: 0,
    scrollPaddingStart: headHeight,
  });
  const items = virtual.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? -1];
  useEffect(() => {
    if (last >= 0) windows.show(from + first, from + last);
  });
  useEffect(() => {
    if (chosen === null || chosen < from || chosen >= to) return;
    setActive((before) => ({ ...before, row: chosen - from }));
    virtual.scrollToIndex(chosen - from, { align: "auto" });
    // Only when another row is chosen: the person may scroll away from it.
  }, [chosen, from, to, virtual]);

  const go = (toRow: number, toColumn: number) => {
    const next = {
      row: Math.max(0, Math.min(rows - 1, toRow)),
      column: Math.max(0, Math.min(columns.length - 1, toColumn)),
    };
    setActive(next);
    virtual.scrollToIndex(next.row, { align: "auto" });
    if (next.row !== row) onChoose?.(from + next.row);
  };
  const page = Math.max(1, Math.floor((frame.current?.clientHeight ?? 400) / rowHeight) - 2);
  const onKeyDown = (event: KeyboardEvent) => {
    // What is typed into an editor is its own.
    if (event.target !== event.currentTarget || rows === 0) return;
    const whole = event.ctrlKey || event.metaKey;
    const keys: Record<string, () => void> = {
      ArrowDown: () => go(row + 1, column),
      ArrowUp: () => go(row - 1, column),
      ArrowRight: () => go(row, column + 1),
      ArrowLeft: () => go(row, column - 1),
      PageDown: () => go(row + page, column),
      PageUp: () => go(row - page, column),
      Home: () => (whole ? go(0, 0) : go(row, 0)),
      End: () => (whole ? go(rows - 1, columns.length - 1) : go(row, columns.length - 1)),
      Enter: () => onOpen?.(from + row, columns[column].key),
      F2: () => onOpen?.(from + row, columns[column].key),
    };
    const act = props.onKey?.(event, from + row) === true ? () => undefined : keys[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  };

  const template = {
    gridTemplateColumns: columns
      .map(({ width, grow = 0 }) => (grow === 0 ? `${width}px` : `minmax(${width}px, ${grow}fr)`))
      .join(" "),
    minWidth: columns.reduce((sum, { width }) => sum + width, 0),
  };
  const cellId = (index: number, key: string) => `${id}${index}-${key}`;
  return (
    <>
      {windows.error !== undefined && <ErrorBox error={windows.error} onRetry={() => windows.retry()} />}
      <div
        ref={frame}
        className={classes.frame}
        style={{ height }}
        role="grid"
        aria-label={label}
        aria-rowcount={props.count + 1}
        aria-colcount={columns.length}
        aria-readonly={editor === undefined}
        tabIndex={0}
        {...(row >= first && row <= last && { "aria-activedescendant": cellId(row, columns[column].key) })}
        onKeyDown={onKeyDown}
      >
        <div role="rowgroup" className={classes.head}>
          <div role="row" aria-rowindex={1} className={classes.row} style={{ ...template, height: headHeight }}>
            {columns.map(({ key, header, numeric }) => (
              <div
                role="columnheader"
                key={key}
                className={`${classes.cell} ${numeric === true ? classes.numeric : ""}`}
              >
                {header}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" className={classes.body} style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const item = windows.row(from + index);
            return (
              <div
                role="row"
                key={index}
                aria-rowindex={from + index + 2}
                aria-selected={from + index === chosen}
                aria-busy={item === undefined}
                className={`${classes.row} ${classes.line}`}
                style={{ ...template, height: rowHeight, transform: `translateY(${start}px)` }}
              >
                {columns.map(({ key, cell, numeric }, position) => {
                  const editing = editor?.(from + index, key);
                  const isActive = index === row && position === column;
                  return (
                    <div
                      role="gridcell"
                      key={key}
                      id={cellId(index, key)}
                      className={`${classes.cell} ${numeric === true ? classes.numeric : ""} ${isActive ? classes.active : ""} ${editing === undefined ? "" : classes.editing}`}
                      onClick={() => {
                        setActive({ row: index, column: position });
                        onChoose?.(from + index);
                      }}
                      onDoubleClick={() => onOpen?.(from + index, key)}
                    >
                      {editing ?? (item === undefined ? <span className={classes.waiting} /> : cell(item))}
                    </div>
                  );
                })}
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

function useWindows<Row>(load: LoadRows<Row>, version: string | number): RowWindows<Row> {
  const [, renew] = useReducer((turn: number) => turn + 1, 0);
  const latest = useRef(load);
  latest.current = load;
  const [windows] = useState(() => new RowWindows<Row>((...window) => latest.current(...window), version, renew));
  useEffect(() => {
    windows.renew(version);
    renew();
  }, [windows, version]);
  useEffect(() => () => windows.end(), [windows]);
  return windows;
}
