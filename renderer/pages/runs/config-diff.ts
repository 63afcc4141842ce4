/** Options in which runs differ. */

import { optionNames, type OptionName, type RunConfigInput } from "../../../core/contract/config.ts";

export interface OptionRow {
  name: OptionName;
  /** One for each run, as text; an option that a run does not use has none. */
  values: (string | undefined)[];
  differs: boolean;
}

/** Folders and seeds of the place, which say nothing of the training. */
const ofThePlace: readonly OptionName[] = ["output_dir"];

/** All options that any of the runs goes by, in the order of the schema. */
export function compareConfigs(configs: readonly RunConfigInput[]): OptionRow[] {
  return optionNames
    .filter((name) => !ofThePlace.includes(name))
    .map((name) => {
      const values = configs.map((config) => (name in config ? JSON.stringify(config[name]) : undefined));
      return { name, values, differs: new Set(values).size > 1 };
    })
    .filter(({ values }) => values.some((value) => value !== undefined));
}
