/** How components reach Hone: the api, the app's store, and what is read of it: when a page opens, and again when it may be another. */

import { createContext, use, useEffect, useRef, useState, type ReactNode } from "react";
import { useStore } from "zustand";
import type { Api, CallInput, CallName, CallResult, LibraryPart } from "../../core/contract/api/api.ts";
import { errorKind } from "../../core/contract/errors.ts";
import type { AppState, AppStore } from "../stores/app-store.ts";

interface Hone {
  api: Api;
  store: AppStore;
}

const HoneContext = createContext<Hone | undefined>(undefined);

export function HoneProvider({ api, store, children }: Hone & { children: ReactNode }) {
  return <HoneContext value={{ api, store }}>{children}</HoneContext>;
}

function useHone(): Hone {
  const hone = use(HoneContext);
  if (hone === undefined) throw new Error("useHone outside of HoneProvider");
  return hone;
}

export function useApi(): Api {
  return useHone().api;
}

export function useApp<T>(pick: (state: AppState) => T): T {
  return useStore(useHone().store, pick);
}

export type Loaded<T> =
  | { state: "loading"; value: undefined; error: undefined }
  | { state: "ready"; value: T; error: undefined }
  | { state: "failed"; value: undefined; error: unknown };

export type Reloadable<T> = Loaded<T> & { reload: () => void };

interface LoadOptions {
  /** Read again when this part of the library has changed. */
  follow?: LibraryPart;
  /** Nothing is read before it is true. */
  enabled?: boolean;
}

/** The result of a call that only reads, as `useLoaded` of its input. */
export function useCall<Name extends CallName>(
  name: Name,
  input: CallInput<Name>,
  options: LoadOptions = {},
): Reloadable<CallResult<Name>> {
  const api = useApi();
  return useLoaded(`${name} ${JSON.stringify(input)}`, (signal) => api.call(name, input, { signal }), options);
}

/** What several calls come to. `load` is called when `key` is another. While a newer result is awaited the older one stays. */
export function useLoaded<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  { follow, enabled = true }: LoadOptions = {},
): Reloadable<T> {
  const api = useApi();
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading", value: undefined, error: undefined });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (!enabled) return undefined;
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
  }, [api, key, turn, enabled]);
  useEffect(() => {
    if (follow === undefined) return undefined;
    return api.subscribe("library", (part) => {
      if (part === follow) setTurn((before) => before + 1);
    });
  }, [api, follow]);
  return { ...loaded, reload: () => setTurn((before) => before + 1) };
}
