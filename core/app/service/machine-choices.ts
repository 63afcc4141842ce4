import type { OpenChoices } from "../session.ts";
import type { CallContext } from "./handlers.ts";

/** How a person has set models to be opened on this machine. */
export async function machineChoices(context: CallContext): Promise<OpenChoices> {
  const { threads, memory_limit } = await context.call("settings.get", {});
  return { ...(threads !== null && { threads }), ...(memory_limit !== null && { memoryLimit: memory_limit }) };
}
