/** A reward that the user wrote in TypeScript or JavaScript, run in a sandbox. */

import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { basename, extname, resolve } from "node:path";
import { HoneError } from "../contract/errors.ts";
import { deriveSeed } from "../contract/random.ts";
import type { RewardAnswer } from "../contract/reward.ts";
import { fileReason } from "../files/system-error.ts";
import { badSample } from "./expected.ts";
import type { OpenPart, PartContext, PartOptions } from "./part.ts";
import { Sandbox } from "./sandbox.ts";
import type { SandboxFault, SandboxReply } from "./sandbox-worker.ts";

/** Throws `bad-reward-file` with file and line when the code cannot be loaded. */
export async function openScript(options: PartOptions<"script">, { folder, signal }: PartContext): Promise<OpenPart> {
  const path = resolve(folder, options.file);
  const { name, timeout_seconds: seconds, memory_mb } = options;
  const sandbox = new Sandbox({
    code: readCode(path),
    file: basename(path),
    seconds,
    memoryBytes: memory_mb * 2 ** 20,
  });
  const stop = () => void sandbox.close();
  signal?.addEventListener("abort", stop);
  const limits: Record<string, string> = {
    late: `it took longer than ${seconds} s`,
    memory: `it took more than ${memory_mb} MB`,
    stack: "its functions call each other too deeply",
  };
  const told = ({ kind, message, line, column }: SandboxFault) => {
    // Where a loop stood when its time was over is known only as the last call before.
    if (kind === "late") return `${path}: ${limits[kind]}${line === undefined ? "" : `, last seen at line ${line}`}`;
    return `${line === undefined ? path : `${path}:${line}:${column}`}: ${limits[kind] ?? message}`;
  };
  try {
    const { value, fault } = await sandbox.run();
    signal?.throwIfAborted();
    if (fault !== undefined) {
      const fix =
        fault.kind === "export" ? "export default (sample) => …; `hone reward new --out FILE` shows how" : undefined;
      throw new HoneError("bad-reward-file", told(fault), fix === undefined ? {} : { fix });
    }
    const parts = value === undefined ? undefined : declaredParts(path, JSON.parse(value));
    return {
      description: `what ${basename(path)} gives`,
      ...(parts !== undefined && { parts }),
      async score(sample) {
        // From what is scored, not from its place: in the lab an answer is worth what it was worth in training.
        const seed = deriveSeed("reward", sample.row_id, sample.completion);
        const reply = await sandbox.run({ json: JSON.stringify(sample), seed });
        signal?.throwIfAborted();
        if (reply.fault !== undefined) throw badSample(name, sample, told(reply.fault) + logged(reply));
        return readAnswer(reply, (why, fix) => badSample(name, sample, `${path}: ${why}`, fix));
      },
      async close() {
        signal?.removeEventListener("abort", stop);
        await sandbox.close();
      },
    };
  } catch (error) {
    await sandbox.close();
    throw error;
  }
}

function logged({ log }: SandboxReply): string {
  return log.length === 0 ? "" : `; its console: ${log.slice(-3).join(" | ")}`;
}

/** The file as JavaScript, every line and column where it was. */
export function readCode(path: string): string {
  let source: string;
  try {
    source = readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    const why = fileReason(error) ?? String(error);
    throw new HoneError("bad-reward-file", `cannot read ${path}: ${why}`, { cause: error });
  }
  if (!/^\.m?ts$/.test(extname(path).toLowerCase())) return source;
  const emitWarning = Reflect.get(process, "emitWarning");
  // Node says that stripping types is experimental; whoever writes a reward cannot do anything about that.
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(source);
  } catch (error) {
    throw new HoneError("bad-reward-file", `${path}${placeOfSyntaxError(error)}`, { cause: error });
  } finally {
    process.emitWarning = emitWarning;
  }
}

function placeOfSyntaxError(error: unknown): string {
  const { message, stack = "" } = error as Error;
  const line = /:(\d+)\n/.exec(stack)?.[1];
  return `${line === undefined ? "" : `:${line}`}: ${message}`;
}

/** `export const parts = ["format", "correct"]`, or with weights `{ format: 0.2, correct: 1 }`. */
function declaredParts(path: string, value: unknown): Record<string, number> {
  const entries: [unknown, unknown][] = Array.isArray(value)
    ? value.map((part: unknown) => [part, 1])
    : Object.entries(typeof value === "object" && value !== null ? value : {});
  const right = entries.every(
    ([part, weight]) => typeof part === "string" && part !== "" && typeof weight === "number",
  );
  if (right && entries.length > 0) return Object.fromEntries(entries) as Record<string, number>;
  throw new HoneError(
    "bad-reward-file",
    `${path}: the export parts is neither a list of names nor an object of weights`,
    {
      fix: 'export const parts = ["format", "correct"], or { format: 0.2, correct: 1 }',
    },
  );
}

type Complain = (why: string, fix?: string) => HoneError;

const shapeFix = "return a number, or {parts: {name: number}}, with total and info if you like";

function readAnswer({ value, log }: SandboxReply, wrong: Complain): RewardAnswer {
  const given: unknown = value === undefined ? undefined : JSON.parse(value);
  const number = (what: string, it: unknown): number => {
    if (typeof it === "number") return it;
    const odd = typeof it === "object" && it !== null && "$number" in it ? String(it.$number) : JSON.stringify(it);
    throw wrong(`${what} is ${odd}, not a finite number`, shapeFix);
  };
  const console = log.length > 0 ? { console: log } : undefined;
  if (given === undefined) throw wrong("it returned nothing", shapeFix);
  if (typeof given !== "object" || given === null || Array.isArray(given) || "$number" in given) {
    const reward = number("what it returned", given);
    return console === undefined ? reward : { parts: { "": reward }, info: console };
  }
  const { total, parts = {}, info, ...others } = given as Record<string, unknown>;
  const [stray] = Object.keys(others);
  if (stray !== undefined) throw wrong(`it returned an object with a key ${JSON.stringify(stray)}`, shapeFix);
  if (typeof parts !== "object" || parts === null || Array.isArray(parts)) throw wrong("parts is no object", shapeFix);
  if (total === undefined && Object.keys(parts).length === 0 && !("parts" in given)) {
    throw wrong("it returned an object without parts", shapeFix);
  }
  if (info !== undefined && (typeof info !== "object" || info === null)) throw wrong("info is no object", shapeFix);
  return {
    ...(total !== undefined && { total: number("total", total) }),
    parts: Object.fromEntries(Object.entries(parts).map(([name, it]) => [name, number(`the part ${name}`, it)])),
    ...((info !== undefined || console !== undefined) && { info: { ...info, ...console } }),
  };
}
