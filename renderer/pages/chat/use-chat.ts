/** The conversation of this window: it stays while other pages are looked at. */

import { useStore } from "zustand";
import type { Api } from "../../../core/contract/api/api.ts";
import { useApi } from "../../app/hone-context.tsx";
import { createChatStore, type ChatState, type ChatStore } from "../../stores/chat-store.ts";

const stores = new WeakMap<Api, ChatStore>();

export function useChatStore(): ChatStore {
  const api = useApi();
  let store = stores.get(api);
  if (store === undefined) {
    store = createChatStore(api);
    stores.set(api, store);
  }
  return store;
}

export function useChat<T>(pick: (state: ChatState) => T): T {
  return useStore(useChatStore(), pick);
}
