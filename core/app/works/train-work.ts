/** Trains a run from its beginning, or goes on with one. */

import { basename } from "node:path";
import type { RunNews } from "../../contract/api/api.ts";
import { isRl, type RunConfigInput } from "../../contract/config.ts";
import type { RunEvent } from "../../contract/run.ts";
import { requireRun } from "../../store/library.ts";
import type { TrainEvent } from "../../train/events.ts";
import type { TrainResult } from "../../train/run.ts";
import { Session } from "../session.ts";
import { resumeRun, trainModel, type TrainHooks } from "../train-model.ts";
import type { WorkContext } from "../service/work.ts";

export type TrainOrder = { config: RunConfigInput } | { resume: string; max_steps: number | null };

/** The job's result. */
export interface TrainedRun {
  run: string;
  finished: boolean;
  step: number;
}

export async function trainWork(order: TrainOrder, context: WorkContext): Promise<TrainedRun> {
  const session = await Session.open();
  const watcher = new TrainWatcher(context);
  const hooks: TrainHooks = {
    command: ["hone", "app"],
    listen: (event) => {
      watcher.hear(event);
    },
    signal: context.signal,
  };
  try {
    const result = await begin(session, order, hooks);
    return { run: basename(result.run), finished: result.finished, step: result.state.step };
  } finally {
    // How far it came, and whether it is finished, is in its folder only now.
    context.tell("library", "runs");
  }
}

function begin(session: Session, order: TrainOrder, hooks: TrainHooks): Promise<TrainResult> {
  if ("config" in order) return trainModel(session, order.config, hooks);
  const { resume, max_steps: maxSteps } = order;
  return resumeRun(session, requireRun(resume), maxSteps === null ? {} : { maxSteps }, hooks);
}

/** Turns what the training tells into what windows show. */
class TrainWatcher {
  readonly #context: WorkContext;
  #run: string | undefined;
  #early: RunEvent[] = [];
  /** It draws answers, which are kept. */
  #samples = false;

  constructor(context: WorkContext) {
    this.#context = context;
  }

  hear(event: TrainEvent): void {
    switch (event.type) {
      case "begin":
        this.#run = basename(event.run);
        this.#samples = isRl(event.method);
        this.#context.report({
          run: this.#run,
          title: this.#run,
          progress: { done: 0, total: event.totalSteps, unit: "step" },
        });
        this.#context.tell("library", "runs");
        this.#tell({ events: this.#early });
        return;
      case "phase":
        this.#context.report({ phase: event.phase });
        return;
      case "step": {
        const { row, totalSteps, secondsLeft = null } = event;
        this.#context.report({
          progress: { done: row.step, total: totalSteps, unit: "step" },
          seconds_left: secondsLeft,
        });
        this.#tell({ rows: [row], rollout_steps: this.#samples ? [row.step] : [] });
        return;
      }
      case "evaluation":
        // A step's own row holds its evaluation too; only that before training has no other.
        if (event.step === 0) this.#tell({ rows: [{ time: Date.now() / 1000, ...event.metrics, step: 0 }] });
        return;
      case "checkpoint":
        this.#tell({ checkpoints: [event.step] });
        return;
      case "alarm": {
        const { step, name, message, action, kind } = event.alarm;
        this.#event({ step, kind: kind === "alarm" ? "alarm" : "info", name, message, action });
        return;
      }
      case "note":
        this.#event({ step: 0, kind: "info", name: "note", message: event.message });
    }
  }

  #event(event: Omit<RunEvent, "time">): void {
    const whole = { time: Date.now() / 1000, ...event };
    if (this.#run === undefined) this.#early.push(whole);
    else this.#tell({ events: [whole] });
  }

  #tell(news: Partial<RunNews>): void {
    const whole = { rows: [], events: [], rollout_steps: [], checkpoints: [], ...news };
    if (this.#run !== undefined) this.#context.tell("run", whole, this.#run);
  }
}
