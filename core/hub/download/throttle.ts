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

  /** Waits until so many bytes more are within the limit. Returns the seconds waited. */
  async take(bytes: number, signal: AbortSignal): Promise<number> {
    if (this.#bytesPerSecond === null) return 0;
    const now = performance.now();
    const wait = Math.max(0, this.#freeAt - now);
    this.#freeAt = Math.max(this.#freeAt, now) + (bytes / this.#bytesPerSecond) * 1000;
    if (wait > 0) await sleep(wait, undefined, { signal });
    return wait / 1000;
  }
}
