/** What a running training tells whoever watches it. */

import type { MetricsRow } from "../contract/run.ts";
import type { Alarm } from "./alarms.ts";

export type TrainPhase = "loading" | "preparing" | "evaluating" | "sampling" | "updating" | "saving";

export type TrainEvent =
  | { type: "phase"; phase: TrainPhase; step: number }
  /** A step was done and recorded. `secondsLeft` is undefined until there is something to judge by. */
  | { type: "step"; row: MetricsRow; totalSteps: number; secondsLeft: number | undefined }
  | { type: "evaluation"; step: number; metrics: Record<string, number>; best: boolean }
  | { type: "checkpoint"; step: number; path: string }
  | { type: "alarm"; alarm: Alarm }
  | { type: "note"; message: string };

export type TrainListener = (event: TrainEvent) => void;
