/** Calls about models on this machine. */

import { z } from "zod";
import type { StorageListing } from "../hub.ts";
import { call } from "./call.ts";

export const modelCalls = {
  /** What is on this machine: the starter, the caches of other programs, own folders; incomplete ones too. */
  "models.list": call<StorageListing>()(z.object({})),
};
