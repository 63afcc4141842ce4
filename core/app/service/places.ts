/**
 * Where each area is served. The main thread carries windows and news and must never be busy: what reads files of any
 * size or opens a model has a thread of its own, so that a slow dataset holds up no chat, a download neither, and none of them holds up a click.
 */

import type { Area } from "../../contract/api/api.ts";

export type Place = "main" | "library" | "models" | "network";

export const places: Readonly<Record<Area, Place>> = {
  app: "main",
  jobs: "main",
  tutorial: "main",
  hub: "network",
  models: "library",
  data: "library",
  tasks: "library",
  rewards: "library",
  runs: "library",
  train: "models",
  play: "models",
  chat: "models",
};
