import { HoneError } from "../../contract/errors.ts";
import type { CallContext } from "../service/handlers.ts";

/** Throws `run-busy` while a job of this app works on the run. */
export async function requireIdle(run: string, context: CallContext): Promise<void> {
  const jobs = await context.call("jobs.list", {});
  if (!jobs.some((job) => job.run === run && job.ended === null)) return;
  throw new HoneError("run-busy", `the run ${run} is being worked on`, { fix: "stop it first" });
}
