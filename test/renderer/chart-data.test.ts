import { expect, test } from "vitest";
import { chartRows, niceTicks, smooth, thin, yDomain, type Point } from "../../renderer/components/chart-data.ts";

const points = (values: readonly number[]): Point[] => values.map((y, index) => ({ x: index + 1, y }));

test("smoothing is de-biased: the first value stays, a constant stays constant", () => {
  expect(smooth(points([4, 4, 4]), 0.9)).toEqual([1, 2, 3].map((x) => ({ x, y: expect.closeTo(4, 12) as number })));
  const [first, second] = smooth(points([1, 3]), 0.5);
  expect(first.y).toBeCloseTo(1);
  // (0.5·0.5·1 + 0.5·3) / (1 − 0.25)
  expect(second.y).toBeCloseTo(1.75 / 0.75);
  expect(smooth(points([1, 2]), 0)).toEqual(points([1, 2]));
});

test("thinning keeps ends, lowest and highest, and the order", () => {
  const many = points(Array.from({ length: 5000 }, (_, index) => Math.sin(index / 50)));
  many[1234] = { x: 1235, y: 99 };
  many[3000] = { x: 3001, y: -99 };
  const few = thin(many, 200);
  expect(few.length).toBeLessThanOrEqual(200);
  expect(few[0]).toEqual(many[0]);
  expect(few.at(-1)).toEqual(many.at(-1));
  expect(few).toContainEqual({ x: 1235, y: 99 });
  expect(few).toContainEqual({ x: 3001, y: -99 });
  expect(few.map(({ x }) => x)).toEqual(few.map(({ x }) => x).sort((a, b) => a - b));
});

test("smoothing comes before thinning: the last smoothed value is that of all points", () => {
  const many = points(Array.from({ length: 3000 }, (_, index) => (index % 7) + index / 1000));
  const rows = chartRows([{ id: "a", label: "a", points: many }], { smoothing: 0.9, log: false });
  expect(rows.at(-1)?.["a"]).toBeCloseTo(smooth(many, 0.9).at(-1)?.y ?? NaN, 12);
});

test("a missing value is a gap and never 0; on a logarithmic axis 0 and less are left out", () => {
  const series = [
    {
      id: "a",
      label: "a",
      points: [
        { x: 1, y: 0 },
        { x: 3, y: 10 },
      ],
    },
    { id: "b", label: "b", points: [{ x: 2, y: 5 }], dots: true },
  ];
  const rows = chartRows(series, { smoothing: 0, log: false });
  expect(rows.map(({ x }) => x)).toEqual([1, 2, 3]);
  expect(rows[1]["a"]).toBeUndefined();
  expect(rows[1]["b"]).toBe(5);
  expect(chartRows(series, { smoothing: 0, log: true }).map(({ x }) => x)).toEqual([2, 3]);
});

test("a constant series has room around it, and references are in view", () => {
  const rows = chartRows([{ id: "a", label: "a", points: points([0.5, 0.5000000001]) }], { smoothing: 0, log: false });
  const [low, high] = yDomain(rows, [], false);
  expect(high - low).toBeGreaterThan(0.05);
  expect(yDomain(rows, [0.92], false)[1]).toBeGreaterThan(0.92);
  expect(yDomain([], [], false)).toEqual([0, 1]);
});

test("ticks are round numbers within the range", () => {
  expect(niceTicks([-1.1, 1.05])).toEqual([-1, -0.5, 0, 0.5, 1]);
  expect(niceTicks([0.49, 0.52])).toEqual([0.49, 0.5, 0.51, 0.52]);
  expect(niceTicks([12.7, 24.6])).toEqual([15, 20]);
});
