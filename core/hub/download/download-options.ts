/** What a download may be told, and what it tells. */

import type { FileProgress, HubSourceName } from "../../contract/hub.ts";
import type { CheckKind } from "./checksum.ts";
import type { Disk } from "./data-file.ts";
import type { Supply } from "./file-task.ts";
import type { Throttle } from "./throttle.ts";

/** How long a download bears with the network, in seconds unless it says otherwise. */
export interface Patience {
  /** Longest silence of a connection. */
  idle: number;
  /** A connection is given up that brings less than a kilobyte a second for so long. */
  slow: number;
  firstWait: number;
  longestWait: number;
  /** Goes on trying for so long after the last byte, while the trouble may pass. */
  total: number;
  /** Answers that are plainly wrong, in a row, and checks that fail. */
  attempts: number;
}

export const usualPatience: Patience = { idle: 30, slow: 20, firstWait: 0.5, longestWait: 30, total: 900, attempts: 6 };

export interface DownloadProgress {
  source: HubSourceName;
  /** Of all files; what was here before counts as done. */
  bytes: number;
  bytes_done: number;
  /** Came over the network in this attempt. */
  fetched_bytes: number;
  bytes_per_second: number;
  /** Null while nothing moves. */
  seconds_left: number | null;
  files: FileProgress[];
  /** Attempts that failed and were made again. */
  retries: number;
  /** What it waits for, in words; null while bytes come. */
  note: string | null;
}

export interface DownloadOptions {
  signal?: AbortSignal | undefined;
  /** At most four times a second, and once at the end. */
  onProgress?: ((progress: DownloadProgress) => void) | undefined;
  /** Bytes per second; a `Throttle` is shared between downloads and may change. */
  bandwidthLimit?: number | Throttle | null | undefined;
  /** Ranges that are fetched at a time. Default 8. */
  connections?: number | undefined;
  /** Another place that has the same contents: asked for when the first one fails. Undefined: there is none. */
  alternative?: ((signal: AbortSignal) => Promise<Supply | undefined>) | undefined;
  /** Files that are here are hashed again, and fetched again when they are damaged. */
  checkExisting?: boolean | undefined;
  patience?: Partial<Patience> | undefined;
  /** Most bytes of one request. Default 16 MiB. */
  pieceBytes?: number | undefined;
  /** Between two notes of what is there. Default 2. */
  noteSeconds?: number | undefined;
  disk?: Disk | undefined;
}

export interface DownloadResult {
  /** Folder of the snapshot. */
  path: string;
  bytes: number;
  fetched_bytes: number;
  seconds: number;
  retries: number;
  files: { path: string; size: number; checked: CheckKind }[];
}
