/**
 * The thread in which a user's reward runs: QuickJS in WebAssembly, so the code sees the language and nothing of Node.
 * Every sample gets a world of its own: a reward cannot remember earlier samples, so its values do not depend on their
 * order. The clock stands still, `Math.random` follows from the sample, local time is UTC: the same sample gives the
 * same value in every run.
 */

import { parentPort, workerData } from "node:worker_threads";
import variant from "@jitl/quickjs-wasmfile-release-sync";
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
} from "quickjs-emscripten-core";

export interface SandboxOptions {
  code: string;
  /** As it is named in stack traces. */
  file: string;
  seconds: number;
  memoryBytes: number;
}

/** Without `sample` the code is only loaded. */
export interface SandboxRequest {
  id: number;
  sample?: { json: string; seed: number };
}

export interface SandboxReply {
  id: number;
  /** JSON of what was returned (or, when only loaded, of the export `parts`); absent: undefined. */
  value?: string;
  fault?: SandboxFault;
  /** Lines that the code wrote to the console. */
  log: string[];
}

export interface SandboxFault {
  /** `broken`: the sandbox itself, and not by the code's own error. */
  kind: "thrown" | "late" | "memory" | "stack" | "export" | "pending" | "broken";
  message: string;
  line?: number;
  column?: number;
}

const stackBytes = 256 * 1024;
const mostLogLines = 100;
const mostLogCharacters = 1000;

/**
 * Runs first in every world. What it keeps hold of stays as it is, whatever the reward does to the built-ins. Numbers
 * that JSON cannot write are told as `{"$number": "NaN"}`.
 */
const prelude = `(seed, log) => {
  const { parse, stringify } = JSON;
  const { isFinite } = Number;
  const text = String;
  const then = Promise.prototype.then;
  const show = (value) => {
    if (typeof value === "string") return value;
    try { return stringify(value) ?? text(value); } catch { return text(value); }
  };
  const print = (...values) => log(values.map(show).join(" "));
  globalThis.console = { log: print, info: print, warn: print, error: print, debug: print };
  let state = seed >>> 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const now = Date.UTC(2025, 0, 1);
  const RealDate = Date;
  globalThis.Date = class Date extends RealDate {
    constructor(...given) { given.length === 0 ? super(now) : super(...given); }
    static now() { return now; }
  };
  RealDate.prototype.constructor = globalThis.Date;
  delete globalThis.SharedArrayBuffer;
  delete globalThis.Atomics;
  const plain = (key, value) =>
    (typeof value === "number" && !isFinite(value)) || typeof value === "bigint" ? { $number: text(value) } : value;
  const tell = (value) => stringify(value, plain);
  return (grade, json) => {
    if (json === undefined) return tell(grade);
    const value = grade(parse(json));
    return value instanceof Promise ? then.call(value, tell) : tell(value);
  };
}`;

class Fault extends Error {
  readonly fault: SandboxFault;

  constructor(fault: SandboxFault) {
    super(fault.message);
    this.fault = fault;
  }
}

const options = workerData as SandboxOptions;
// QuickJS asks this for local time.
Date.prototype.getTimezoneOffset = () => 0;
/** WebAssembly counts memory in pages; QuickJS itself needs the first of them. */
const pageBytes = 64 * 1024;
const ownPages = 256;

// QuickJS's own limit does not count every text, so the memory itself ends where the limit does.
const wasmMemory = new WebAssembly.Memory({
  initial: ownPages,
  maximum: ownPages + Math.ceil(options.memoryBytes / pageBytes),
});
// The package's types describe its CommonJS form.
const quickJs = await newQuickJSWASMModuleFromVariant(
  newVariant(variant as unknown as QuickJSSyncVariant, { wasmMemory }),
);

function run({ id, sample }: SandboxRequest): SandboxReply {
  const log: string[] = [];
  const deadline = performance.now() + options.seconds * 1000;
  const runtime = quickJs.newRuntime();
  runtime.setMemoryLimit(options.memoryBytes);
  runtime.setMaxStackSize(stackBytes);
  runtime.setInterruptHandler(() => performance.now() > deadline);
  runtime.setModuleLoader((name) => ({ error: new Error(`a reward cannot import ${name}: it stands alone`) }));
  const context = runtime.newContext();
  try {
    const value = inContext(context, sample, log);
    // Some built-ins (sort) never ask whether the time is over.
    if (performance.now() > deadline) return { id, log, fault: { kind: "late", message: "interrupted" } };
    return { id, log, ...(value !== undefined && { value }) };
  } catch (error) {
    if (error instanceof Fault) return { id, log, fault: error.fault };
    throw error;
  } finally {
    context.dispose();
    runtime.dispose();
  }
}

