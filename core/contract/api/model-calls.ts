/** Calls about models on this machine. */

import { z } from "zod";
import { call } from "./call.ts";

export const modelCalls = {
  /** Opens what is needed to talk about a model: architecture, size, template, licence. */
  "models.list": call<{ models: { reference: string; name: string }[] }>()(z.object({})),
};
