/** Short forms of what models are. */

import type { HubSourceName } from "../../../core/contract/hub.ts";

/** `135M`, `1.24B`: as models are named. */
export function shortCount(count: number): string {
  const [value, unit] =
    count >= 999.5e6 ? [count / 1e9, "B"] : count >= 999.5e3 ? [count / 1e6, "M"] : [count / 1e3, "K"];
  return `${Number(value.toPrecision(3))}${unit}`;
}

/** The address of a repository's details. */
export function repoLink(source: HubSourceName, reference: string): string {
  return `/models/search?source=${source}&repo=${encodeURIComponent(reference)}`;
}
