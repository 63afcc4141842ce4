/** Runs of the guessing task, which takes several turns, with a tabular model. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunConfigInput } from "../../../core/contract/config.ts";
import { readJsonLines } from "../../../core/files/jsonl.ts";
import { rolloutLineSchema, type RolloutLine } from "../../../core/contract/run.ts";
import { tasks } from "../../../core/tasks/tasks.ts";
import type { Task } from "../../../core/tasks/task.ts";
import type { TrainEvent } from "../../../core/train/events.ts";
import { guessChat, guessTask, guessVocabulary, type GuessOptions } from "../evaluate/guess-task.ts";
import { toyRun, type ToyRun } from "./toy-run.ts";

/** Makes a task known by its name, in the place of an earlier one of that name. */
export function registerTask(task: Task): void {
  const known = tasks as Task[];
  const at = known.findIndex(({ name }) => name === task.name);
  if (at < 0) known.push(task);
  else known[at] = task;
}

export interface GuessRunOptions extends GuessOptions {
  rewritesHistory?: boolean;
  contextLength?: number;
  onEvent?: (event: TrainEvent, run: ToyRun) => void;
}

export function guessRun({ rewritesHistory = false, contextLength, onEvent, ...task }: GuessRunOptions = {}): ToyRun {
  registerTask(guessTask(task));
  const run = toyRun(onEvent);
  run.engine.options = {
    vocabSize: guessVocabulary,
    memory: 3,
    ...(contextLength !== undefined && { contextLength }),
  };
  const none = () => {
    throw new Error("the guessing task has no answers to imitate");
  };
  const chat = { ...guessChat({ rewritesHistory }), renderTrained: none, textIds: none, vocabSize: guessVocabulary };
  run.context.openChat = async () => chat;
  return run;
}

/** A model that mostly answers with a square and the end, and knows nothing of which. */
export function guessModelFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-guess-"));
  const squares = Array.from({ length: guessVocabulary }, (_, token) => (token >= 1 && token <= 9 ? 4 : 0));
  const end = Array.from({ length: guessVocabulary }, (_, token) => (token === 0 ? 5 : 0));
  const rows: [string, number[]][] = [["12", squares]];
  for (let square = 1; square <= 9; square++) {
    for (const reply of [10, 11]) {
      rows.push([`${square} 0 ${reply}`, squares], [`0 0 ${reply}`, squares], [`0 ${reply} ${square}`, end]);
    }
    rows.push([`12 ${square}`, end]);
  }
  for (const reply of [10, 11])
    rows.push([`12 0 ${reply}`, squares], [`${reply} 0 ${reply}`, squares], [`${21 - reply} 0 ${reply}`, squares]);
  writeFileSync(join(folder, "model.safetensors"), JSON.stringify(rows));
  writeFileSync(join(folder, "config.json"), "{}");
  return folder;
}

export const guessConfig: RunConfigInput = {
  task: "guess",
  finetuning_type: "full",
  learning_rate: 0.05,
  prompts_per_step: 4,
  num_generations: 4,
  max_completion_length: 4,
  max_steps: 6,
  eval_steps: 3,
  eval_size: 9,
  save_steps: 2,
};

export function rolloutLines(run: string, step: number): RolloutLine[] {
  return readJsonLines(join(run, "rollouts", `step_${step}.jsonl`)).rows.map((row) => rolloutLineSchema.parse(row));
}
