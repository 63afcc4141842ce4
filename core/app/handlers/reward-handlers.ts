import { tryDraft } from "../rewards/live-lab.ts";
import { labCost } from "../rewards/lab-cost.ts";
import { deleteDrawn, labSources } from "../rewards/lab-source.ts";
import {
  createReward,
  deleteReward,
  isExample,
  listRewards,
  renameReward,
  rewardHistory,
  rewardKind,
  rewardsFolder,
  rewardVersion,
  saveReward,
} from "../rewards/reward-library.ts";
import type { CallContext, Handlers } from "../service/handlers.ts";
import { readTextFile } from "../text-files.ts";

function changed<T>(context: CallContext, result: T): T {
  context.tell("library", "rewards");
  return result;
}

export const rewardHandlers: Handlers<"rewards"> = {
  "rewards.list": () => ({ rewards: listRewards(), folder: rewardsFolder() }),
  "rewards.read": ({ path }) => ({
    ...readTextFile(path),
    kind: rewardKind(path),
    example: isExample(path),
    history: rewardHistory(path),
  }),
  "rewards.create": ({ name, kind, text }, context) => changed(context, createReward(name, kind, text)),
  "rewards.save": ({ path, text, version }, context) => changed(context, saveReward(path, text, version)),
  "rewards.version": ({ path, id }) => ({ text: rewardVersion(path, id) }),
  "rewards.rename": ({ path, name }, context) => changed(context, renameReward(path, name)),
  "rewards.delete": ({ path }, context) => (deleteReward(path), changed(context, null)),
  "rewards.sources": () => labSources(),
  "rewards.try": (request, { signal }) => tryDraft(request, signal),
  "rewards.cost": (request) => labCost(request),
  "rewards.draw": async (request, context) => ({
    job: await context.startJob({
      kind: "reward",
      title: `${request.model} · ${request.task}`,
      work: "draw",
      input: request,
    }),
  }),
  "rewards.delete_drawn": ({ path }, context) => (deleteDrawn(path), changed(context, null)),
};
