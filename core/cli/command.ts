/** What every command of `hone` shares: its flags, its way to stop, and what becomes of its errors. */

import { InvalidArgumentError, type Command } from "commander";
import type { z } from "zod";
import { parseBytes } from "../contract/units.ts";
import { toolSchema, type ToolDefinition } from "../contract/chat.ts";
import { optionMeta, runConfigSchema } from "../contract/config.ts";
import type { OpenProgress } from "../engine/types.ts";
import { commaList, readJsonFile } from "./config-flags.ts";
import { exitCodes, paint, reportError, say, usageError } from "./terminal.ts";

export interface Cli {
  /** Exactly one JSON document on stdout. */
  json: boolean;
  verbose: boolean;
  /** Aborted by the first Ctrl-C. The second one ends the process at once. */
  signal: AbortSignal;
  /** The command as it was typed. */
  command: readonly string[];
}

/** Adds `--json` and `--verbose`, and runs `act`: its errors are told, its exit code becomes the process's. */
export function runs(
  command: Command,
  act: (cli: Cli, flags: Record<string, unknown>, args: string[]) => Promise<number | void>,
): Command {
  return command
    .optionsGroup("Output:")
    .option("--json", "print one JSON document on stdout, everything else on stderr")
    .option("--verbose", "show causes and stack traces of errors")
    .action(async (...given: unknown[]) => {
      const self = given[given.length - 1] as Command;
      const flags = self.opts<Record<string, unknown>>();
      const style = { json: flags["json"] === true, verbose: flags["verbose"] === true };
      const interrupt = catchInterrupts();
      try {
        const cli: Cli = { ...style, signal: interrupt.signal, command: ["hone", ...process.argv.slice(2)] };
        process.exitCode = (await act(cli, flags, self.args)) ?? exitCodes.ok;
      } catch (error) {
        process.exitCode = reportError(error, style);
      } finally {
        interrupt.release();
      }
    });
}

function catchInterrupts(): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    say("\nstopping; once more Ctrl-C to stop at once");
    controller.abort();
  };
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  return {
    signal: controller.signal,
    release: () => {
      process.off("SIGINT", interrupt);
      process.off("SIGTERM", interrupt);
    },
  };
}

/** Parsers for flags that are no options of a run. */
export function wholeNumber(least = 0): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`It must be a whole number of at least ${least}.`);
  };
}

export function realNumber(least = 0, most = Infinity): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isFinite(value) && value >= least && value <= most) return value;
    const range =
      most === Infinity ? (least === -Infinity ? "" : ` of at least ${least}`) : ` from ${least} to ${most}`;
    throw new InvalidArgumentError(`It must be a number${range}.`);
  };
}

export function amountOfBytes(text: string): number {
  const bytes = parseBytes(text);
  if (bytes !== undefined && bytes > 0) return bytes;
  throw new InvalidArgumentError("It must be an amount such as 500MB or 4GB.");
}

export function oneOf<T extends string>(...values: readonly T[]): (text: string) => T {
  return (text) => {
    const found = values.find((value) => value === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`It must be ${values.join(" or ")}.`);
  };
}

export function repeated(text: string, earlier: string[] = []): string[] {
  return [...earlier, text];
}

/** The flags that were given, to be spread into a request; a pair says what the request calls the flag. */
export function givenFlags(
  flags: Record<string, unknown>,
  ...names: (string | [name: string, flag: string])[]
): object {
  const given = names.flatMap((entry) => {
    const [name, flag] = typeof entry === "string" ? [entry, entry] : entry;
    return flags[flag] === undefined ? [] : [[name, flags[flag]]];
  });
  return Object.fromEntries(given) as object;
}

/** Flags of commands that open a model without training it. */
export function addModelFlags(command: Command): Command {
  return command
    .optionsGroup("Model:")
    .requiredOption(
      "--model <model>",
      "folder, .gguf file, OWNER/NAME, `starter`, or RUN[:step] (a number, best, last)",
    )
    .option("--threads <number>", "processor threads (default: all)", wholeNumber(1))
    .option("--memory-limit <bytes>", "what the engine may take, such as 4GB (default: what is free)", amountOfBytes);
}

/** Flags of commands that take a data file as a task. */
export function addDataFlags(command: Command): Command {
  const { map, group } = runConfigSchema.shape;
  return command
    .option("--reward <file>", "how answers to a data file are scored, or instead of a task folder's own")
    .option("--map <a,b>", helpOf(map), commaList)
    .option("--group <a,b>", helpOf(group), commaList);
}

function helpOf(schema: z.ZodType): string {
  return optionMeta.get(schema)?.help ?? "";
}

export function dataChoices(flags: Record<string, unknown>): { reward?: string; map?: string[]; group?: string[] } {
  return Object.fromEntries(
    ["reward", "map", "group"].flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]])),
  );
}

export function addChatFlags(command: Command): Command {
  return command
    .option("--chat-template-path <template>", "`chatml` or a file with a Jinja template, instead of the model's own")
    .option("--thinking <on|off>", "for templates that have such a switch", oneOf("on", "off"));
}

/** Model flags as the session takes them, with progress for a slow load. */
export function modelChoices(flags: Record<string, unknown>) {
  const threads = flags["threads"] as number | undefined;
  const memoryLimit = flags["memoryLimit"] as number | undefined;
  const template = flags["chatTemplatePath"] as string | undefined;
  const thinking = flags["thinking"] as "on" | "off" | undefined;
  return {
    ...(threads !== undefined && { threads }),
    ...(memoryLimit !== undefined && { memoryLimit }),
    ...(template !== undefined && { template }),
    ...(thinking !== undefined && { thinking: thinking === "on" }),
    onProgress: showLoading(),
  };
}

/** A line that appears only when loading takes longer than a second, and only for a person. */
function showLoading(): (progress: OpenProgress) => void {
  const started = performance.now();
  let shown = false;
  return ({ stage, done, total }) => {
    if (!process.stderr.isTTY) return;
    if (performance.now() - started > 1000 && total > 0) {
      shown = true;
      process.stderr.write(
        `\r${paint("dim", `${stage} ${Math.floor((100 * done) / total)} %`, process.stderr)}\u001b[K`,
      );
    }
    if (shown && done >= total) process.stderr.write("\r\u001b[K");
  };
}

/** Contents are checked by who uses them, which names the item. */
export function readList(path: string, what: string): unknown[] {
  const value = readJsonFile(path);
  if (Array.isArray(value)) return value;
  throw usageError(`${path} must hold a JSON list of ${what}`);
}

/** Tools as OpenAI's API takes them: `[{"type": "function", "function": {"name", "description", "parameters"}}]`. */
export function readTools(path: string): ToolDefinition[] {
  return readList(path, "tools").map((tool, i) => {
    const result = toolSchema.safeParse(tool);
    if (result.success) return result.data;
    const { path: field, message } = result.error.issues[0];
    throw usageError(
      `${path}, tool ${i + 1}: ${field.length === 0 ? "" : `${field.join(".")}: `}${message}`,
      'a tool is {"type": "function", "function": {"name": …, "description": …, "parameters": a JSON schema}}',
    );
  });
}
