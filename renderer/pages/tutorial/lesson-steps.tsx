import { UnstyledButton } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Lesson, LessonProgress } from "../../../core/contract/lesson.ts";
import classes from "./lesson-view.module.css";
import { useLessonText } from "./use-lesson-text.ts";

interface LessonStepsProps {
  lesson: Lesson;
  progress: LessonProgress;
  onGo: (step: string) => void;
}

/** All steps can be reached at any time: whoever knows some of it may go on where it is new. */
export function LessonSteps({ lesson, progress, onGo }: LessonStepsProps) {
  const { t } = useTranslation();
  const text = useLessonText();
  return (
    <ol style={{ listStyle: "none", margin: 0, padding: 0 }}>
      {lesson.steps.map(({ id, title }, index) => {
        const done = progress.done.includes(id);
        return (
          <li key={id}>
            <UnstyledButton
              className={classes.step}
              onClick={() => onGo(id)}
              {...(id === progress.step && { "aria-current": "step" as const })}
            >
              <span className={classes.mark} data-done={done || undefined} aria-hidden>
                {done ? "✓" : index + 1}
              </span>
              <span>
                {text(title)}
                {done && <span className="hone-unseen"> ({t("tutorial.done")})</span>}
              </span>
            </UnstyledButton>
          </li>
        );
      })}
    </ol>
  );
}
