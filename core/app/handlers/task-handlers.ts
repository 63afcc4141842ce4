import type { Handlers } from "../service/handlers.ts";

export const taskHandlers: Handlers<"tasks"> = {};
