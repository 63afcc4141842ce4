/** Where a step's time went, and how long the rest will take. */

import { mean } from "../contract/numbers.ts";

const recent = 20;

export class StepClock {
  readonly #started = performance.now();
  #lap = this.#started;
  readonly #laps: Record<string, number> = {};

  lap(name: string): void {
    const now = performance.now();
    this.#laps[name] = (now - this.#lap) / 1000;
    this.#lap = now;
  }

  seconds(): number {
    return (performance.now() - this.#started) / 1000;
  }

  /** `step_time`, `time/<lap>` in seconds, and tokens (prompts once, and answers) worked on in a second. */
  metrics(tokens: number): Record<string, number> {
    const seconds = this.seconds();
    const laps = Object.fromEntries(Object.entries(this.#laps).map(([name, value]) => [`time/${name}`, value]));
    return { step_time: seconds, tokens_per_second: tokens / seconds, ...laps };
  }
}

/** Judged from the latest steps and evaluations of this process. */
export class TimeLeft {
  readonly #steps: number[] = [];
  readonly #evaluations: number[] = [];

  addStep(seconds: number): void {
    this.#steps.push(seconds);
  }

  addEvaluation(seconds: number): void {
    this.#evaluations.push(seconds);
  }

  /** Seconds; undefined before the first step. */
  estimate(steps: number, evaluations: number): number | undefined {
    if (this.#steps.length === 0) return undefined;
    const usual = (list: number[]) => mean(list.slice(-recent));
    return steps * usual(this.#steps) + (this.#evaluations.length === 0 ? 0 : evaluations * usual(this.#evaluations));
  }
}
