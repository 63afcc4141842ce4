import { secondsLeft } from "../../contract/numbers.ts";
import type { WorkContext } from "./work.ts";

interface AnswerProgress {
  stage: string;
  done: number;
  total: number;
}

/** Shows how many answers are there, and how long the rest may take at the speed of this stage. */
export function reportAnswers(context: WorkContext): (now: AnswerProgress) => void {
  let begun = performance.now();
  let last: string | undefined;
  return ({ stage, done, total }) => {
    if (stage !== last) begun = performance.now();
    last = stage;
    context.report({
      phase: stage,
      progress: { done, total, unit: "answer" },
      seconds_left: secondsLeft((performance.now() - begun) / 1000, done, total),
    });
  };
}
