import type { Handlers } from "../service/handlers.ts";
import { summarizeLibrary } from "../run-summaries.ts";

export const runHandlers: Handlers<"runs"> = {
  "runs.list": () => summarizeLibrary(),
};
