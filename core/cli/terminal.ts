/** What the command line says, and where: results on stdout, everything else on stderr. */

import { errorKind, errorToData, HoneError } from "../contract/errors.ts";
import { mean } from "../contract/numbers.ts";
import { asUserError } from "../files/system-error.ts";

export const exitCodes = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** A mistake in the command itself, told with exit code 2. */
export function usageError(message: string, fix?: string): HoneError {
  return new HoneError("usage", message, fix === undefined ? {} : { fix });
}

const usageCodes = new Set(["usage", "bad-config"]);

/** True where `hone` was started by one of the checkout's npm scripts, so that there may be no `hone` to type. */
export function isFromNpm(): boolean {
  return process.env["npm_lifecycle_event"] !== undefined;
}

/** Commands in backticks as this user has to type them. */
export function asTyped(text: string): string {
  return isFromNpm() ? text.replaceAll("`hone ", "`npm run -s hone -- ") : text;
}

/** One line of progress or a remark. Never part of a result. */
export function say(text: string): void {
  process.stderr.write(`${asTyped(text)}\n`);
}

/** A result for people. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** For a person what is being done belongs on stdout, beside the result; with `--json` stdout is the document's alone. */
export function printer({ json }: { json: boolean }): (text: string) => void {
  return json ? say : print;
}

/** The one JSON document of `--json`. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

export interface ErrorStyle {
  json: boolean;
  verbose: boolean;
}

/** Tells an error on stderr and returns the exit code. A stack trace is shown for a defect, or with `--verbose`. */
export function reportError(thrown: unknown, { json, verbose }: ErrorStyle): number {
  if (isBrokenPipe(thrown)) return exitCodes.ok;
  const error = asUserError(thrown);
  const kind = errorKind(error);
  const data = errorToData(error);
  const stack = error instanceof Error && (verbose || kind === "bug") ? error.stack : undefined;
  if (json) {
    const { code, message, fix } = data;
    const told = { code, message, fix: fix === undefined ? null : asTyped(fix) };
    process.stderr.write(`${JSON.stringify({ error: told })}\n`);
    if (stack !== undefined && verbose) say(stack);
  } else if (kind === "cancelled") {
    say("stopped");
  } else {
    say(kind === "bug" ? `this is a defect of Hone: ${data.message}` : `error: ${data.message}`);
    if (data.fix !== undefined) say(`  → ${data.fix}`);
    for (let cause = data.cause; verbose && cause !== undefined; cause = cause.cause)
      say(`  because: ${cause.message}`);
    if (stack !== undefined) say(stack);
  }
  if (kind === "cancelled") return exitCodes.interrupted;
  return usageCodes.has(data.code) ? exitCodes.usage : exitCodes.failed;
}

/** `hone ls | head`: the reader has gone, and that is no failure. */
export function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === "EPIPE";
}

/** Colours, where a terminal shows them and the user did not refuse them (https://no-color.org). */
export function paint(
  code: "bold" | "dim" | "red" | "green" | "yellow" | "cyan",
  text: string,
  stream: { isTTY?: boolean } = process.stdout,
): string {
  const numbers = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };
  if (!stream.isTTY || (process.env["NO_COLOR"] ?? "") !== "") return text;
  return `\u001b[${numbers[code]}m${text}\u001b[0m`;
}

/** A bar on stderr that is `share` full, 0 to 1. Its two parts differ without colours, too. */
export function progressBar(share: number, width: number): string {
  const full = Math.round(width * share);
  return paint("cyan", "━".repeat(full), process.stderr) + paint("dim", "─".repeat(width - full), process.stderr);
}

const bars = "▁▂▃▄▅▆▇█";

/** One character for each of at most `width` equal spans of the values, from their lowest to their highest. */
export function sparkline(values: readonly number[], width: number): string {
  if (values.length === 0) return "";
  const spans = Math.min(width, values.length);
  const means = Array.from({ length: spans }, (_, i) =>
    mean(values.slice(Math.floor((i * values.length) / spans), Math.floor(((i + 1) * values.length) / spans))),
  );
  const low = Math.min(...means);
  const high = Math.max(...means);
  return means
    .map((value) => bars[high === low ? 3 : Math.min(7, Math.floor((8 * (value - low)) / (high - low)))])
    .join("");
}
