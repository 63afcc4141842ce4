/** What an episode looks like to a reward. */

import type { ChatMessage } from "../../contract/chat.ts";
import { messageText } from "../../contract/chat.ts";
import type { RewardSample } from "../../contract/reward.ts";
import { assistantMessage } from "../../text/parse-assistant.ts";
import type { Action, SamplePlace, StopReason } from "../task.ts";

/** One answer of the model, and what the environment said to it. */
export interface PlayedTurn {
  action: Action;
  replies: readonly ChatMessage[];
}

export interface SampleSource {
  row_id: string;
  /** The columns of the row. */
  row: Record<string, unknown>;
  prompt: readonly ChatMessage[];
  place: SamplePlace;
}

/** `stopReason`: of the whole episode. Without a turn the answer is empty. */
export function rewardSample(source: SampleSource, turns: readonly PlayedTurn[], stopReason: StopReason): RewardSample {
  const last = turns.at(-1)?.action;
  const ids = turns.flatMap(({ action }) => [...(action.tokens ?? [])]);
  return {
    prompt: [...source.prompt],
    completion: last?.text ?? "",
    answer: last?.parsed.content ?? "",
    reasoning: last?.parsed.reasoning ?? "",
    messages: [
      ...source.prompt,
      ...turns.flatMap(({ action, replies }) => [assistantMessage(action.parsed), ...replies]),
    ],
    tool_calls: turns.flatMap(({ action, replies }) => {
      const results = replies.filter(({ role }) => role === "tool");
      return action.parsed.tool_calls.map((call, i) => ({
        ...call,
        ...(results[i] !== undefined && { result: messageText(results[i]) }),
      }));
    }),
    problems: last?.parsed.problems ?? [],
    stop_reason: stopReason,
    completion_ids: ids,
    logprobs: turns.flatMap(({ action }) => [...(action.logprobs ?? [])]),
    loss_mask: ids.map(() => 1),
    row_id: source.row_id,
    row: source.row,
    prompt_index: source.place.prompt,
    sample_index: source.place.sample,
  };
}
