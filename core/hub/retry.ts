/** Patience with a hub that is busy or a line that is bad: waits that grow, with jitter. */

import { setTimeout as sleep } from "node:timers/promises";
import { HoneError } from "../contract/errors.ts";
import { isTransient, RetryLaterError } from "./http.ts";

export interface RetryOptions {
  /** Attempts in all. Default 4. */
  attempts?: number;
  signal?: AbortSignal | undefined;
  /** Seconds before the second attempt; each later wait is twice as long. Default 0.5. */
  firstWait?: number;
}

/** A wait that is asked for and longer than this is the user's decision. */
const longestAsked = 20;

/** Nobody is there: a third attempt seconds later finds nobody either, and a user without a network waits for nothing. */
function isAway(error: unknown): boolean {
  return error instanceof HoneError && (error.code === "offline" || error.code === "connection-refused");
}

/** Does `work` again while it fails with what may pass. Throws the last error. */
export async function withRetry<T>(work: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { attempts = 4, signal, firstWait = 0.5 } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const asked = error instanceof RetryLaterError ? error.afterSeconds : undefined;
      const most = isAway(error) ? Math.min(2, attempts) : attempts;
      if (!isTransient(error) || attempt >= most || (asked ?? 0) > longestAsked) throw error;
      const wait = asked ?? retryWait(attempt, firstWait);
      await sleep(wait * 1000, undefined, signal === undefined ? {} : { signal });
    }
  }
}

/** Seconds before attempt `attempt + 1`: doubled each time, then between half and all of it, so that clients spread out. */
export function retryWait(attempt: number, first = 0.5, most = 30): number {
  const wait = Math.min(most, first * 2 ** (attempt - 1));
  return wait * (0.5 + Math.random() / 2);
}
