/** The answers of a run, to look through. */

import { existsSync } from "node:fs";
import type { CheckedInput } from "../../contract/api/api.ts";
import type { RolloutPage } from "../../contract/api/run-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import { rolloutLineSchema, type RolloutLine } from "../../contract/run.ts";
import { readRows } from "../../files/json.ts";
import { requireRun } from "../../store/library.ts";
import { RunFolder } from "../../train/run-folder/run-folder.ts";

/** Throws `no-rollouts` when that step's answers were not kept. */
export function rolloutPage(wanted: CheckedInput<"runs.rollouts">): RolloutPage {
  const { run, step, order, offset, limit } = wanted;
  const lines = readRollouts(RunFolder.open(requireRun(run)), step);
  const found = lines.filter((line) => passes(line, wanted)).sort(comparison(order));
  const rewards = lines.map((line) => line.reward);
  return {
    rollouts: found.slice(offset, offset + limit),
    total: found.length,
    stop_reasons: [...new Set(lines.map((line) => line.stop_reason))].sort(),
    failures: [...new Set(lines.flatMap((line) => line.failure ?? []))].sort(),
    rewards: { least: Math.min(...rewards), most: Math.max(...rewards) },
  };
}

export function readRollouts(folder: RunFolder, step: number): RolloutLine[] {
  const path = folder.rolloutFile(step);
  const lines = existsSync(path) ? readRows(path, rolloutLineSchema) : [];
  if (lines.length > 0) return lines;
  throw new HoneError("no-rollouts", `the run ${folder.name} has no answers of step ${step}`, {
    fix: "choose a step that was done; only runs that learn from rewards keep answers, with log_completions on",
  });
}

function passes(line: RolloutLine, wanted: CheckedInput<"runs.rollouts">): boolean {
  const { least, most, stop_reason, failure } = wanted;
  const text = wanted.text.toLowerCase();
  return (
    (least === null || line.reward >= least) &&
    (most === null || line.reward <= most) &&
    (stop_reason === null || line.stop_reason === stop_reason) &&
    (failure === null || line.failure === failure) &&
    (text === "" || `${line.prompt}\n${line.completion}`.toLowerCase().includes(text))
  );
}

function comparison(order: CheckedInput<"runs.rollouts">["order"]): (a: RolloutLine, b: RolloutLine) => number {
  switch (order) {
    case "group":
      return (a, b) => a.prompt_index - b.prompt_index || a.sample_index - b.sample_index;
    case "reward":
      return (a, b) => a.reward - b.reward;
    case "-reward":
      return (a, b) => b.reward - a.reward;
    case "length":
      return (a, b) => a.completion_ids.length - b.completion_ids.length;
    case "-length":
      return (a, b) => b.completion_ids.length - a.completion_ids.length;
  }
}

/** The answers to one row at every step at which it was drawn. */
export function rolloutsOfPrompt(
  run: string,
  rowId: string,
): { row_id: string; prompt: string; steps: { step: number; rollouts: RolloutLine[] }[] } {
  const folder = RunFolder.open(requireRun(run));
  const steps = folder.rolloutSteps().flatMap((step) => {
    const rollouts = readRollouts(folder, step).filter((line) => line.row_id === rowId);
    return rollouts.length === 0 ? [] : [{ step, rollouts }];
  });
  return { row_id: rowId, prompt: steps[0]?.rollouts[0]?.prompt ?? "", steps };
}
