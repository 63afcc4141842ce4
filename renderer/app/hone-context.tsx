/** How components reach Hone: the api and the app's store. */

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

/**
 * The result of a call that only reads: called when the input is another, and again when `follow` has changed. While a
 * newer answer is awaited the older one stays.
 */
export function useCall<Name extends CallName>(
  name: Name,
  input: CallInput<Name>,
  { follow, enabled = true }: { follow?: LibraryPart; enabled?: boolean } = {},
): Loaded<CallResult<Name>> & { reload: () => void } {
  const api = useApi();
  const [loaded, setLoaded] = useState<Loaded<CallResult<Name>>>({
    state: "loading",
    value: undefined,
    error: undefined,
  });
  const [turn, setTurn] = useState(0);
  const text = JSON.stringify(input);
  const latest = useRef(input);
  latest.current = input;
  useEffect(() => {
    if (!enabled) return undefined;
    const abort = new AbortController();
    api.call(name, latest.current, { signal: abort.signal }).then(
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
  }, [api, name, text, turn, enabled]);
  useEffect(() => {
    if (follow === undefined) return undefined;
    return api.subscribe("library", (part) => {
      if (part === follow) setTurn((before) => before + 1);
    });
  }, [api, follow]);
  return { ...loaded, reload: () => setTurn((before) => before + 1) };
}
