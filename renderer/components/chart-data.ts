/** From metrics to what a chart draws: smoothed first, thinned out afterwards, gaps left as gaps. */

export interface Point {
  x: number;
  y: number;
}

export interface Band {
  x: number;
  lo: number;
  hi: number;
}

export interface ChartSeries {
  /** Unique in its chart. */
  id: string;
  label: string;
  /** A CSS colour; default: by its place. */
  color?: string;
  /** Ascending in x. A step without a value is left out, never 0. */
  points: readonly Point[];
  /** 95 % intervals, where there are any. */
  band?: readonly Band[];
  /** Single measurements: dots with a line between them, never smoothed. */
  dots?: boolean;
}

/**
 * One place on the x axis: `<id>` is the smoothed value, `<id> raw` the measured one, `<id> band` its interval. Behind a gap
 * a curve goes on as `<id> #1`, `<id> #2` …
 */
export type ChartRow = { x: number } & Record<string, number | [number, number] | undefined>;

/** More points than this are not told apart on a screen. */
const mostPoints = 240;

/**
 * Exponential moving average with weight 0 (none) to 0.99 on the past, de-biased as in TensorBoard: divided by 1 − weightⁿ,
 * so that the first values do not lean towards 0.
 */
export function smooth(points: readonly Point[], weight: number): Point[] {
  if (weight <= 0) return [...points];
  let mean = 0;
  return points.map(({ x, y }, index) => {
    mean = weight * mean + (1 - weight) * y;
    return { x, y: mean / (1 - weight ** (index + 1)) };
  });
}

/** At most `most` of the points: of each stretch the lowest and the highest, so that no spike is lost. Ends are kept. */
export function thin(points: readonly Point[], most = mostPoints): Point[] {
  if (points.length <= most) return [...points];
  const buckets = Math.max(1, Math.floor((most - 2) / 2));
  const kept = new Set<Point>([points[0], points[points.length - 1]]);
  const width = points.length / buckets;
  for (let bucket = 0; bucket < buckets; bucket++) {
    const stretch = points.slice(Math.floor(bucket * width), Math.floor((bucket + 1) * width));
    if (stretch.length === 0) continue;
    kept.add(stretch.reduce((low, point) => (point.y < low.y ? point : low)));
    kept.add(stretch.reduce((high, point) => (point.y > high.y ? point : high)));
  }
  return points.filter((point) => kept.has(point));
}

/** So many usual distances without a value are a gap, which no line bridges. */
const gap = 3;
/** A curve in more pieces than this is drawn as one. */
const mostPieces = 12;

/** Where the pieces of a curve begin: x of their first points. */
export function piecesOf(points: readonly Point[]): number[] {
  if (points.length === 0) return [];
  const steps = points.slice(1).map(({ x }, i) => x - points[i].x);
  const usual = [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
  const begins = points.flatMap(({ x }, i) => (i === 0 || steps[i - 1] > gap * usual ? [x] : []));
  return begins.length > mostPieces ? begins.slice(0, 1) : begins;
}

/** The keys of a curve's pieces in the rows. */
export function pieceKeys({ id, points, dots = false }: ChartSeries): string[] {
  const count = dots ? 1 : Math.max(1, piecesOf(points).length);
  return Array.from({ length: count }, (_, i) => (i === 0 ? id : `${id} #${i}`));
}

/** `log`: values that have no logarithm are left out. */
export function chartRows(
  series: readonly ChartSeries[],
  { smoothing, log }: { smoothing: number; log: boolean },
): ChartRow[] {
  const rows = new Map<number, ChartRow>();
  const row = (x: number): ChartRow => {
    const known = rows.get(x) ?? { x };
    rows.set(x, known);
    return known;
  };
  for (const one of series) {
    const { id, points, band = [], dots = false } = one;
    const usable = log ? points.filter(({ y }) => y > 0) : points;
    const raw = thin(usable);
    const begins = piecesOf(points);
    const keys = pieceKeys(one);
    const keyAt = (x: number) =>
      keys[Math.max(0, Math.min(keys.length, begins.filter((first) => first <= x).length) - 1)];
    for (const { x, y } of raw) row(x)[dots ? id : `${keyAt(x)} raw`] = y;
    if (!dots) for (const { x, y } of thin(smooth(usable, smoothing))) row(x)[keyAt(x)] = y;
    for (const { x, lo, hi } of band) if (!log || lo > 0) row(x)[`${id} band`] = [lo, hi];
  }
  return [...rows.values()].sort((a, b) => a.x - b.x);
}

/**
 * The range of the y axis. A constant series gets room around it, so that rounding does not look like a spike; references
 * are always in view.
 */
export function yDomain(rows: readonly ChartRow[], references: readonly number[], log: boolean): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  const take = (value: number) => {
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const row of rows) {
    for (const [key, value] of Object.entries(row)) {
      if (key === "x" || value === undefined) continue;
      if (typeof value === "number") take(value);
      else value.forEach(take);
    }
  }
  for (const value of references) if (!log || value > 0) take(value);
  if (low > high) return [0, 1];
  if (low === 0 && high === 0) return log ? [0.1, 10] : [0, 1];
  const scale = Math.max(Math.abs(low), Math.abs(high));
  if (high - low < scale * 1e-6) return log ? [low / 2, high * 2] : [low - scale * 0.1, high + scale * 0.1];
  if (log) return [low / 1.2, high * 1.2];
  const room = (high - low) * 0.06;
  return [low - room, high + room];
}

/** Round numbers within the range, about `count` of them: 1, 2 or 5 times a power of ten apart. */
export function niceTicks([low, high]: readonly [number, number], count = 5): number[] {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}
