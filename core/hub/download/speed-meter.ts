/** Bytes per second over the last seconds: steady enough to read, quick enough to notice a halt. */

const windowSeconds = 8;

export class SpeedMeter {
  #samples: { at: number; bytes: number }[] = [];
  #total = 0;

  add(bytes: number, now = performance.now()): void {
    this.#total += bytes;
    const last = this.#samples.at(-1);
    // A few samples a second are enough.
    if (last !== undefined && now - last.at < 100) last.bytes = this.#total;
    else this.#samples.push({ at: now, bytes: this.#total });
    this.#forget(now);
  }

  /** 0 while nothing has come for a whole window. */
  bytesPerSecond(now = performance.now()): number {
    this.#forget(now);
    const first = this.#samples.at(0);
    if (first === undefined) return 0;
    const seconds = (now - first.at) / 1000;
    return seconds < 0.05 ? 0 : (this.#total - first.bytes) / seconds;
  }

  #forget(now: number): void {
    // The last one before the window is where it begins.
    while (this.#samples.length > 1 && now - this.#samples[1].at > windowSeconds * 1000) this.#samples.shift();
    const last = this.#samples.at(-1);
    if (last !== undefined && now - last.at > windowSeconds * 1000) this.#samples = [];
  }
}
