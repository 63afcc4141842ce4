/** How far a person is in a lesson. Every change is saved, so that a lesson can be left at any moment. */

import { createStore, type StoreApi } from "zustand/vanilla";
import type { Lesson, LessonProgress, LessonStep } from "../../core/contract/lesson.ts";

export interface LessonState {
  progress: LessonProgress;
  /** Shows a step. */
  go: (step: string) => void;
  /** Answers the question of a step; it can be answered once. */
  predict: (step: string, answer: number) => void;
  /** The step's activity was really done. */
  complete: (step: string) => void;
  /** What a step made. */
  keep: (change: Partial<Pick<LessonProgress, "reward" | "answers" | "job" | "run">>) => void;
  keepEvaluation: (step: string, id: string) => void;
  /** To the step behind this one; behind the last one the lesson is finished. */
  next: () => void;
  restart: () => void;
}

export type LessonStore = StoreApi<LessonState>;

export function createLessonStore(
  lesson: Lesson,
  begun: LessonProgress | null,
  save: (progress: LessonProgress) => void,
): LessonStore {
  return createStore<LessonState>((set, get) => {
    const change = (more: Partial<LessonProgress>) => {
      const progress = { ...get().progress, ...more };
      set({ progress });
      save(progress);
    };
    return {
      progress: begun ?? newProgress(lesson),
      go: (step) => change({ step }),
      predict: (step, answer) => {
        const { predictions } = get().progress;
        if (!(step in predictions)) change({ predictions: { ...predictions, [step]: answer } });
      },
      complete: (step) => {
        const { done } = get().progress;
        if (!done.includes(step)) change({ done: [...done, step] });
      },
      keep: (more) => change(more),
      keepEvaluation: (step, id) => change({ evaluations: { ...get().progress.evaluations, [step]: id } }),
      next: () => {
        const { step } = get().progress;
        const following = lesson.steps[lesson.steps.findIndex(({ id }) => id === step) + 1] as LessonStep | undefined;
        change(following === undefined ? { finished: true } : { step: following.id });
      },
      restart: () => change(newProgress(lesson)),
    };
  });
}

function newProgress({ id, steps }: Lesson): LessonProgress {
  return {
    lesson: id,
    step: steps[0].id,
    done: [],
    predictions: {},
    evaluations: {},
    reward: null,
    answers: null,
    job: null,
    run: null,
    finished: false,
  };
}
