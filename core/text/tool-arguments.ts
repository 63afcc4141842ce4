/** Checks the arguments of a tool call against the tool's JSON Schema. Nothing is converted. */

import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { HoneError } from "../contract/errors.ts";
import type { ToolDefinition } from "../contract/chat.ts";
import { isRecord } from "../contract/is-record.ts";
import type { JsonPath } from "./strict-json.ts";

export type ArgumentFault = { code: "bad_argument" | "out_of_range"; message: string };

const ajv = new Ajv({ allErrors: true, strict: false, coerceTypes: false, useDefaults: false, validateFormats: false });
const validators = new WeakMap<ToolDefinition, ValidateFunction>();
const rangeKeywords = new Set(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]);

/**
 * `unplainIntegers`: whole numbers not written in plain digits (`5.0`), which are no integers here. An argument that the
 * schema does not declare is refused unless the schema says `additionalProperties` itself.
 */
export function checkArguments(
  tool: ToolDefinition,
  given: Record<string, unknown>,
  unplainIntegers: readonly JsonPath[],
): ArgumentFault | undefined {
  const validate = validatorOf(tool);
  const errors = validate(given) ? [] : (validate.errors ?? []);
  const wrong = errors.find(({ keyword }) => !rangeKeywords.has(keyword));
  if (wrong !== undefined) return { code: "bad_argument", message: describe(wrong) };
  const spelled = unplainIntegers.find((path) => mustBeInteger(validate, given, path));
  if (spelled !== undefined) {
    return { code: "bad_argument", message: `${spelled.join(".")} must be an integer written in plain digits` };
  }
  const range = errors[0];
  return range === undefined ? undefined : { code: "out_of_range", message: describe(range) };
}

/** Whether the schema would refuse a fraction at this place. */
function mustBeInteger(validate: ValidateFunction, given: unknown, path: JsonPath): boolean {
  const copy: unknown = structuredClone(given);
  let parent: unknown = copy;
  for (const key of path.slice(0, -1)) parent = isContainer(parent) ? parent[key] : undefined;
  const last = path.at(-1);
  if (!isContainer(parent) || last === undefined) return false;
  parent[last] = Number(parent[last]) + 0.5;
  if (validate(copy)) return false;
  const place = path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  return (validate.errors ?? []).some(({ keyword, instancePath }) => keyword === "type" && instancePath === place);
}

function isContainer(value: unknown): value is Record<string | number, unknown> {
  return isRecord(value) || Array.isArray(value);
}

function validatorOf(tool: ToolDefinition): ValidateFunction {
  let validate = validators.get(tool);
  if (validate === undefined) {
    const { name, parameters = {} } = tool.function;
    const schema = {
      type: "object",
      ...(parameters.additionalProperties === undefined && parameters.patternProperties === undefined
        ? { additionalProperties: false }
        : {}),
      ...parameters,
    };
    try {
      validate = ajv.compile(schema);
    } catch (cause) {
      throw new HoneError("bad-tool", `The parameters of tool ${name} are not a valid JSON Schema`, { cause });
    }
    validators.set(tool, validate);
  }
  return validate;
}

function describe({ instancePath, message = "is not valid", params }: ErrorObject): string {
  const place = instancePath.slice(1).replaceAll("/", ".");
  const extra: unknown = isRecord(params) ? params.additionalProperty : undefined;
  return `${place === "" ? "the arguments" : place} ${message}${typeof extra === "string" ? ` (${extra})` : ""}`;
}
