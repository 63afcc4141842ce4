/** Changes to one dataset, each made to the rows that the person was looking at. */

import { useCallback, useRef, useState } from "react";
import type { CallInput } from "../../../core/contract/api/api.ts";
import type { DatasetChange, DatasetView } from "../../../core/contract/api/data-calls.ts";
import { useApi } from "../../app/hone-context.tsx";

type ChangeCall = "data.edit" | "data.add" | "data.delete_rows" | "data.undo" | "data.redo" | "data.restore";
type Given<Name extends ChangeCall> = Omit<CallInput<Name>, "name" | "point">;

export interface Changes {
  /** Of the rows as they are known to be now. */
  point: number;
  rows: number;
  /** What the last change was, in words; for being read aloud. */
  said: string | null;
  /** Throws what is wrong. */
  make: <Name extends ChangeCall>(call: Name, input: Given<Name>) => Promise<DatasetChange>;
  /** A change that was made by another call. */
  made: (change: DatasetChange) => void;
}

export function useChanges(view: DatasetView): Changes {
  const api = useApi();
  const { name } = view;
  const [last, setLast] = useState<DatasetChange>();
  // A change is newer than the view until the view is read again; another window's change is newer than both.
  const newer = last !== undefined && last.point > view.point ? last : view;
  const point = useRef(newer.point);
  point.current = newer.point;
  const made = useCallback((change: DatasetChange) => {
    point.current = change.point;
    setLast(change);
  }, []);
  const make = useCallback<Changes["make"]>(
    async (call, input) => {
      const whole = { ...input, name, point: point.current } as unknown as CallInput<typeof call>;
      const change: DatasetChange = await api.call(call, whole);
      made(change);
      return change;
    },
    [api, name, made],
  );
  return { point: newer.point, rows: newer.rows, said: last?.note ?? null, make, made };
}
