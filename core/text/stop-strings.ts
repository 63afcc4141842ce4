/**
 * Stop strings over streamed text. A stop string may lie across tokens, so text that could be the beginning of one is held
 * back until it is certain; the stop string itself and what follows are never given out.
 */
export class StopStrings {
  readonly #stops: readonly string[];
  #held = "";
  /** The stop string that was met. */
  met: string | undefined;

  /** Empty strings are left out: they would stop at once. */
  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== "");
  }

  /** Text that is certain after `text` has come. Nothing any more once a stop string was met. */
  push(text: string): string {
    if (this.met !== undefined) return "";
    this.#held += text;
    let end = -1;
    for (const stop of this.#stops) {
      const at = this.#held.indexOf(stop);
      if (at >= 0 && (end < 0 || at < end)) {
        end = at;
        this.met = stop;
      }
    }
    return this.#take(end >= 0 ? end : this.#held.length - this.#undecided());
  }

  /** What was held back, when no more text comes. */
  flush(): string {
    return this.met === undefined ? this.#take(this.#held.length) : "";
  }

  #take(count: number): string {
    const certain = this.#held.slice(0, count);
    this.#held = this.#held.slice(count);
    return certain;
  }

  /** Length of the longest end of the held text that begins a stop string. */
  #undecided(): number {
    let longest = 0;
    for (const stop of this.#stops) {
      for (let n = Math.min(stop.length - 1, this.#held.length); n > longest; n--) {
        if (this.#held.endsWith(stop.slice(0, n))) longest = n;
      }
    }
    return longest;
  }
}
