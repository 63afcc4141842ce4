/** Reads and checks the `task.json` of a task folder. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { z } from "zod";
import { HoneError } from "../../contract/errors.ts";
import { nearest } from "../../contract/nearest.ts";
import { taskFileName, taskFileSchema, type TaskFile } from "../../contract/task.ts";
import { fileReason } from "../../files/system-error.ts";

export function isTaskFolder(path: string): boolean {
  return existsSync(join(path, taskFileName)) && statSync(path).isDirectory();
}

/** Throws `bad-task` with the file, the field and the way out. */
export function readTaskFile(folder: string): TaskFile {
  const path = join(folder, taskFileName);
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, "utf8").replace(/^\uFEFF/, ""));
  } catch (error) {
    const why = fileReason(error) ?? `it is not JSON: ${error instanceof Error ? error.message : String(error)}`;
    throw badTask(path, why, undefined, error);
  }
  const result = taskFileSchema.safeParse(content);
  if (!result.success) throw told(path, result.error.issues[0], content);
  requireSense(path, result.data);
  return result.data;
}

export function badTask(place: string, why: string, fix?: string, cause?: unknown): HoneError {
  return new HoneError("bad-task", `${place}: ${why}`, {
    ...(fix !== undefined && { fix }),
    ...(cause !== undefined && { cause }),
  });
}

const kinds: Record<string, string> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** What is wrong with a value, in plain words; `given` is what stands there. */
function wrong(issue: z.core.$ZodIssue, given: unknown): string {
  const shown = JSON.stringify(given);
  const not = shown.length > 60 ? "" : `, not ${shown}`;
  switch (issue.code) {
    case "invalid_type":
      return `it must be ${kinds[issue.expected] ?? issue.expected}${not}`;
    case "invalid_value":
      return `it must be ${issue.values.map((value) => JSON.stringify(value)).join(" or ")}${not}`;
    case "too_small":
      if (issue.origin === "string" || issue.origin === "array") return "it must not be empty";
      return `it must be ${issue.inclusive === true ? "at least" : "above"} ${issue.minimum}${not}`;
    case "too_big":
      return `it must be ${issue.inclusive === true ? "at most" : "below"} ${issue.maximum}${not}`;
    default:
      return issue.message;
  }
}

function valueAt(content: unknown, keys: readonly PropertyKey[]): unknown {
  return keys.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], content);
}

function told(path: string, issue: z.core.$ZodIssue, content: unknown): HoneError {
  const place = issue.path.map(String).join(".");
  if (issue.code !== "unrecognized_keys") {
    const given = valueAt(content, issue.path);
    const why = given === undefined ? "it is missing" : wrong(issue, given);
    return badTask(path, `${place === "" ? "" : `${place}: `}${why}`, "examples/tasks/README.md explains every key");
  }
  const [key] = issue.keys;
  const known = place === "" ? Object.keys(taskFileSchema.shape) : [];
  const meant = nearest(key, known);
  const list = known.length === 0 ? undefined : `its keys are ${known.join(", ")}`;
  return badTask(
    path,
    `${place === "" ? "" : `${place}: `}there is no key ${JSON.stringify(key)}`,
    meant === undefined ? list : `did you mean ${JSON.stringify(meant)}?`,
  );
}

/** What no single field can tell. */
function requireSense(path: string, file: TaskFile): void {
  const sources = (["data", "rows", "generator"] as const).filter((key) => file[key] !== undefined);
  if (sources.length !== 1) {
    const found = sources.length === 0 ? "it has no rows" : `${sources.join(" and ")} both give rows`;
    throw badTask(path, found, "give exactly one of data (a file), rows (a list) and generator (a script)");
  }
  const { tool_choice: choice, tools, environment, parts, limits } = file;
  const names = tools.map((tool) => tool.function.name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw badTask(path, `tools: the name ${JSON.stringify(twice)} stands twice`);
  if (choice !== undefined && !names.includes(choice)) {
    throw badTask(path, `tool_choice: there is no tool ${JSON.stringify(choice)}`, `its tools are ${names.join(", ")}`);
  }
  if (environment === undefined && parts !== undefined) {
    throw badTask(path, "parts are those of an environment's score, and it has no environment", "give environment");
  }
  if (environment === undefined && (limits.turns ?? 1) > 1) {
    throw badTask(path, "several turns need an environment that answers between them", "give environment, or one turn");
  }
}
