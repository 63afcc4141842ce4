/** Which bytes of a file are there: half-open intervals, sorted, apart from each other. */

export type Interval = readonly [start: number, end: number];

export class RangeSet {
  #intervals: [number, number][] = [];

  static from(intervals: readonly Interval[]): RangeSet {
    const set = new RangeSet();
    for (const [start, end] of intervals) set.add(start, end);
    return set;
  }

  add(start: number, end: number): void {
    if (end <= start) return;
    const merged: [number, number] = [start, end];
    const others: [number, number][] = [];
    for (const [from, to] of this.#intervals) {
      if (to < start || from > end) others.push([from, to]);
      else {
        merged[0] = Math.min(merged[0], from);
        merged[1] = Math.max(merged[1], to);
      }
    }
    this.#intervals = [...others, merged].sort((a, b) => a[0] - b[0]);
  }

  remove(start: number, end: number): void {
    if (end <= start) return;
    this.#intervals = this.#intervals.flatMap(([from, to]): [number, number][] => {
      if (to <= start || from >= end) return [[from, to]];
      const rest: [number, number][] = [];
      if (from < start) rest.push([from, start]);
      if (to > end) rest.push([end, to]);
      return rest;
    });
  }

  get size(): number {
    return this.#intervals.reduce((sum, [from, to]) => sum + to - from, 0);
  }

  /** How many bytes are there from the beginning without a gap. */
  get prefix(): number {
    const first = this.#intervals.at(0);
    return first !== undefined && first[0] === 0 ? first[1] : 0;
  }

  intervals(): Interval[] {
    return this.#intervals.map(([from, to]) => [from, to]);
  }

  /** The gaps within [start, end), in order. */
  missing(start: number, end: number): Interval[] {
    const gaps: Interval[] = [];
    let at = start;
    for (const [from, to] of this.#intervals) {
      if (to <= at) continue;
      if (from >= end) break;
      if (from > at) gaps.push([at, from]);
      at = Math.max(at, to);
    }
    if (at < end) gaps.push([at, end]);
    return gaps;
  }
}
