/** Work of a built-in part that one unlucky pattern could make endless. */

import { createContext, Script } from "node:vm";

const milliseconds = 1000;
const script = new Script("work()");
const context = createContext({ work: undefined as unknown });

/** What `work` returns. When it takes longer than a second it is stopped, and `late` makes the error. */
export function withinTime<T>(work: () => T, late: (why: string) => Error): T {
  context["work"] = work;
  try {
    return script.runInContext(context, { timeout: milliseconds }) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    throw late(`took longer than ${milliseconds / 1000} s`);
  }
}
