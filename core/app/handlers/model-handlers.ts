import { listLocalModels } from "../../hub/storage/list-local.ts";
import type { Handlers } from "../service/handlers.ts";

export const modelHandlers: Handlers<"models"> = {
  "models.list": () => listLocalModels(),
};
