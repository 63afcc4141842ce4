import { shortName } from "../../train/model-ref.ts";
import type { Handlers } from "../service/handlers.ts";
import type { TrainOrder } from "../works/train-work.ts";

export const trainHandlers: Handlers<"train"> = {
  "train.start": async ({ config }, context) => {
    const input: TrainOrder = { config };
    const title = `${config.method ?? "gspo"} · ${shortName(config.task ?? "")} · ${shortName(config.model ?? "")}`;
    return { job: await context.startJob({ kind: "train", title, work: "train", input }) };
  },
  "train.resume": async ({ run, max_steps }, context) => {
    const input: TrainOrder = { resume: run, max_steps };
    return { job: await context.startJob({ kind: "train", title: run, work: "train", input, run }) };
  },
};
