import type { Handlers } from "../service/handlers.ts";

export const dataHandlers: Handlers<"data"> = {};
