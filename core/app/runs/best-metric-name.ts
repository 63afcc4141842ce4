import { isRl, type RunConfig } from "../../contract/config.ts";

/** What a run without a best checkpoint yet will most likely be judged by. */
export function bestMetricName({ method }: Pick<RunConfig, "method">): string {
  if (isRl(method)) return "eval_reward";
  return method === "dpo" ? "eval_preference_accuracy" : "eval_loss";
}
