/** The reward lab: a text that is written, the samples that it is tried on at once, and what came of it. Knows nothing of React. */

import { createStore, type StoreApi } from "zustand/vanilla";
import type { Api } from "../../core/contract/api/api.ts";
import type { LabResult, LabSource, RewardKind, RewardVersion } from "../../core/contract/api/reward-calls.ts";
import { errorKind, HoneError } from "../../core/contract/errors.ts";

/** The text is compared with what is saved, with what the run paid, or with an earlier version. */
export type LabCompare = { kind: "saved" } | { kind: "stored" } | { kind: "version"; id: string; text: string };

export interface LabState {
  path: string;
  kind: RewardKind;
  example: boolean;
  text: string;
  saved: string;
  version: string;
  history: RewardVersion[];
  source: LabSource | null;
  compare: LabCompare;
  result: LabResult | null;
  /** The result is not of the text as it stands. */
  stale: boolean;
  running: boolean;
  /** What went wrong beside the text itself: samples that cannot be read, a lost connection. */
  error: unknown;
  saving: boolean;
  /** Another program has changed the file; saving asks first. */
  conflict: boolean;
  setText: (text: string) => void;
  setSource: (source: LabSource | null) => void;
  setCompare: (compare: LabCompare) => void;
  /** `judges`: others may be asked, which a person has agreed to. */
  run: (options?: { judges?: boolean }) => Promise<void>;
  /** `over`: whatever another program has written since. */
  save: (options?: { over?: boolean }) => Promise<boolean>;
  /** Takes what is in the file now. */
  reload: () => Promise<void>;
  /** The file may have changed: says so, or takes it where nothing was edited. */
  look: () => Promise<void>;
  stop: () => void;
}

export type LabStore = StoreApi<LabState>;

/** Milliseconds without a key stroke before a text is tried. */
const pause = 350;

/** Opens a reward. Throws what reading it throws. */
export async function openLab(api: Api, path: string): Promise<LabStore> {
  const opened = await api.call("rewards.read", { path });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let abort: AbortController | undefined;
  const store: LabStore = createStore<LabState>((set, get) => {
    const soon = () => {
      clearTimeout(timer);
      abort?.abort();
      set({ stale: true, running: false });
      if (asksOthers(get())) return;
      timer = setTimeout(() => void get().run(), pause);
    };
    return {
      path,
      kind: opened.kind,
      example: opened.example,
      text: opened.text,
      saved: opened.text,
      version: opened.version,
      history: opened.history,
      source: null,
      compare: { kind: "saved" },
      result: null,
      stale: false,
      running: false,
      error: undefined,
      saving: false,
      conflict: false,
      setText: (text) => {
        if (text === get().text) return;
        set({ text });
        soon();
      },
      setSource: (source) => {
        set({ source, error: undefined });
        soon();
      },
      setCompare: (compare) => {
        set({ compare });
        soon();
      },
      run: async ({ judges = false } = {}) => {
        clearTimeout(timer);
        abort?.abort();
        const own = new AbortController();
        abort = own;
        const { text, source, compare, saved } = get();
        if (source === null) {
          set({ result: null, stale: false, running: false });
          return;
        }
        set({ running: true });
        try {
          const other = compare.kind === "version" ? compare.text : saved;
          const result = await api.call(
            "rewards.try",
            {
              path,
              text,
              source,
              judges,
              compare: compare.kind === "stored" ? { kind: "stored" } : { kind: "text", text: other },
            },
            { signal: own.signal },
          );
          if (!own.signal.aborted) set({ result, stale: false, running: false, error: undefined });
        } catch (error) {
          if (own.signal.aborted || errorKind(error) === "cancelled") return;
          set({ error, running: false, stale: false, result: null });
        }
      },
      save: async ({ over = false } = {}) => {
        const { text } = get();
        set({ saving: true });
        try {
          const version = over ? (await api.call("rewards.read", { path })).version : get().version;
          const written = await api.call("rewards.save", { path, text, version });
          set({ saved: written.text, version: written.version, history: written.history, conflict: false });
          if (get().compare.kind === "saved") soon();
          return true;
        } catch (error) {
          if (error instanceof HoneError && error.code === "file-changed") set({ conflict: true });
          else set({ error });
          return false;
        } finally {
          set({ saving: false });
        }
      },
      reload: async () => {
        const { text, version, history } = await api.call("rewards.read", { path });
        set({ text, saved: text, version, history, conflict: false });
        soon();
      },
      look: async () => {
        const { text, saved, version, saving } = get();
        if (saving) return;
        const found = await api.call("rewards.read", { path }).catch(() => undefined);
        if (found === undefined || found.version === version || get().version !== version) return;
        if (text === saved) await get().reload();
        else set({ conflict: true });
      },
      stop: () => {
        clearTimeout(timer);
        abort?.abort();
        set({ running: false });
      },
    };
  });
  return store;
}

/** Whether trying the text would ask other programs over the network: then a person says when. */
export function asksOthers({ kind, text }: Pick<LabState, "kind" | "text">): boolean {
  return kind === "parts" && /"type"\s*:\s*"(judge|http)"/.test(text);
}

export function isEdited({ text, saved }: Pick<LabState, "text" | "saved">): boolean {
  return text !== saved;
}
