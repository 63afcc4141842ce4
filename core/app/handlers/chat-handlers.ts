import type { Handlers } from "../service/handlers.ts";

export const chatHandlers: Handlers<"chat"> = {};
