import { expect, test } from "vitest";
import { isRl, methods, runConfigInputSchema, schedules } from "../../../core/contract/config.ts";
import { startTraining } from "../../../core/train/run.ts";
import { learningRate, makeSchedule, type ScheduleOptions } from "../../../core/train/schedule.ts";
import { toyConfig, toyModelFolder, toyRun } from "./toy-run.ts";

const options: ScheduleOptions = {
  learning_rate: 1,
  min_lr: 0.1,
  lr_scheduler_type: "constant",
  warmup_ratio: 0.03,
  warmup_steps: null,
};
const rates = (name: string, steps: number[], warmup_steps: number | null = 4, total = 24) =>
  steps.map((step) => learningRate(makeSchedule({ ...options, lr_scheduler_type: name, warmup_steps }, total), step));

test.each(schedules)("%s: the first step already learns, warm-up ends at the base rate", (name) => {
  expect(rates(name, [0, 1, 2, 3, 4])).toEqual([0.25, 0.5, 0.75, 1, 1]);
  expect(rates(name, [0], 0)).toEqual([1]);
  expect(rates(name, [0], null, 1)[0]).toBeGreaterThan(0);
});

test("the courses after warm-up, and past the end", () => {
  expect(rates("constant", [14, 24, 100])).toEqual([1, 1, 1]);
  const linear = rates("linear", [9, 14, 24, 100]);
  [0.775, 0.55, 0.1, 0.1].forEach((rate, i) => expect(linear[i]).toBeCloseTo(rate, 12));
  const cosine = rates("cosine", [9, 14, 24, 100]);
  [0.1 + 0.45 * (1 + Math.SQRT1_2), 0.55, 0.1, 0.1].forEach((rate, i) => expect(cosine[i]).toBeCloseTo(rate, 12));
});

test("warm-up by ratio is at most 20 steps; a number of steps is taken as given", () => {
  const warmup = (total: number, warmup_steps: number | null = null) =>
    makeSchedule({ ...options, warmup_steps }, total).warmupSteps;
  expect([warmup(400), warmup(10_000), warmup(10), warmup(400, 0), warmup(400, 50)]).toEqual([12, 20, 1, 0, 50]);
});

test("an unknown schedule is refused where it is named, not at the first optimizer step", () => {
  expect(() => makeSchedule({ ...options, lr_scheduler_type: "polynomial" }, 10)).toThrow(
    /no .* schedule "polynomial"/,
  );
  expect(runConfigInputSchema.safeParse({ lr_scheduler_type: "polynomial" }).success).toBe(false);
  expect(runConfigInputSchema.safeParse({ lr_scheduler_type: "cosine" }).success).toBe(true);
});

test.each(methods)("%s: every optimizer step of a run has the rate of its place in the schedule", async (method) => {
  const toy = toyRun();
  const { prompts_per_step, num_generations, ...both } = toyConfig;
  const course = { learning_rate: 0.1, min_lr: 0.01, lr_scheduler_type: "cosine", warmup_steps: 2 } as const;
  await startTraining(toy.context, {
    ...both,
    ...(isRl(method) ? { prompts_per_step, num_generations, num_mini_batches: 2 } : { batch_size: 4 }),
    ...(method === "ppo" && { critic_warmup_steps: 0 }),
    ...course,
    method,
    model: toyModelFolder(),
    output_dir: toy.output,
    max_steps: 4,
    eval_steps: 0,
    eval_on_start: false,
  });
  const total = isRl(method) ? 8 : 4;
  const schedule = makeSchedule({ ...options, ...course }, total);
  const expected = Array.from({ length: total }, (_, step) => learningRate(schedule, step));
  expect(toy.engine.opened[0].optimSteps.map(({ lr }) => lr)).toEqual(expected);
});
