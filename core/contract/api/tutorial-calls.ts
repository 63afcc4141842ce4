/** Calls about lessons, and how far a person is in them. */

import { z } from "zod";
import { lessonProgressSchema, type Lesson, type LessonProgress } from "../lesson.ts";
import { call } from "./call.ts";

export interface ListedLesson {
  lesson: Lesson;
  progress: LessonProgress | null;
}

export const tutorialCalls = {
  /** Hone's own lessons, then those in the `lessons` folder of Hone's home. */
  "tutorial.lessons": call<{ lessons: ListedLesson[]; problems: { path: string; why: string }[] }>()(z.object({})),
  "tutorial.save": call<null>()(lessonProgressSchema),
  /** Forgets how far the person is; what was trained and measured stays. */
  "tutorial.restart": call<null>()(z.object({ lesson: z.string() })),
  /** Writes the reward of a lesson into the library of rewards, and answers with its path. */
  "tutorial.reward": call<{ path: string }>()(z.object({ lesson: z.string(), text: z.string().max(100_000) })),
};
