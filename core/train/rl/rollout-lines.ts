/** Rollouts as they are kept in `rollouts/step_<N>.jsonl`. */

import type { RolloutLine, RolloutTurn } from "../../contract/run.ts";
import type { Answer } from "../../evaluate/policy-types.ts";
import type { Rollout, RolloutGroup } from "./rollouts.ts";
import { continuation } from "./trajectory-rows.ts";

/** `readText` makes ids readable, control tokens included. */
export function toRolloutLines(
  step: number,
  groups: readonly RolloutGroup[],
  readText: (ids: Int32Array) => string,
): RolloutLine[] {
  return groups.flatMap(({ row, promptIds, rollouts }) => {
    const prompt = readText(promptIds);
    return rollouts.map((rollout) => {
      const { id, trajectory, score, advantage } = rollout;
      const { turns, index, stopReason } = trajectory;
      return {
        step,
        prompt_index: Number(id.split("-")[1]),
        sample_index: index,
        trajectory_id: id,
        row_id: row.id,
        prompt,
        prompt_ids: [...promptIds],
        completion: turns.map(({ text }) => text).join("\n"),
        completion_ids: turns.flatMap(({ tokens }) => [...tokens]),
        logprobs: turns.flatMap(({ logprobs }) => Array.from(logprobs, (logprob) => Number(logprob.toPrecision(7)))),
        reward: score.reward,
        reward_parts: score.parts,
        advantage,
        stop_reason: stopReason,
        failure: score.info.failure ?? null,
        ...(turns.length > 1 && conversation(rollout, readText)),
      };
    });
  });
}

function conversation(
  { trajectory: { turns, messages } }: Rollout,
  readText: (ids: Int32Array) => string,
): Pick<RolloutLine, "turns" | "messages"> {
  let before: Answer | undefined;
  return {
    turns: turns.map((turn): RolloutTurn => {
      const added = before === undefined ? undefined : continuation(before, turn.promptTokens);
      before = turn;
      const prompt = added ?? turn.promptTokens;
      return {
        continues: added !== undefined,
        prompt: readText(prompt),
        prompt_ids: [...prompt],
        completion: turn.text,
        completion_ids: [...turn.tokens],
        stop_reason: turn.stopReason,
        ...(turn.thinkingTokens !== undefined && { thinking_tokens: turn.thinkingTokens }),
      };
    }),
    messages,
  };
}
