/** Calls about models on this machine. */

import { z } from "zod";
import { repoKinds, type Leftover, type MovePlan, type Removal, type StorageListing } from "../hub.ts";
import { call } from "./call.ts";

const reference = z.object({ reference: z.string().min(1), kind: z.enum(repoKinds).default("model") });

export const modelCalls = {
  /** What is on this machine: the starter, the caches of other programs, own folders; incomplete ones too, and datasets. */
  "models.list": call<StorageListing>()(z.object({})),
  /** What `models.remove` would delete. */
  "models.plan_removal": call<Removal>()(reference),
  "models.remove": call<Removal>()(reference),
  "models.leftovers": call<Leftover[]>()(z.object({})),
  /** Deletes what `models.leftovers` tells. Returns the bytes that were freed. */
  "models.clean_up": call<number>()(z.object({})),
  /** What a move of the models folder would do, or why it cannot be. */
  "models.plan_move": call<MovePlan>()(z.object({ to: z.string().min(1) })),
  /** Begins a move, or goes on with one that stopped. Returns the job's id; its result is a `MoveResult`. */
  "models.move": call<string>()(z.object({ to: z.string().min(1) })),
  /** The move that has not come to its end, if there is one. */
  "models.unfinished_move": call<{ from: string; to: string } | null>()(z.object({})),
  /** Gives up a move that is still copying: the old folder remains the one. */
  "models.give_up_move": call<null>()(z.object({})),
};
