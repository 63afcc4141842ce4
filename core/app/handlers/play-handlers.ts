import type { Handlers } from "../service/handlers.ts";

export const playHandlers: Handlers<"play"> = {};
