import { expect, test } from "vitest";
import type { Api, RunNews } from "../../core/contract/api/api.ts";
import type { RunDetails } from "../../core/contract/api/run-calls.ts";
import { createRunStore, withNews } from "../../renderer/stores/run-store.ts";

const news = (more: Partial<RunNews>): RunNews => ({
  rows: [],
  events: [],
  rollout_steps: [],
  checkpoints: [],
  ...more,
});
const run = {
  name: "r",
  step: 2,
  metrics: [
    { step: 1, time: 1, reward: 0 },
    { step: 2, time: 2, reward: 0.1 },
  ],
  events: [],
  rollout_steps: [1, 2],
  checkpoints: [],
} as unknown as RunDetails;

test("news are added in order; a step that is done again takes the place of the older one", () => {
  const next = withNews(
    run,
    news({
      rows: [
        { step: 2, time: 9, reward: 0.5 },
        { step: 3, time: 10 },
      ],
      checkpoints: [3],
    }),
  );
  expect(next.metrics.map(({ step, time }) => [step, time])).toEqual([
    [1, 1],
    [2, 9],
    [3, 10],
  ]);
  expect(next.step).toBe(3);
  expect(next.checkpoints).toEqual([3]);
  const event = { time: 5, step: 3, kind: "alarm" as const, name: "entropy", message: "m" };
  const told = withNews(withNews(next, news({ events: [event] })), news({ events: [event] }));
  expect(told.events).toHaveLength(1);
});

test("news that come before the run was read are not lost, and a run that is gone is an error", async () => {
  const { promise, resolve, reject } = Promise.withResolvers<RunDetails>();
  const tell: ((told: RunNews) => void)[] = [];
  const api = {
    call: () => promise,
    subscribe: (topic: string, listener: (told: RunNews) => void) => {
      if (topic === "run") tell.push(listener);
      return () => undefined;
    },
  } as unknown as Api;
  const store = createRunStore(api, "r");
  const end = store.follow();
  tell[0](news({ rows: [{ step: 3, time: 3 }] }));
  resolve(run);
  await promise;
  expect(store.getState().run?.metrics).toHaveLength(3);
  end();
  void reject;

  const failing = createRunStore({ ...api, call: () => Promise.reject(new Error("gone")) }, "r");
  failing.follow();
  await new Promise((done) => setTimeout(done));
  expect(failing.getState().error).toEqual(new Error("gone"));
});
