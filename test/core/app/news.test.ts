import { expect, test, vi } from "vitest";
import type { MetricsRow } from "../../../core/contract/run.ts";
import type { RunNews } from "../../../core/contract/api/api.ts";
import { News } from "../../../core/app/service/news.ts";
import { RunNewsDesk } from "../../../core/app/service/run-news.ts";

const row = (step: number): MetricsRow => ({ step, time: step });

test("a fast run cannot flood a window: its rows come gathered, each once and in order", () => {
  vi.useFakeTimers();
  const news = new News();
  const desk = new RunNewsDesk(news);
  const told: RunNews[] = [];
  news.subscribe("run", "fast", (one) => told.push(one as RunNews));
  for (let step = 1; step <= 1000; step++) {
    desk.add("fast", { rows: [row(step)], rollout_steps: [step] });
    desk.add("other", { rows: [row(step)] });
    vi.advanceTimersByTime(1);
  }
  vi.advanceTimersByTime(1000);
  expect(told.length).toBeLessThanOrEqual(11);
  expect(told.flatMap(({ rows }) => rows.map(({ step }) => step))).toEqual(
    Array.from({ length: 1000 }, (_, i) => i + 1),
  );
  vi.useRealTimers();
});

test("the list of jobs is told as it is when it is told, not as it was", () => {
  vi.useFakeTimers();
  const news = new News();
  const told: unknown[] = [];
  news.subscribe("jobs", undefined, (list) => told.push(list));
  let state = 0;
  for (let i = 0; i < 500; i++) {
    state = i;
    news.tellSoon("jobs", () => state);
  }
  vi.advanceTimersByTime(100);
  expect(told).toEqual([499]);
  vi.useRealTimers();
});
