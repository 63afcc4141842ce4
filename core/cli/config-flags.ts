/** The command line's flags for a run's options, made from the one schema of the configuration. */

import { readFileSync } from "node:fs";
import { Option, type Command } from "commander";
import type { z } from "zod";
import {
  isRl,
  optionGroups,
  optionMeta,
  optionNames,
  rlMethods,
  runConfigSchema,
  type Method,
  type OptionName,
  type RunConfigInput,
} from "../contract/config.ts";
import { defaultsFor } from "../contract/defaults.ts";
import { HoneError, errorMessage } from "../contract/errors.ts";
import { kindOf, type OptionKind } from "../contract/option-kind.ts";
import { knownNames, parseConfigInput } from "../contract/resolve-config.ts";
import { flagOf } from "../contract/train-command.ts";
import { parseBytes } from "../contract/units.ts";
import { fileReason } from "../files/system-error.ts";

const placeholder: Record<OptionKind["type"], string> = {
  number: "<number>",
  string: "<text>",
  boolean: "[true|false]",
  list: "<a,b>",
  choice: "<name>",
};

/** Adds one flag for every option but `except`, grouped by intent, and hidden ones for other tools' names. */
export function addConfigFlags(command: Command, except: readonly OptionName[] = []): void {
  const defaults = defaultsFor({ model: "", task: "" }) as Partial<
    Record<OptionName, string | number | boolean | null>
  >;
  for (const [group, heading] of Object.entries(optionGroups)) {
    command.optionsGroup(`${heading}:`);
    for (const name of optionNames) {
      const schema = runConfigSchema.shape[name];
      const meta = optionMeta.get(schema);
      if (meta?.group !== group || except.includes(name)) continue;
      const kind = kindOf(schema);
      const usual = defaults[name];
      const choices = kind.type === "choice" ? ` (${kind.values.join(", ")})` : "";
      const note = usual === undefined || usual === null ? "" : ` [${String(usual)}]`;
      const users = meta.methods === undefined ? "" : `${userNames(meta.methods)}: `;
      const flag = new Option(`${flagOf(name)} ${placeholder[kind.type]}`, `${users}${meta.help}${choices}${note}`);
      command.addOption(kind.type === "list" ? flag.argParser(commaList) : flag);
    }
  }
  for (const name of knownNames()) {
    if ((optionNames as string[]).includes(name)) continue;
    command.addOption(new Option(`${flagOf(name)} <value>`).hideHelp());
  }
}

/** A list in one flag or in several of them. */
export function commaList(text: string, earlier: string[] = []): string[] {
  return [...earlier, ...text.split(",").map((part) => part.trim())];
}

/** The methods that use an option, in few words. */
function userNames(methods: readonly Method[]): string {
  const all = rlMethods.every((name) => methods.includes(name));
  const others = methods.filter((name) => !all || !isRl(name));
  return [...(all ? ["RL"] : []), ...others.map((name) => name.toUpperCase())].join(", ");
}

/** Options that the user gave as flags, typed as the schema wants them; nothing is checked yet. */
export function readConfigFlags(flags: Record<string, unknown>): Record<string, unknown> {
  const raw: Record<string, unknown> = {};
  for (const name of knownNames()) {
    const value = flags[camelCase(name)];
    if (value === undefined) continue;
    const schema = (runConfigSchema.shape as Record<string, z.ZodType>)[name];
    const kind = schema === undefined ? undefined : kindOf(schema);
    if (typeof value !== "string") raw[name] = value;
    else if (name === "memory_limit") raw[name] = parseBytes(value) ?? value;
    else raw[name] = fromText(value, kind);
  }
  return raw;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Text that does not read as the kind wants stays text: the schema then refuses it by name. */
function fromText(text: string, kind: OptionKind | undefined): unknown {
  const number = text.trim() === "" ? NaN : Number(text.replaceAll("_", ""));
  switch (kind?.type) {
    case "number":
      return Number.isNaN(number) ? text : number;
    case "boolean":
      return text === "true" ? true : text === "false" ? false : text;
    case "list":
    case "choice":
    case "string":
      return text;
    case undefined:
      return text === "true" ? true : text === "false" ? false : Number.isNaN(number) ? text : number;
  }
}

/** The options of `--config FILE` and of the flags together; a flag wins over the file. */
export function readConfig(flags: Record<string, unknown>): RunConfigInput {
  const file = flags["config"];
  const fromFile = typeof file === "string" ? parseConfigInput(readJsonFile(file), file) : {};
  return parseConfigInput(readConfigFlags(flags), "command line", fromFile);
}

export function readJsonFile(path: string): unknown {
  let text: string;
  try {
    text = path === "-" ? readFileSync(0, "utf8") : readFileSync(path, "utf8");
  } catch (error) {
    const reason = fileReason(error);
    throw new HoneError("no-such-file", `cannot read ${path}${reason === undefined ? "" : `: ${reason}`}`, {
      cause: error,
      fix: "check the path",
    });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = errorMessage(error);
    throw new HoneError("bad-json", `${path} is not JSON: ${why}`, { cause: error });
  }
}

/** `--learning_rate` is as good as `--learning-rate`. */
export function normalizeFlags(args: readonly string[]): string[] {
  const end = args.indexOf("--");
  return args.map((arg, i) => {
    if ((end >= 0 && i >= end) || !/^--[a-z]/.test(arg)) return arg;
    const [name, ...value] = arg.split("=");
    return [name.replaceAll("_", "-"), ...value].join("=");
  });
}
