import type { Handlers } from "../service/handlers.ts";

export const tutorialHandlers: Handlers<"tutorial"> = {};
