/** The handlers of each area, loaded when its first call comes. */

import type { Area } from "../../contract/api/api.ts";
import type { Handlers } from "./handlers.ts";

/** `app` and `jobs` belong to the main thread's own state and are made in `app.ts`. */
export type LoadedArea = Exclude<Area, "app" | "jobs">;

export const areaHandlers: { readonly [A in LoadedArea]: () => Promise<Handlers<A>> } = {
  models: async () => (await import("../handlers/model-handlers.ts")).modelHandlers,
  hub: async () => (await import("../handlers/hub-handlers.ts")).hubHandlers,
  data: async () => (await import("../handlers/data-handlers.ts")).dataHandlers,
  tasks: async () => (await import("../handlers/task-handlers.ts")).taskHandlers,
  rewards: async () => (await import("../handlers/reward-handlers.ts")).rewardHandlers,
  train: async () => (await import("../handlers/train-handlers.ts")).trainHandlers,
  runs: async () => (await import("../handlers/run-handlers.ts")).runHandlers,
  play: async () => (await import("../handlers/play-handlers.ts")).playHandlers,
  chat: async () => (await import("../handlers/chat-handlers.ts")).chatHandlers,
  tutorial: async () => (await import("../handlers/tutorial-handlers.ts")).tutorialHandlers,
};
