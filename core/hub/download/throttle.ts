/** A limit of bytes per second that all connections share. */

import { setTimeout as sleep } from "node:timers/promises";

export class Throttle {
  #bytesPerSecond: number | null;
  /** When what was taken so far has had its time, in milliseconds. */
  #freeAt = 0;

  /** Null: no limit. */
  constructor(bytesPerSecond: number | null = null) {
    this.#bytesPerSecond = bytesPerSecond;
  }

  get bytesPerSecond(): number | null {
    return this.#bytesPerSecond;
  }

  set bytesPerSecond(limit: number | null) {
    this.#bytesPerSecond = limit;
    this.#freeAt = 0;
  }

  /** Waits until so many bytes more are within the limit, or the limit is another. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    const limit = this.#bytesPerSecond;
    if (limit === null) return;
    const due = Math.max(this.#freeAt, performance.now());
    this.#freeAt = due + (bytes / limit) * 1000;
    for (;;) {
      const wait = due - performance.now();
      if (wait <= 0 || this.#bytesPerSecond !== limit) return;
      await sleep(Math.min(wait, 100), undefined, { signal });
    }
  }
}
