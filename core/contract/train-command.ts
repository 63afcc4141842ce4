/** A configuration as the command that begins the same run. */

import { optionNames, type RunConfigInput } from "./config.ts";
import { shellWord } from "./units.ts";

/** `learning_rate` as the command line takes it. */
export function flagOf(name: string): string {
  return `--${name.replaceAll("_", "-")}`;
}

/** `hone train` with a flag for every given option. What is off (null) has no flag: it is off by itself. */
export function trainCommand(given: RunConfigInput): string {
  const flags = optionNames.flatMap((name) => {
    const value = given[name];
    if (value === undefined || value === null) return [];
    return [flagOf(name), shellWord(Array.isArray(value) ? value.join(",") : String(value))];
  });
  return ["hone", "train", ...flags].join(" ");
}
