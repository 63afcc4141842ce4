/** Stored rollouts as rows to train on: answers good enough to imitate, or pairs to prefer. */

import type { DataRow } from "../../contract/data.ts";
import { HoneError } from "../../contract/errors.ts";
import { toShape } from "../../data/shapes.ts";
import type { StoredRollout, StoredRollouts } from "./stored-rollouts.ts";

/** `all`: every answer; `best`: the best of each group (rejection sampling); `pairs`: the best beside the worst. */
export const keepChoices = ["all", "best", "pairs"] as const;
export type KeepChoice = (typeof keepChoices)[number];

export interface KeptRows {
  records: Record<string, unknown>[];
  /** Answers that were looked at. */
  answers: number;
  /** Rows left out because an earlier one says the same. */
  repeated: number;
}

/**
 * Of answers, or better answers, with a reward of at least `minReward`; cut answers are never kept. Equal rewards make no
 * pair. Throws `no-prompts` when the run's task is not at hand, `nothing-kept`.
 */
export function keepRollouts(
  { source, rollouts, notes }: StoredRollouts,
  choice: KeepChoice,
  minReward: number,
): KeptRows {
  if (notes.length > 0) {
    throw new HoneError("no-prompts", `the prompts of ${source} are not at hand: ${notes[0]}`, {
      fix: "put the run's task where it was when the run began",
    });
  }
  const seen = new Set<string>();
  const records: Record<string, unknown>[] = [];
  let repeated = 0;
  const groups = Map.groupBy(rollouts, ({ step, sample }) => `${step}/${sample.prompt_index}`);
  for (const group of groups.values()) {
    for (const row of rowsOf(group, choice, minReward)) {
      const record = toShape(row);
      const { reward: _, step: __, ...said } = record;
      const key = JSON.stringify(said);
      if (seen.has(key)) repeated++;
      else records.push(record);
      seen.add(key);
    }
  }
  if (records.length === 0) {
    const best = Math.max(...rollouts.map(rewardOf));
    throw new HoneError("nothing-kept", `none of ${rollouts.length} answers is good enough to keep`, {
      fix: `the highest reward is ${best}: choose a lower --min-reward, or other steps`,
    });
  }
  return { records, answers: rollouts.length, repeated };
}

function rewardOf({ stored }: StoredRollout): number {
  return stored?.reward ?? -Infinity;
}

function rowsOf(group: StoredRollout[], choice: KeepChoice, minReward: number): DataRow[] {
  const ranked = group.toSorted((a, b) => rewardOf(b) - rewardOf(a));
  const isGood = (one: StoredRollout) => rewardOf(one) >= minReward && one.sample.stop_reason !== "length";
  const good = ranked.filter(isGood);
  if (choice === "all") return good.map(answerRow);
  const [best] = good;
  if (best === undefined) return [];
  if (choice === "best") return [answerRow(best)];
  const worst = ranked[ranked.length - 1];
  if (rewardOf(worst) >= rewardOf(best)) return [];
  const { prompt } = best.sample;
  const columns = { ...columnsOf(best), rejected_reward: rewardOf(worst) };
  return [{ ...base(best), shape: "preference", prompt, chosen: answerOf(best), rejected: answerOf(worst), columns }];
}

function base({ tools }: StoredRollout) {
  return { place: { row: 1, line: 1 }, ...(tools.length > 0 && { tools }) };
}

function columnsOf(rollout: StoredRollout): Record<string, unknown> {
  return { reward: rewardOf(rollout), step: rollout.step, row_id: rollout.sample.row_id };
}

function answerRow(rollout: StoredRollout): DataRow {
  const { prompt } = rollout.sample;
  return { ...base(rollout), shape: "completion", prompt, completion: answerOf(rollout), columns: columnsOf(rollout) };
}

/** Everything behind the prompt: of several turns tool results, too. */
function answerOf({ sample: { prompt, messages, reasoning } }: StoredRollout) {
  const answer = messages.slice(prompt.length);
  const last = answer.length - 1;
  return answer.map((message, i) =>
    i === last && message.role === "assistant" && reasoning !== "" && message.reasoning_content == null
      ? { ...message, reasoning_content: reasoning }
      : message,
  );
}
