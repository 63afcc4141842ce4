/** Checks a call's input and hands it to the area's handlers. */

import type { z } from "zod";
import { areas, calls, type Area, type CallName } from "../../contract/api/api.ts";
import { HoneError } from "../../contract/errors.ts";
import { unknownCall } from "../../contract/rpc.ts";
import { asUserError } from "../../files/system-error.ts";
import type { CallContext } from "./handlers.ts";

type AnyHandler = (input: unknown, context: CallContext) => unknown;

/** The area of a call. Throws `unknown-call`. */
export function areaOf(name: string): Area {
  const found = Object.entries(areas).find(([, area]) => Object.hasOwn(area, name));
  if (found === undefined) throw unknownCall(name);
  return found[0] as Area;
}

/** Throws `unknown-call`, and what `parseInput` throws. */
export async function serveCall(
  handlers: Readonly<Record<string, unknown>>,
  name: string,
  input: unknown,
  context: CallContext,
): Promise<unknown> {
  const handler = handlers[name] as AnyHandler | undefined;
  if (handler === undefined || !Object.hasOwn(calls, name)) throw unknownCall(name);
  const checked = parseInput(name, calls[name as CallName].input, input);
  try {
    return await handler(checked, context);
  } catch (error) {
    // A full disk or a missing right is no defect of Hone, wherever it is met.
    throw asUserError(error);
  }
}

/** Throws `bad-input` with the field when the input is not what the call takes. */
export function parseInput<Schema extends z.ZodType>(name: string, schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue.path.join(".");
  throw new HoneError("bad-input", `${name}: ${where === "" ? "" : `${where}: `}${issue.message}`);
}
