/** Built-in parts that judge JSON and tool calls. Every value lies in 0 … 1. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { HoneError } from "../contract/errors.ts";
import type { RewardSample } from "../contract/reward.ts";
import { fileReason } from "../files/system-error.ts";
import { jsonIn } from "../text/strict-json.ts";
import { badSample, expectedOf } from "./expected.ts";
import type { OpenPartOf } from "./part.ts";
import { withinTime } from "./within-time.ts";

/** The JSON value of a text with nothing around it; undefined when there is none. Repeated keys are no JSON. */
function strictJson(text: string): { value: unknown } | undefined {
  const read = jsonIn(text);
  return read?.around === false ? read : undefined;
}

interface JsonPlace {
  text: "answer" | "completion" | "reasoning";
  where: "whole" | "fenced";
}

function jsonOf({ text, where }: JsonPlace, sample: RewardSample): { value: unknown } | undefined {
  const whole = sample[text];
  const block = where === "fenced" ? /^[ \t]*```[^\n`]*\n([\s\S]*?)^[ \t]*```[ \t]*$/m.exec(whole) : null;
  return strictJson(block?.[1] ?? whole);
}

export const jsonSchema: OpenPartOf<"json_schema"> = (options, { folder }) => {
  const { name, text, where } = options;
  const valid = compileSchema(name, options.schema, folder);
  return {
    description: `1 when the ${text} is JSON that the schema accepts, else 0`,
    score(sample) {
      const json = jsonOf({ text, where }, sample);
      if (json === undefined) return 0;
      const late = (why: string) => badSample(name, sample, `the schema ${why}`, "simplify its patterns");
      return Number(withinTime(() => valid(json.value), late));
    },
  };
};

function compileSchema(name: string, given: Record<string, unknown> | boolean | string, folder: string) {
  let schema: unknown = given;
  if (typeof given === "string") {
    const path = resolve(folder, given);
    try {
      schema = JSON.parse(readFileSync(path, "utf8"));
    } catch (error) {
      const why = fileReason(error) ?? (error as Error).message;
      throw new HoneError("bad-reward-file", `reward part ${name}: ${path}: ${why}`, { cause: error });
    }
  }
  try {
    // Whatever draft is named, unknown keywords are mistakes; formats (`date`, `email`) are notes.
    const { $schema: _draft, ...body } = typeof schema === "object" ? (schema as Record<string, unknown>) : {};
    const compiled: ValidateFunction = new Ajv2020({
      strictTypes: false,
      strictRequired: false,
      validateFormats: false,
    }).compile(typeof schema === "boolean" ? schema : body);
    return (value: unknown) => compiled(value);
  } catch (error) {
    throw new HoneError("bad-reward-file", `reward part ${name}: ${(error as Error).message}`, { cause: error });
  }
}

/** Every value inside, by its path; a list also tells its length, so that one that is too long is not wholly right. */
function leaves(value: unknown, path = "", found = new Map<string, unknown>()): Map<string, unknown> {
  const below = (key: string) => (path === "" ? key : `${path}.${key}`);
  if (Array.isArray(value)) {
    found.set(below("length"), value.length);
    value.forEach((item, i) => leaves(item, below(String(i)), found));
  } else if (typeof value === "object" && value !== null && Object.keys(value).length > 0) {
    for (const [key, item] of Object.entries(value)) leaves(item, below(key), found);
  } else {
    found.set(path, value);
  }
  return found;
}

export const fields: OpenPartOf<"fields"> = (options) => {
  const same = (a: unknown, b: unknown): boolean => {
    if (typeof a !== "string" || typeof b !== "string") return isDeepStrictEqual(a, b);
    const plain = (text: string) => (options.ignore_case ? text.trim().toLowerCase() : text.trim());
    return plain(a) === plain(b);
  };
  const wanted = (path: string) =>
    options.fields?.some((field) => path === field || path.startsWith(`${field}.`)) ?? true;
  return {
    description: `share of the expected fields that the ${options.text}'s JSON has right`,
    score(sample) {
      const right = [...leaves(objectOf(options.name, expectedOf(options, sample), sample))].filter(([path]) =>
        wanted(path),
      );
      if (right.length === 0) throw badSample(options.name, sample, "none of the fields is expected in its row");
      const json = jsonOf(options, sample);
      if (json === undefined) return 0;
      const given = leaves(json.value);
      const hits = right.filter(([path, value]) => given.has(path) && same(given.get(path), value)).length;
      const known = new Set(right.map(([path]) => path));
      const extra =
        options.extra === "count" ? [...given.keys()].filter((path) => wanted(path) && !known.has(path)).length : 0;
      return hits / (right.length + extra);
    },
  };
};

/** A column holds an object, or its JSON text (CSV knows nothing else). */
function objectOf(part: string, value: unknown, sample: RewardSample): unknown {
  const read = typeof value === "string" ? strictJson(value)?.value : value;
  if (typeof read === "object" && read !== null) return read;
  throw badSample(part, sample, `what is expected is no JSON object: ${JSON.stringify(value)}`);
}

interface Call {
  name: string;
  arguments: Record<string, unknown>;
}

export const toolCall: OpenPartOf<"tool_call"> = (options) => {
  const worth = (given: Call | undefined, right: Call): number => {
    if (given?.name !== right.name) return 0;
    return isDeepStrictEqual({ ...given.arguments }, { ...right.arguments }) ? 1 : options.name_credit;
  };
  return {
    description: "share of the expected tool calls that were made, name and arguments exactly; other calls lower it",
    score(sample) {
      const right = callsOf(options.name, expectedOf(options, sample), sample);
      // A call that is broken was still tried: it counts as a wrong one.
      const broken = sample.problems.filter(({ code }) => code !== "no_call").length;
      const given = [...sample.tool_calls];
      const most = Math.max(right.length, given.length + broken);
      if (most === 0) return 1;
      let sum = 0;
      if (options.ordered) right.forEach((call, i) => (sum += worth(given[i], call)));
      else {
        // Exact matches first, so that a half right call does not take the place of a right one.
        const left: Call[] = [];
        for (const call of right) {
          const at = given.findIndex((one) => worth(one, call) === 1);
          if (at < 0) left.push(call);
          else sum += given.splice(at, 1).length;
        }
        for (const call of left) {
          const at = given.findIndex((one) => one.name === call.name);
          if (at >= 0) sum += worth(given.splice(at, 1)[0], call);
        }
      }
      return sum / most;
    },
  };
};

/** Calls as people write them down: one or a list, plain or as OpenAI's API has them, objects or JSON text. */
function callsOf(part: string, value: unknown, sample: RewardSample): Call[] {
  const wrong = () => badSample(part, sample, `what is expected is no tool call: ${JSON.stringify(value)}`);
  if (value === null || value === "") return [];
  const read = typeof value === "string" ? strictJson(value)?.value : value;
  const list: unknown[] = Array.isArray(read) ? read : [read];
  return list.map((item) => {
    if (typeof item !== "object" || item === null) throw wrong();
    const call = ("function" in item ? item.function : item) as { name?: unknown; arguments?: unknown } | null;
    if (typeof call?.name !== "string") throw wrong();
    const given = call.arguments ?? {};
    const args = typeof given === "string" ? strictJson(given)?.value : given;
    if (typeof args !== "object" || args === null || Array.isArray(args)) throw wrong();
    return { name: call.name, arguments: args as Record<string, unknown> };
  });
}
