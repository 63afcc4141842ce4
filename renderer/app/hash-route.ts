/** Routes behind the `#`, query included (`#/runs/NAME?tab=answers`): the same in a browser and in the desktop's own protocol. */

import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) addEventListener("hashchange", notify);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) removeEventListener("hashchange", notify);
  };
}

function notify(): void {
  for (const listener of listeners) listener();
}

function current(): [path: string, query: string] {
  const route = location.hash.replace(/^#?\/?/, "/");
  const mark = route.indexOf("?");
  return mark < 0 ? [route, ""] : [route.slice(0, mark), route.slice(mark + 1)];
}

/** `to`: a path with its query. */
function navigate(to: string, { replace = false, state = null }: { replace?: boolean; state?: unknown } = {}): void {
  const before = location.href;
  const url = new URL(before);
  url.hash = to;
  if (replace) history.replaceState(state, "", url);
  else history.pushState(state, "", url);
  // Neither of the two tells anybody.
  dispatchEvent(new HashChangeEvent("hashchange", { oldURL: before, newURL: url.href }));
}

/** For wouter's `hook`. */
export function useHashPath(): [string, typeof navigate] {
  return [useSyncExternalStore(subscribe, () => current()[0]), navigate];
}
useHashPath.hrefs = (href: string) => `#${href}`;

/** For wouter's `searchHook`. */
export function useHashQuery(): string {
  return useSyncExternalStore(subscribe, () => current()[1]);
}
