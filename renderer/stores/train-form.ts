/** What a person has chosen for the next run, and what follows from it. Knows nothing of React. */

import { createStore, type StoreApi } from "zustand/vanilla";
import {
  isUsed,
  methods,
  optionNames,
  runConfigSchema,
  type Method,
  type OptionName,
  type RunConfig,
  type RunConfigInput,
} from "../../core/contract/config.ts";
import { defaultsFor } from "../../core/contract/defaults.ts";
import { HoneError } from "../../core/contract/errors.ts";
import { resolveConfig, type Origin } from "../../core/contract/resolve-config.ts";
import { presetValues, type TrainPreset } from "../../core/contract/train-presets.ts";

/** Options as they were typed: what is no valid value stays in its field until it is one. */
export type Given = Partial<Record<OptionName, unknown>>;

export interface TrainFormState {
  given: Given;
  /** What the chosen model and task bring into the defaults. */
  origin: Origin;
}

export interface TrainForm extends StoreApi<TrainFormState> {
  /** `undefined` takes the option back to its default. */
  set(name: OptionName, value: unknown): void;
  setOrigin(origin: Origin): void;
  /** Takes the place of everything that was given. */
  replace(given: Given): void;
  usePreset(preset: TrainPreset): void;
}

/** Each says how long to train: the later one wins. */
const lengths = ["max_steps", "num_train_epochs"] as const;

export function createTrainForm(): TrainForm {
  const store = createStore<TrainFormState>(() => ({
    given: { model: "starter", task: "tic-tac-toe", method: "gspo" },
    origin: {},
  }));
  const { getState: get, setState: set } = store;
  return Object.assign(store, {
    set(name: OptionName, value: unknown) {
      const { [name]: _, ...others } = get().given;
      const given: Given = others;
      const isLength = (lengths as readonly OptionName[]).includes(name);
      if (isLength && value !== undefined) for (const other of lengths) delete given[other];
      set({ given: value === undefined ? given : { ...given, [name]: value } });
    },
    setOrigin(origin: Origin) {
      set({ origin });
    },
    replace(given: Given) {
      set({ given });
    },
    usePreset(preset: TrainPreset) {
      const { given, origin } = get();
      const usual = defaultsOf(given, origin);
      const others = Object.fromEntries(Object.entries(given).filter(([name]) => !presetOptions.includes(name)));
      set({ given: { ...others, ...presetValues(preset, usual) } });
    },
  });
}

/** What presets set, and take back. */
const presetOptions = ["max_steps", "num_train_epochs", "eval_steps", "save_steps", "eval_size", "num_generations"];

export function methodOf({ method }: Given): Method {
  return methods.find((one) => one === method) ?? "gspo";
}

/** Of the starting values those of this method, model and task. */
export function defaultsOf(given: Given, origin: Origin): Omit<RunConfig, "model" | "task"> {
  const valid = validOf(given);
  const base = { ...origin.defaults, ...valid, method: methodOf(given) };
  return {
    ...defaultsFor({ ...base, model: origin.model ?? valid.model ?? "", task: valid.task ?? "" }),
    ...origin.defaults,
    method: methodOf(given),
  };
}

/** The options that have a valid value. */
function validOf(given: Given): RunConfigInput {
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => runConfigSchema.shape[name as OptionName].safeParse(value).success),
  );
}

/** Which bound a value breaks, for a message in the person's language. */
export interface FieldError {
  /** Key below `train.error`. */
  kind: "number" | "whole" | "least" | "above" | "most" | "below" | "choice" | "empty" | "other";
  bound?: number;
  /** For `other`: in words. */
  text?: string;
  fix?: string;
}

export interface CheckedForm {
  defaults: Omit<RunConfig, "model" | "task">;
  /** Null while something is wrong. */
  config: RunConfig | null;
  /** What the call takes: options that this method uses and that the person has set. */
  input: RunConfigInput;
  errors: Partial<Record<OptionName, FieldError>>;
  /** What is wrong with none of the fields in particular. */
  problem: HoneError | null;
  /** Options with another value than their default. */
  changed: OptionName[];
}

/** Checks everything with the schema that the command line uses too; contradictions are told at the field they are about. */
export function checkForm({ given, origin }: TrainFormState): CheckedForm {
  const defaults = defaultsOf(given, origin);
  const finetuning = runConfigSchema.shape.finetuning_type.safeParse(given.finetuning_type).data;
  const kind = { method: methodOf(given), finetuning_type: finetuning ?? defaults.finetuning_type };
  const used = (Object.keys(given) as OptionName[]).filter((name) => isUsed(name, kind));
  const errors: CheckedForm["errors"] = {};
  for (const name of used) {
    const error = fieldError(name, given[name]);
    if (error !== undefined) errors[name] = error;
  }
  const input = validOf(Object.fromEntries(used.map((name) => [name, given[name]])));
  const changed = used.filter((name) => !sameValue(given[name], (defaults as Given)[name]) && !subject.includes(name));
  const whole = { defaults, input, errors, changed };
  if (Object.keys(errors).length > 0) return { ...whole, config: null, problem: null };
  try {
    return { ...whole, config: resolveConfig(input, origin), problem: null };
  } catch (error) {
    if (!(error instanceof HoneError)) throw error;
    const name = optionIn(error.message, [...changed, ...optionNames]);
    if (name === undefined) return { ...whole, config: null, problem: error };
    const text = { kind: "other" as const, text: error.message, ...(error.fix !== undefined && { fix: error.fix }) };
    return { ...whole, config: null, errors: { [name]: text }, problem: null };
  }
}

const subject: readonly OptionName[] = ["model", "task", "method"];

function sameValue(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The first of these that a message names. */
function optionIn(message: string, names: readonly OptionName[]): OptionName | undefined {
  return names.find((name) => name.includes("_") && new RegExp(`(?<!\\w)${name}(?!\\w)`).test(message));
}

function fieldError(name: OptionName, value: unknown): FieldError | undefined {
  const result = runConfigSchema.shape[name].safeParse(value);
  if (result.success) return undefined;
  const [issue] = result.error.issues;
  switch (issue.code) {
    case "invalid_type":
      return { kind: issue.expected === "int" ? "whole" : "number" };
    case "too_small":
      if (issue.origin === "string" || issue.origin === "array") return { kind: "empty" };
      return { kind: issue.inclusive === true ? "least" : "above", bound: Number(issue.minimum) };
    case "too_big":
      return { kind: issue.inclusive === true ? "most" : "below", bound: Number(issue.maximum) };
    case "invalid_value":
      return { kind: "choice" };
    default:
      return { kind: "other", text: issue.message };
  }
}
