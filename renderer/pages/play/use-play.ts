/** The game of this window: it stays while other pages are looked at. */

import { useStore } from "zustand";
import type { Api } from "../../../core/contract/api/api.ts";
import { useApi } from "../../app/hone-context.tsx";
import { createPlayStore, type PlayState, type PlayStore } from "../../stores/play-store.ts";

const stores = new WeakMap<Api, PlayStore>();

export function usePlayStore(): PlayStore {
  const api = useApi();
  let store = stores.get(api);
  if (store === undefined) {
    store = createPlayStore(api);
    stores.set(api, store);
  }
  return store;
}

export function usePlay<T>(pick: (state: PlayState) => T): T {
  return useStore(usePlayStore(), pick);
}
