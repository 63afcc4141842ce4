/** The result of several calls at once, as `useCall` is of one. */

import { useEffect, useRef, useState } from "react";
import { errorKind } from "../../core/contract/errors.ts";
import type { Loaded } from "../app/hone-context.tsx";

/** `load` is called when `key` is another, and by `reload`. */
export function useLoaded<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
): Loaded<T> & { reload: () => void } {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading", value: undefined, error: undefined });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const abort = new AbortController();
    latest.current(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setLoaded({ state: "ready", value, error: undefined });
      },
      (error: unknown) => {
        if (abort.signal.aborted || errorKind(error) === "cancelled") return;
        setLoaded({ state: "failed", value: undefined, error });
      },
    );
    return () => {
      abort.abort();
    };
  }, [key, turn]);
  return { ...loaded, reload: () => setTurn((before) => before + 1) };
}
