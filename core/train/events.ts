/** What a running training tells whoever watches it. */

import type { Method } from "../contract/config.ts";
import type { MetricsRow } from "../contract/run.ts";
import type { Alarm } from "./alarms/alarms.ts";

export type TrainPhase = "loading" | "preparing" | "evaluating" | "sampling" | "updating" | "saving";

/** What checkpoints are compared by: the name of a metric of an evaluation. */
export interface BestMetric {
  metric: string;
  better: "higher" | "lower";
}

export type TrainEvent =
  /** What is about to be trained, told first. `run`: the path of its folder. */
  | { type: "begin"; run: string; method: Method; totalSteps: number; best: BestMetric }
  | { type: "phase"; phase: TrainPhase; step: number }
  /** A step was done and recorded. `secondsLeft` is undefined until there is something to judge by. */
  | { type: "step"; row: MetricsRow; totalSteps: number; secondsLeft: number | undefined }
  | { type: "evaluation"; step: number; metrics: Record<string, number>; best: boolean }
  | { type: "checkpoint"; step: number; path: string }
  | { type: "alarm"; alarm: Alarm }
  | { type: "note"; message: string };

export type TrainListener = (event: TrainEvent) => void;
