import type { Handlers } from "../service/handlers.ts";

export const hubHandlers: Handlers<"hub"> = {};
