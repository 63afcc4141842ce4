/** The rows in a table with the chosen one beside it; found, changed, added and deleted here. */

import { Button, Group, Select, Stack, Text, TextInput, Loader } from "@mantine/core";
import { useDebouncedValue, useHotkeys } from "@mantine/hooks";
import { Plus, Search, Trash2, X } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useSearchParams } from "wouter";
import type { DatasetView, RowFilter, RowPreview } from "../../../core/contract/api/data-calls.ts";
import { formatCount } from "../../../core/contract/units.ts";
import { useApi, useCall } from "../../app/hone-context.tsx";
import { DataTable, type DataTableColumn } from "../../components/data-table.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { EmptyState } from "../../components/loaded-view.tsx";
import { CellEditor } from "./cell-editor.tsx";
import { NewRowDialog } from "./new-row-dialog.tsx";
import { RowPanel, fieldId } from "./row-panel.tsx";
import type { Changes } from "./use-changes.ts";
import { useRowDraft } from "./use-row-draft.ts";
import classes from "./data.module.css";

interface RowsTabProps {
  view: DatasetView;
  changes: Changes;
  /** A row to be shown, whenever it is another object. */
  goTo: { row: number } | undefined;
  onStale: () => void;
}

export function RowsTab({ view, changes, goTo, onStale }: RowsTabProps) {
  const { t } = useTranslation();
  const api = useApi();
  const { name, columns } = view;
  const [params, setParams] = useSearchParams();
  const [text, setText] = useState(params.get("q") ?? "");
  const [column, setColumn] = useState<string | null>(null);
  const [wanted] = useDebouncedValue(text, 250);
  const among = params.get("rows");
  const filter = useMemo((): RowFilter | null => {
    const rows =
      among === null
        ? null
        : among
            .split(",")
            .map(Number)
            .filter((row) => row >= 1);
    return wanted.trim() === "" && rows === null ? null : { text: wanted, column, rows };
  }, [wanted, column, among]);
  const found = useCall(
    "data.rows",
    { name, filter, from: 0, limit: 1 },
    { enabled: filter !== null, follow: "datasets" },
  );
  const count = filter === null ? changes.rows : (found.value?.total ?? 0);

  const [chosen, setChosen] = useState<number | null>(null);
  const [row, setRow] = useState<number | null>(null);
  const [editing, setEditing] = useState<{ index: number; key: string } | null>(null);
  const [adding, setAdding] = useState(false);
  const [error, setError] = useState<unknown>();
  const draft = useRowDraft(view, row, changes, onStale);
  const search = useRef<HTMLInputElement>(null);

  /** Number of the row at a place in the table. */
  const rowAt = async (index: number): Promise<number | null> => {
    if (filter === null) return index + 1;
    const page = await api.call("data.rows", { name, filter, from: index, limit: 1 });
    return page.rows[0]?.row ?? null;
  };
  /** Goes to a row, if what was changed in the one before could be saved. */
  const choose = async (index: number): Promise<boolean> => {
    const next = await rowAt(index);
    if (next === row) return true;
    if (!(await draft.save())) return false;
    // Another cell may have been opened while this row was being fetched.
    setEditing((now) => (now?.index === index ? now : null));
    setChosen(index);
    setRow(next);
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        after.set("row", String(next));
        return after;
      },
      { replace: true },
    );
    return true;
  };
  const open = async (index: number, key: string) => {
    if ((await choose(index)) && columns.includes(key)) setEditing({ index, key });
  };
  const opened = draft.view === undefined || editing === null ? undefined : editing.key;
  const isText = opened === undefined || ["string", "undefined"].includes(typeof draft.record[opened]);
  useEffect(() => {
    if (isText || opened === undefined) return;
    // What is more than a text is edited beside the table.
    setEditing(null);
    focusField(opened);
  }, [opened, isText]);
  const remove = async () => {
    if (row === null) return;
    setError(undefined);
    try {
      draft.revert();
      await changes.make("data.delete_rows", { rows: [row] });
      if (row > changes.rows - 1) {
        setRow(changes.rows > 1 ? changes.rows - 1 : null);
        setChosen(changes.rows > 1 ? changes.rows - 2 : null);
      }
    } catch (failed) {
      setError(failed);
      onStale();
    }
  };
  const latest = useRef(choose);
  latest.current = choose;
  useEffect(() => {
    if (goTo !== undefined && filter === null) void latest.current(goTo.row - 1);
    // Only when there is another place to go to.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [goTo]);
  useEffect(() => {
    // As the address says, when the page is opened.
    const asked = Number(params.get("row"));
    if (asked >= 1 && filter === null) void latest.current(asked - 1);
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, []);
  useHotkeys([
    ["/", () => search.current?.focus()],
    ["N", () => setAdding(true)],
  ]);

  const shown = columnsOf(view, t("data.column.row"));
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <TextInput
          ref={search}
          aria-label={t("data.search")}
          placeholder={t("data.search")}
          title={t("data.searchKey")}
          leftSection={<Search size={14} aria-hidden />}
          rightSection={filter !== null && found.state === "loading" ? <Loader size={14} /> : undefined}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setChosen(null);
          }}
          flex="1 1 160px"
          maw={300}
        />
        <Select
          aria-label={t("data.searchIn")}
          placeholder={t("data.anyColumn")}
          data={[...columns]}
          value={column}
          onChange={setColumn}
          clearable
          w={150}
        />
        {among !== null && (
          <Button
            variant="light"
            size="sm"
            rightSection={<X size={14} aria-hidden />}
            onClick={() =>
              setParams((before) => {
                const after = new URLSearchParams(before);
                after.delete("rows");
                return after;
              })
            }
          >
            {t("data.onlySome")}
          </Button>
        )}
        <Text size="sm" className="hone-muted hone-numbers" role="status" mr="auto">
          {filter === null
            ? t("data.countAll", { count, rows: formatCount(count) })
            : found.state === "ready" &&
              t("data.countFound", { rows: formatCount(count), all: formatCount(changes.rows) })}
        </Text>
        <Button
          variant="default"
          color="red"
          leftSection={<Trash2 size={14} aria-hidden />}
          disabled={row === null}
          onClick={() => void remove()}
        >
          {t("data.row.delete")}
        </Button>
        <Button variant="default" leftSection={<Plus size={14} aria-hidden />} onClick={() => setAdding(true)}>
          {t("data.row.add")}
        </Button>
      </Group>
      {error !== undefined && <ErrorBox error={error} />}
      {found.state === "failed" && filter !== null && <ErrorBox error={found.error} onRetry={found.reload} />}
      {count === 0 && (filter === null || found.state === "ready") ? (
        <EmptyState title={t(filter === null ? "data.noRows.title" : "data.noMatch.title")}>
          {t(filter === null ? "data.noRows.text" : "data.noMatch.text")}
        </EmptyState>
      ) : (
        <div className={classes.split}>
          <DataTable<RowPreview>
            label={t("data.table.label", { name })}
            count={count}
            columns={shown}
            version={`${changes.point} ${JSON.stringify(filter)}`}
            height="calc(100vh - 250px)"
            chosen={chosen}
            load={async (from, limit, signal) =>
              (await api.call("data.rows", { name, filter, from, limit }, { signal })).rows
            }
            onChoose={(index) => void choose(index)}
            onOpen={(index, key) => void open(index, key)}
            onKey={(event) => {
              if (event.key !== "Delete") return false;
              void remove();
              return true;
            }}
            editor={(index, key) =>
              editing?.index === index && editing.key === key && opened === key && isText ? (
                <CellEditor
                  label={key}
                  value={textOf(draft.record[key])}
                  onChange={(value) => draft.set({ ...draft.record, [key]: value })}
                  onDone={async () => {
                    if (await draft.save()) setEditing(null);
                  }}
                  onCancel={() => {
                    draft.revert();
                    setEditing(null);
                  }}
                />
              ) : undefined
            }
          />
          <RowPanel view={view} row={row} draft={draft} />
        </div>
      )}
      {adding && (
        <NewRowDialog
          changes={changes}
          record={emptyLike(view)}
          onClose={() => setAdding(false)}
          onAdded={(added) => {
            if (filter === null) {
              setChosen(added - 1);
              setRow(added);
            }
          }}
        />
      )}
    </Stack>
  );
}