function inContext(context: QuickJSContext, sample: SandboxRequest["sample"], log: string[]): string | undefined {
  // Handles die with their context; whoever leaks one would hear of it when the runtime is disposed of.
  const kept: QuickJSHandle[] = [];
  const keep = (handle: QuickJSHandle) => (kept.push(handle), handle);
  const value = (result: ReturnType<QuickJSContext["evalCode"]>): QuickJSHandle => {
    if (result.error === undefined) return keep(result.value);
    throw new Fault(faultOf(context.dump(keep(result.error))));
  };
  const call = (callee: QuickJSHandle, ...args: QuickJSHandle[]) =>
    value(context.callFunction(callee, context.undefined, ...args));
  try {
    const print = keep(
      context.newFunction("log", (line) => {
        if (log.length < mostLogLines) log.push(context.getString(line).slice(0, mostLogCharacters));
      }),
    );
    const run = call(value(context.evalCode(prelude, "prelude")), keep(context.newNumber(sample?.seed ?? 0)), print);
    const settled = (handle: QuickJSHandle): QuickJSHandle => {
      if (context.typeof(handle) !== "object") return handle;
      const jobs = context.runtime.executePendingJobs();
      if (jobs.error !== undefined) throw new Fault(faultOf(context.dump(keep(jobs.error))));
      jobs.dispose();
      const state = context.getPromiseState(handle);
      if (state.type === "fulfilled") return state.notAPromise === true ? handle : keep(state.value);
      if (state.type === "rejected") throw new Fault(faultOf(context.dump(keep(state.error))));
      throw new Fault({ kind: "pending", message: "it waits for something that never happens" });
    };
    const exports = settled(value(context.evalCode(options.code, options.file, { type: "module" })));
    const grade = keep(context.getProp(exports, "default"));
    if (context.typeof(grade) !== "function") {
      throw new Fault({ kind: "export", message: "it has no default export that is a function" });
    }
    const result =
      sample === undefined
        ? call(run, keep(context.getProp(exports, "parts")))
        : settled(call(run, grade, keep(context.newString(sample.json))));
    return context.typeof(result) === "string" ? context.getString(result) : undefined;
  } finally {
    for (const handle of kept.reverse()) if (handle.alive) handle.dispose();
  }
}

function faultOf(dumped: unknown): SandboxFault {
  const { name, message, stack } = (typeof dumped === "object" && dumped !== null ? dumped : {}) as Record<
    string,
    unknown
  >;
  const place = typeof stack === "string" ? placeIn(stack) : {};
  const thrown = typeof message === "string" ? `${String(name)}: ${message}` : String(JSON.stringify(dumped));
  if (name === "InternalError" && message === "interrupted") return { kind: "late", message: thrown, ...place };
  if (name === "InternalError" && message === "out of memory") return { kind: "memory", message: thrown, ...place };
  if (name === "InternalError" && message === "stack overflow") return { kind: "stack", message: thrown, ...place };
  // An error for which there was no room any more.
  if (dumped === null || dumped === "") return { kind: "memory", message: "out of memory" };
  return { kind: "thrown", message: thrown, ...place };
}

/** The innermost place in the user's file. */
function placeIn(stack: string): { line: number; column: number } | Record<string, never> {
  for (const frame of stack.split("\n")) {
    const at = frame.indexOf(`${options.file}:`);
    const found = at < 0 ? null : /^(\d+)(?::(\d+))?/.exec(frame.slice(at + options.file.length + 1));
    if (found !== null) return { line: Number(found[1]), column: Number(found[2] ?? 1) };
  }
  return {};
}

parentPort?.on("message", (request: SandboxRequest) => parentPort?.postMessage(run(request)));
/** The first message says that the sandbox is ready. */
parentPort?.postMessage("ready");
