/** Calls about runs that are there. */

import { z } from "zod";
import type { RunSummary } from "../cli-json.ts";
import { call } from "./call.ts";

export const runCalls = {
  "runs.list": call<{ runs: RunSummary[]; unreadable: { name: string; why: string }[] }>()(z.object({})),
};
