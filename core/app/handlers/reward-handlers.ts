import type { Handlers } from "../service/handlers.ts";

export const rewardHandlers: Handlers<"rewards"> = {};
