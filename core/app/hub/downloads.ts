/** The queue of downloads behind every window: opened by the first call, told to all who listen, put away at the end. */

import type { Download } from "../../contract/hub.ts";
import { DownloadQueue } from "../../hub/download/download-queue.ts";
import type { CallContext } from "../service/handlers.ts";
import { readSettings } from "../service/settings.ts";
import { hubSettings } from "./hub-settings.ts";

/** At most ten times a second. */
const tellMs = 100;

let opened: DownloadQueue | undefined;

/** Goes on with what an earlier process left. Throws `downloads-busy`. */
export function openDownloads(context: Pick<CallContext, "secret" | "tell">): DownloadQueue {
  if (opened !== undefined) return opened;
  const { download_limit, downloads_at_once } = readSettings();
  const queue = new DownloadQueue({
    hubs: () => hubSettings(context),
    bandwidthLimit: download_limit,
    parallel: downloads_at_once,
  });
  opened = queue;
  tellOf(queue, context);
  return queue;
}

/** Where the queue is open: what the settings say now counts at once. */
export function applyDownloadSettings(): void {
  if (opened === undefined) return;
  const { download_limit, downloads_at_once } = readSettings();
  opened.bandwidthLimit = download_limit;
  opened.parallel = downloads_at_once;
}

/** Stops all downloads where they are; the next Hone goes on with them. */
export async function closeDownloads(): Promise<void> {
  const queue = opened;
  opened = undefined;
  await queue?.close();
}

function tellOf(queue: DownloadQueue, { tell }: Pick<CallContext, "tell">): void {
  let timer: NodeJS.Timeout | undefined;
  let done = doneIds(queue.list());
  queue.subscribe((list) => {
    const now = doneIds(list);
    for (const { id, ref } of list) {
      if (now.has(id) && !done.has(id)) tell("library", ref.kind === "model" ? "models" : "datasets");
    }
    done = now;
    timer ??= setTimeout(() => {
      timer = undefined;
      tell("downloads", queue.list());
    }, tellMs);
  });
}

function doneIds(list: readonly Download[]): Set<string> {
  return new Set(list.flatMap(({ id, state }) => (state === "done" ? [id] : [])));
}
