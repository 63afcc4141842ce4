/** Checks a call's input and hands it to the area's handlers. */

import { areas, calls, type Area, type CallName } from "../../contract/api/api.ts";
import { HoneError } from "../../contract/errors.ts";
import { unknownCall } from "../../contract/rpc.ts";
import type { CallContext } from "./handlers.ts";

type AnyHandler = (input: unknown, context: CallContext) => unknown;

/** The area of a call. Throws `unknown-call`. */
export function areaOf(name: string): Area {
  const found = Object.entries(areas).find(([, area]) => Object.hasOwn(area, name));
  if (found === undefined) throw unknownCall(name);
  return found[0] as Area;
}

/** Throws `bad-input` with the field when the input is not what the call takes. */
export async function serveCall(
  handlers: Readonly<Record<string, unknown>>,
  name: string,
  input: unknown,
  context: CallContext,
): Promise<unknown> {
  const handler = handlers[name] as AnyHandler | undefined;
  if (handler === undefined || !Object.hasOwn(calls, name)) throw unknownCall(name);
  const result = calls[name as CallName].input.safeParse(input);
  if (!result.success) {
    const [issue] = result.error.issues;
    const where = issue.path.join(".");
    throw new HoneError("bad-input", `${name}: ${where === "" ? "" : `${where}: `}${issue.message}`);
  }
  return await handler(result.data, context);
}
