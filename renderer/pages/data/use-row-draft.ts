/** One row that is being edited: what it is, what it will be, and whether that may be. */

import { useState } from "react";
import type { DatasetView, RowView } from "../../../core/contract/api/data-calls.ts";
import { HoneError } from "../../../core/contract/errors.ts";
import { useCall } from "../../app/hone-context.tsx";
import type { Changes } from "./use-changes.ts";

type Row = Record<string, unknown>;

export interface RowDraft {
  /** Undefined until it is there. */
  view: RowView | undefined;
  /** As it is shown: with what the person has changed. */
  record: Row;
  dirty: boolean;
  saving: boolean;
  /** Why the row could not be read or saved. */
  error: unknown;
  set: (record: Row) => void;
  revert: () => void;
  /** True when nothing is left to be saved. */
  save: () => Promise<boolean>;
}

/** `onStale`: the dataset was changed elsewhere. */
export function useRowDraft(
  { name }: DatasetView,
  row: number | null,
  changes: Changes,
  onStale: () => void,
): RowDraft {
  const read = useCall("data.row", { name, row: row ?? 1 }, { enabled: row !== null, follow: "datasets" });
  const [draft, setDraft] = useState<{ row: number; record: Row }>();
  const [saving, setSaving] = useState(false);
  const [error, setError] = useState<unknown>();
  const view = read.value?.row === row ? read.value : undefined;
  const mine = draft !== undefined && draft.row === row ? draft : undefined;
  const dirty = mine !== undefined && view !== undefined && JSON.stringify(mine.record) !== JSON.stringify(view.record);
  const save = async () => {
    if (!dirty || row === null) return true;
    setSaving(true);
    setError(undefined);
    try {
      await changes.make("data.edit", { row, record: mine.record });
      setDraft(undefined);
      read.reload();
      return true;
    } catch (failed) {
      setError(failed);
      if (failed instanceof HoneError && failed.code === "dataset-changed") onStale();
      return false;
    } finally {
      setSaving(false);
    }
  };
  return {
    view,
    record: mine?.record ?? view?.record ?? {},
    dirty,
    saving,
    error: error ?? (read.state === "failed" ? read.error : undefined),
    set: (record) => {
      setError(undefined);
      if (row !== null) setDraft({ row, record });
    },
    revert: () => {
      setError(undefined);
      setDraft(undefined);
    },
    save,
  };
}
