/** How far an evaluation has come: one line that is redrawn, or one line per stage where there is no terminal. */

import type { EvaluationStage } from "../evaluate/evaluate-task.ts";
import { say } from "./terminal.ts";

const stageNames: Record<EvaluationStage, string> = {
  sampled: "answering, sampled",
  greedy: "answering, greedy",
  games: "playing games",
  scoring: "scoring given answers",
  control: "measuring the control",
};

export class EvaluationProgress {
  readonly #label: string;
  #stage: EvaluationStage | undefined;

  constructor(label = "measuring") {
    this.#label = label;
  }

  readonly show = ({ stage, done, total }: { stage: EvaluationStage; done: number; total: number }): void => {
    const text = `${this.#label}: ${stageNames[stage]}`;
    if (process.stderr.isTTY) process.stderr.write(`\r${text} ${done}/${total}\u001b[K`);
    else if (stage !== this.#stage) say(`${text} (${total})`);
    this.#stage = stage;
  };

  end(): void {
    if (process.stderr.isTTY && this.#stage !== undefined) process.stderr.write("\r\u001b[K");
    this.#stage = undefined;
  }
}
