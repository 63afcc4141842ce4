/** Runs on the native engine with a model of a few thousand weights, as the tests of every method make them. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { evaluateModel } from "../../../core/app/evaluation/evaluate-model.ts";
import { Session } from "../../../core/app/session.ts";
import { resumeRun, trainModel } from "../../../core/app/train-model.ts";
import type { RunConfigInput } from "../../../core/contract/config.ts";
import { sha256File } from "../../../core/files/manifest.ts";
import type { TrainEvent, TrainPhase } from "../../../core/train/events.ts";
import { checkpointFolder } from "../../../core/train/run-folder/checkpoints.ts";
import { tinyModel } from "./tiny-model.ts";
import { comparableMetrics } from "./toy-run.ts";

/** Six steps, evaluated and saved on the way. */
const settings: RunConfigInput = {
  task: "tic-tac-toe",
  finetuning_type: "full",
  learning_rate: 1e-3,
  max_completion_length: 32,
  max_steps: 6,
  eval_steps: 3,
  eval_size: 16,
  save_steps: 2,
  threads: 2,
};

function newRunFolder(): string {
  return join(mkdtempSync(join(tmpdir(), "hone-real-")), "run");
}

export class RealRuns {
  /** Folder of the tiny model. */
  readonly model: string;
  readonly session: Session;
  readonly #settings: RunConfigInput;

  constructor(model: string, session: Session, own: RunConfigInput) {
    this.model = model;
    this.session = session;
    this.#settings = { ...settings, ...own };
  }

  /** `own`: what the runs of this test have beside the common settings. */
  static async open(own: RunConfigInput): Promise<RealRuns> {
    return new RealRuns(await tinyModel(), await Session.open(), own);
  }

  /** Trains in a new folder, whose path it returns. */
  async train(extra: RunConfigInput = {}, onEvent?: (event: TrainEvent, stop: () => void) => void): Promise<string> {
    const output_dir = newRunFolder();
    const abort = new AbortController();
    const listen = (event: TrainEvent) => onEvent?.(event, () => abort.abort());
    const input = { ...this.#settings, model: this.model, output_dir, ...extra };
    await trainModel(this.session, input, { command: ["test"], listen, signal: abort.signal });
    return output_dir;
  }

  /** Greedy answers of a model to a few boards, with their log-probs. */
  async greedy(reference: string) {
    const { items } = await evaluateModel(
      this.session,
      { model: reference, task: "tic-tac-toe", limit: 8, samples: 1, games: 0, maxTokens: 32 },
      {},
    );
    return items
      .filter(({ pass }) => pass === "greedy")
      .map(({ turns: [{ tokens, logprobs }] }) => ({ tokens, logprobs }));
  }

  /** A run that is stopped in this phase of its fourth step and taken up again is an unbroken one, bit for bit. */
  async expectSameWhenResumed(input: RunConfigInput, phase: TrainPhase): Promise<void> {
    const whole = await this.train(input);
    const broken = await this.train(input, (event, stop) => {
      if (event.type === "phase" && event.phase === phase && event.step === 4) stop();
    });
    expect(comparableMetrics(broken).at(-1)?.step).toBe(3);
    const hooks = { command: ["test"], listen: () => undefined, signal: new AbortController().signal };
    await resumeRun(this.session, broken, {}, hooks);
    expect(comparableMetrics(broken)).toEqual(comparableMetrics(whole));
    const tensors = input.finetuning_type === "lora" ? "adapter_model.safetensors" : "model.safetensors";
    for (const file of [tensors, "optimizer.safetensors"]) {
      const hash = (run: string) => sha256File(join(checkpointFolder(run, 6), file));
      expect(await hash(broken), file).toBe(await hash(whole));
    }
  }
}
