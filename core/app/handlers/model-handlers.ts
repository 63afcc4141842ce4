import { findLeftovers, removeLeftovers } from "../../hub/storage/leftovers.ts";
import { listLocalModels } from "../../hub/storage/list-local.ts";
import { giveUpMove, planMove } from "../../hub/storage/move-models-folder.ts";
import { readStorage } from "../../hub/storage/places.ts";
import { planRemoval, removeModel } from "../../hub/storage/remove-model.ts";
import { addModelFolder } from "../models/add-folder.ts";
import { modelDetails } from "../models/model-details.ts";
import type { Handlers } from "../service/handlers.ts";

export const modelHandlers: Handlers<"models"> = {
  "models.list": () => listLocalModels(),
  "models.details": ({ reference }) => modelDetails(reference),
  "models.measure": async ({ reference }, context) => ({
    job: await context.startJob({ kind: "other", title: reference, work: "measure-speed", input: { reference } }),
  }),
  "models.add_folder": ({ path }, context) => addModelFolder(path, context),
  "models.plan_removal": ({ reference, kind }) => {
    const { bytes, paths, kept_paths } = planRemoval(reference, kind);
    return { reference, removed: false, bytes, paths, kept_paths };
  },
  "models.remove": ({ reference, kind }, context) => {
    const removal = removeModel(planRemoval(reference, kind));
    context.tell("library", kind === "model" ? "models" : "datasets");
    return removal;
  },
  "models.leftovers": () => findLeftovers(),
  "models.clean_up": (_, context) => {
    const bytes = removeLeftovers(findLeftovers());
    context.tell("library", "models");
    return bytes;
  },
  "models.plan_move": ({ to }) => planMove(to),
  "models.move": ({ to }, context) => {
    const plan = planMove(to);
    return context.startJob({ kind: "other", title: plan.to, work: "move-models", input: { to: plan.to } });
  },
  "models.unfinished_move": () => {
    const { move } = readStorage();
    return move === null ? null : { from: move.from, to: move.to };
  },
  "models.give_up_move": () => {
    giveUpMove();
    return null;
  },
};
