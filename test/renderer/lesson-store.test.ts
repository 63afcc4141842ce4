import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lessonSchema, type LessonProgress } from "../../core/contract/lesson.ts";
import { createLessonStore } from "../../renderer/stores/lesson-store.ts";

const path = new URL("../../assets/lessons/tic-tac-toe.json", import.meta.url);
const lesson = lessonSchema.parse(JSON.parse(readFileSync(path, "utf8")));

test("a lesson goes from step to step, keeps what was answered and made, and saves every change", () => {
  const saved: LessonProgress[] = [];
  const store = createLessonStore(lesson, null, (progress) => saved.push(progress));
  const state = () => store.getState();
  expect(state().progress.step).toBe("meet");
  state().predict("meet", 1);
  state().predict("meet", 2);
  expect(state().progress.predictions).toEqual({ meet: 1 });
  state().complete("meet");
  state().complete("meet");
  expect(state().progress.done).toEqual(["meet"]);
  state().next();
  state().keepEvaluation("before", "e1");
  state().keep({ run: "r" });
  expect(saved.at(-1)).toMatchObject({ step: "before", evaluations: { before: "e1" }, run: "r", finished: false });
  for (let i = 0; i < lesson.steps.length; i++) state().next();
  expect(state().progress).toMatchObject({ step: "yours", finished: true });
});

test("a lesson that was left goes on where it was, and can be begun again", () => {
  const saved: LessonProgress[] = [];
  const first = createLessonStore(lesson, null, (progress) => saved.push(progress));
  first.getState().go("train");
  const second = createLessonStore(lesson, saved[0], () => undefined);
  expect(second.getState().progress.step).toBe("train");
  second.getState().restart();
  expect(second.getState().progress).toMatchObject({ step: "meet", done: [], finished: false });
});
