/** How much a run does, in one word. The middle one is the measured default; the others change a few options, in sight. */

import { isRl, type RunConfig, type RunConfigInput } from "./config.ts";

export const trainPresets = ["quick", "balanced", "thorough"] as const;
export type TrainPreset = (typeof trainPresets)[number];

type Defaults = Pick<
  RunConfig,
  "method" | "max_steps" | "num_train_epochs" | "eval_steps" | "save_steps" | "eval_size" | "num_generations"
>;

/** Of the usual length. */
const quickShare = 1 / 4;
const longer = 2;
/** A run that is measured and saved at least so often shows a curve. */
const fewestMeasurements = 4;

/** What a preset changes in the defaults of this method, model and task. */
export function presetValues(preset: TrainPreset, defaults: Defaults): RunConfigInput {
  const { max_steps: steps, num_train_epochs: epochs, eval_steps, save_steps, eval_size } = defaults;
  if (preset === "balanced") return {};
  if (preset === "thorough") {
    return {
      ...(steps === null ? { num_train_epochs: longer * (epochs ?? 1) } : { max_steps: longer * steps }),
      eval_size: longer * eval_size,
      ...(isRl(defaults.method) && defaults.method !== "ppo" && { num_generations: longer * defaults.num_generations }),
    };
  }
  if (steps === null) return { num_train_epochs: Number((quickShare * (epochs ?? 1)).toPrecision(3)) };
  const few = Math.max(1, Math.round(quickShare * steps));
  const often = Math.max(1, Math.floor(few / fewestMeasurements));
  return {
    max_steps: few,
    ...(eval_steps > often && { eval_steps: often }),
    ...(save_steps > often && { save_steps: often }),
  };
}

/** The preset whose values these are, of those that it may change; undefined: the person's own. */
export function presetOf(given: RunConfigInput, defaults: Defaults): TrainPreset | undefined {
  const touched = [
    "max_steps",
    "num_train_epochs",
    "eval_steps",
    "save_steps",
    "eval_size",
    "num_generations",
  ] as const;
  return trainPresets.find((preset) => {
    const values = presetValues(preset, defaults);
    return touched.every((name) => (given[name] ?? defaults[name]) === (values[name] ?? defaults[name]));
  });
}
