import type { Lesson, LessonStep } from "../../../core/contract/lesson.ts";
import type { LessonStore } from "../../stores/lesson-store.ts";

/** What the part of a step gets in which a person does something. */
export interface ActivityProps<Kind extends LessonStep["kind"]> {
  lesson: Lesson;
  step: Extract<LessonStep, { kind: Kind }>;
  store: LessonStore;
  /** Called when it was really done; more than once does no harm. */
  onDone: () => void;
}
