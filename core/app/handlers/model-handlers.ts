import type { Handlers } from "../service/handlers.ts";

export const modelHandlers: Handlers<"models"> = {
  "models.list": () => ({ models: [{ reference: "starter", name: "Starter" }] }),
};