function focusField(key: string): void {
  document.getElementById(fieldId(key))?.focus();
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
}

/** Columns that are trained on have more room than those that stand beside them. */
function columnsOf({ columns, mapping }: DatasetView, rowTitle: string): DataTableColumn<RowPreview>[] {
  const used = new Set(Object.values(mapping));
  return [
    { key: " row", header: rowTitle, width: 72, numeric: true, cell: ({ row }) => formatCount(row) },
    ...columns.map((key): DataTableColumn<RowPreview> => ({
      key,
      header: key,
      width: used.has(key) ? 200 : 100,
      grow: used.has(key) ? 3 : 1,
      cell: ({ cells }) => {
        const cell = cells[key];
        return cell === undefined ? "" : <span>{cell.cut ? `${cell.text}…` : cell.text}</span>;
      },
    })),
  ];
}

/** What a new row begins as: the fields that its shape needs. */
function emptyLike({ mapping, shape }: DatasetView): Record<string, unknown> {
  if (shape === "messages") {
    return {
      messages: [
        { role: "user", content: "" },
        { role: "assistant", content: "" },
      ],
    };
  }
  const fields = Object.values(mapping).filter((field) => field !== "system" && field !== "tools");
  return Object.fromEntries((fields.length > 0 ? fields : ["prompt", "completion"]).map((field) => [field, ""]));
}
