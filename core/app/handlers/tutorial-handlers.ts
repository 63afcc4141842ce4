import type { Handlers } from "../service/handlers.ts";
import { listLessons, restartLesson, saveProgress, writeLessonReward } from "../tutorial/lessons.ts";

export const tutorialHandlers: Handlers<"tutorial"> = {
  "tutorial.lessons": () => listLessons(),
  "tutorial.save": (progress) => (saveProgress(progress), null),
  "tutorial.restart": ({ lesson }) => (restartLesson(lesson), null),
  "tutorial.reward": ({ lesson, text }, context) => {
    const path = writeLessonReward(lesson, text);
    context.tell("library", "rewards");
    return { path };
  },
};
