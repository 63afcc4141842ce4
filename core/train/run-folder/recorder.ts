/** Writes what a training run leaves behind, and keeps its health in view. */

import { join } from "node:path";
import type { RunConfig } from "../../contract/config.ts";
import type { MetricsRow, RolloutLine, RunEvent, TrainerState } from "../../contract/run.ts";
import { errorMessage } from "../../contract/errors.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import { toJsonLines } from "../../files/jsonl.ts";
import { findAlarms, type AlarmName } from "../alarms/alarms.ts";
import type { TrainListener } from "../events.ts";
import {
  checkpointFolder,
  checkpointsToRemove,
  listCheckpoints,
  removeCheckpoint,
  writeCheckpoint,
} from "./checkpoints.ts";
import type { RunFolder } from "./run-folder.ts";

/** An alarm that was clear for fewer steps is the same one still. */
const quietSteps = 20;

export interface RecorderOptions {
  config: RunConfig;
  listen: TrainListener;
  /** Writes weights and optimizer state into a checkpoint folder in the making. */
  saveTensors: (folder: string) => Promise<void>;
}

export class Recorder {
  readonly folder: RunFolder;
  readonly #options: RecorderOptions;
  readonly #history: MetricsRow[];
  /** The last step at which each alarm held. */
  readonly #held = new Map<AlarmName, number>();
  #saved: number | undefined;

  /** `savedStep`: the checkpoint from which the run was taken up. */
  constructor(folder: RunFolder, options: RecorderOptions, savedStep?: number) {
    this.folder = folder;
    this.#options = options;
    this.#history = folder.readMetrics();
    this.#saved = savedStep;
    for (const { name, step } of findAlarms(this.#history)) this.#held.set(name, step);
  }

  hasStep(step: number): boolean {
    return this.#history.some((row) => row.step === step);
  }

  /** Appends a step's metrics. Values that are not finite are left out: absent is not zero. Returns what was written. */
  metrics(row: MetricsRow): MetricsRow {
    const finite = Object.fromEntries(Object.entries(row).filter(([, value]) => Number.isFinite(value))) as MetricsRow;
    this.folder.appendMetrics(finite);
    this.#history.push(finite);
    this.#checkHealth();
    return finite;
  }

  /** Tells an alarm when it begins to hold, not while it holds or flickers. */
  #checkHealth(): void {
    for (const alarm of findAlarms(this.#history)) {
      const { step, name, kind, message, action } = alarm;
      const held = this.#held.get(name);
      this.#held.set(name, step);
      if (held !== undefined && step - held <= quietSteps) continue;
      this.#options.listen({ type: "alarm", alarm });
      this.#event({ kind: kind === "alarm" ? "alarm" : "info", step, name, message, action });
    }
  }

  rollouts(step: number, lines: readonly RolloutLine[]): void {
    this.folder.writeRollouts(step, lines);
  }

  /** Keeps a batch that ended a run, also when rollouts are not kept. Returns its path. */
  keepBatch(step: number, lines: readonly unknown[]): string {
    const path = join(this.folder.file("logs"), `nonfinite-step_${step}.jsonl`);
    writeFileAtomic(path, toJsonLines(lines));
    return path;
  }

  /** Notes how a run ended other than by its last step. A full disk must not hide the first error. */
  ended(step: number, kind: "stop" | "failure", error: unknown): void {
    const message = errorMessage(error);
    try {
      this.#event({ kind, step, name: kind, message });
    } catch {
      // The error that is being reported already says why.
    }
  }

  #event(event: Omit<RunEvent, "time">): void {
    this.folder.appendEvent({ time: Date.now() / 1000, ...event });
  }

  /** Saves a checkpoint of `state` unless it is saved already, then removes those that are not to be kept. */
  async checkpoint(state: TrainerState): Promise<void> {
    if (this.#saved === state.step) return;
    const { listen, config, saveTensors } = this.#options;
    listen({ type: "phase", phase: "saving", step: state.step });
    this.folder.syncMetrics();
    const line = await writeCheckpoint(this.folder.path, state, this.#evaluation(state.step), saveTensors);
    this.#saved = state.step;
    const steps = await listCheckpoints(this.folder.path);
    for (const step of checkpointsToRemove(steps, config.save_total_limit, state.best?.step)) {
      removeCheckpoint(this.folder.path, step);
    }
    listen({ type: "checkpoint", step: state.step, path: checkpointFolder(this.folder.path, line.step) });
  }

  /** As `checkpoint` where a run ends on an error, which a second one must not hide. */
  async checkpointIfPossible(state: TrainerState): Promise<void> {
    if (state.step === 0) return;
    try {
      await this.checkpoint(state);
    } catch (error) {
      const message = errorMessage(error);
      this.#options.listen({ type: "note", message: `no checkpoint could be saved at step ${state.step}: ${message}` });
    }
  }

  #evaluation(step: number): Record<string, number> {
    const row: Record<string, number> = this.#history.find((one) => one.step === step) ?? {};
    return Object.fromEntries(Object.entries(row).filter(([name]) => name.startsWith("eval_")));
  }
}
