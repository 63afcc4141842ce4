/** One chat template: compiled once, run with the variables that transformers gives to templates. */

import * as jinja from "@huggingface/jinja";
import { HoneError, errorMessage } from "../contract/errors.ts";
import { isRecord } from "../contract/is-record.ts";

interface Scope {
  set(name: string, value: unknown): unknown;
}

/**
 * The package's parts, whose type files do not resolve under Node's module rules. Its own `Template.render` sets
 * `raise_exception` and `strftime_now` so that they cannot be replaced, the latter in the language of the machine.
 */
interface Package {
  Template: new (source: string) => { parsed: unknown };
  Environment: new () => Scope;
  Interpreter: new (scope: Scope) => { run(program: unknown): { value: string } };
}

const { Template, Environment, Interpreter } = jinja as unknown as Package;

/** What a template says through `raise_exception`. */
class Refusal extends Error {}

export class JinjaTemplate {
  readonly source: string;
  readonly #program: unknown;
  readonly #names: ReadonlySet<string>;

  /** Throws `HoneError` `bad-template`. */
  constructor(source: string) {
    this.source = source;
    try {
      this.#program = new Template(source).parsed;
    } catch (cause) {
      throw new HoneError("bad-template", `The chat template cannot be read: ${errorMessage(cause)}`, { cause });
    }
    this.#names = identifiers(this.#program);
  }

  /** Whether the template looks at a variable. */
  uses(name: string): boolean {
    return this.#names.has(name);
  }

  /** Throws `HoneError` `template-error`, with what the template itself says when it refuses the messages. */
  run(variables: Record<string, unknown>, now: Date): string {
    const globals = {
      true: true,
      false: false,
      none: null,
      True: true,
      False: false,
      None: null,
      range,
      raise_exception: (message: unknown) => {
        throw new Refusal(typeof message === "string" ? message : "no reason given");
      },
      strftime_now: (format: unknown) => strftime(now, String(format)),
    };
    try {
      const scope = new Environment();
      for (const [name, value] of Object.entries({ ...globals, ...variables })) scope.set(name, value);
      return new Interpreter(scope).run(this.#program).value;
    } catch (cause) {
      const what = cause instanceof Refusal ? "refuses these messages" : "cannot be run on these messages";
      throw new HoneError("template-error", `The model's chat template ${what}: ${errorMessage(cause)}`, {
        cause,
        fix: "Change the messages (roles, their order, tools) or choose another template with --chat-template-path.",
      });
    }
  }
}

/** Python's `range`. */
function range(first: number, second?: number, step = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  return Array.from({ length: Math.max(0, Math.ceil((stop - start) / step)) }, (_, i) => start + i * step);
}

/** Names of variables in a parsed template. */
function identifiers(node: unknown, found = new Set<string>()): Set<string> {
  if (Array.isArray(node)) for (const item of node as unknown[]) identifiers(item, found);
  else if (node instanceof Map)
    for (const [key, item] of node as Map<unknown, unknown>) identifiers([key, item], found);
  else if (isRecord(node)) {
    if (node.type === "Identifier" && typeof node.value === "string") found.add(node.value);
    for (const item of Object.values(node)) identifiers(item, found);
  }
  return found;
}

const months = "January February March April May June July August September October November December".split(" ");
const days = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** Python's `strftime` in the C locale, in local time. Unknown directives stay as they are. */
export function strftime(date: Date, format: string): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const yearDay = () => {
    const start = Date.UTC(date.getFullYear(), 0, 1);
    return (Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - start) / 86_400_000 + 1;
  };
  const directives: Record<string, () => string> = {
    Y: () => String(date.getFullYear()),
    y: () => two(date.getFullYear() % 100),
    m: () => two(date.getMonth() + 1),
    B: () => months[date.getMonth()] ?? "",
    b: () => (months[date.getMonth()] ?? "").slice(0, 3),
    d: () => two(date.getDate()),
    e: () => String(date.getDate()).padStart(2),
    j: () => String(yearDay()).padStart(3, "0"),
    A: () => days[date.getDay()] ?? "",
    a: () => (days[date.getDay()] ?? "").slice(0, 3),
    H: () => two(date.getHours()),
    I: () => two(date.getHours() % 12 || 12),
    M: () => two(date.getMinutes()),
    S: () => two(date.getSeconds()),
    p: () => (date.getHours() < 12 ? "AM" : "PM"),
    "%": () => "%",
  };
  return format.replace(/%(-?)([A-Za-z%])/g, (whole, unpadded: string, directive: string) => {
    const text = directives[directive]?.() ?? whole;
    return unpadded === "" ? text : text.replace(/^[0 ]+(?=.)/, "");
  });
}
