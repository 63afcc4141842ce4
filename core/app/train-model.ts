/** Begins training runs and takes them up again. */

import type { RunConfigInput } from "../contract/config.ts";
import type { TrainListener } from "../train/events.ts";
import type { TrainContext } from "../train/prepare-run.ts";
import { resumeTraining, startTraining, type TrainResult } from "../train/run.ts";
import type { Session } from "./session.ts";

export interface TrainHooks {
  command: readonly string[];
  listen: TrainListener;
  signal: AbortSignal;
}

export function trainContext(session: Session, { command, listen, signal }: TrainHooks): TrainContext {
  return {
    engine: session.engine,
    openChat: (files, { template, thinking, now }) =>
      session.openChat(files, {
        now,
        ...(template !== null && { template }),
        ...(thinking !== null && { thinking }),
      }),
    honeVersion: session.honeVersion,
    command,
    listen,
    signal,
  };
}

export function trainModel(session: Session, input: RunConfigInput, hooks: TrainHooks): Promise<TrainResult> {
  return startTraining(trainContext(session, hooks), input);
}

export function resumeRun(
  session: Session,
  run: string,
  options: { maxSteps?: number },
  hooks: TrainHooks,
): Promise<TrainResult> {
  return resumeTraining(trainContext(session, hooks), run, options);
}
