/** A run's stored answers as rows for SFT and DPO. */

import { expect, test } from "vitest";
import { keepRollouts } from "../../../../core/app/data/keep-rollouts.ts";
import type { StoredRollout } from "../../../../core/app/data/stored-rollouts.ts";

let made = 0;

function rollout(
  group: number,
  answer: string,
  reward: number,
  more: Partial<StoredRollout["sample"]> = {},
): StoredRollout {
  const prompt = [{ role: "user", content: `question ${group}` }];
  return {
    step: 1,
    promptText: "",
    tools: [],
    stored: { reward, parts: {} },
    sample: {
      prompt,
      completion: answer,
      answer,
      reasoning: "",
      messages: [...prompt, { role: "assistant", content: answer }],
      tool_calls: [],
      problems: [],
      stop_reason: "eos",
      completion_ids: [],
      logprobs: [],
      loss_mask: [],
      row_id: `row-${group}`,
      row: {},
      prompt_index: group,
      sample_index: made++,
      ...more,
    },
  };
}

const stored = (rollouts: StoredRollout[]) => ({ source: "run", rollouts, notes: [] as string[] });

const rollouts = [
  rollout(0, "worst", -1),
  rollout(0, "best", 1),
  rollout(0, "good", 0.5),
  rollout(1, "all", 0.2),
  rollout(1, "equal", 0.2),
  rollout(2, "cut", 1, { stop_reason: "length" }),
  rollout(2, "second", 0.4),
];

test("the best of each group, when it is good enough; a cut answer never", () => {
  const { records, answers } = keepRollouts(stored(rollouts), "best", 0.3);
  expect(answers).toBe(7);
  expect(records).toEqual([
    { prompt: "question 0", completion: "best", reward: 1, step: 1, row_id: "row-0" },
    { prompt: "question 2", completion: "second", reward: 0.4, step: 1, row_id: "row-2" },
  ]);
});

test("every answer that is good enough, each only once", () => {
  const again = [...rollouts, { ...rollout(0, "best", 1), step: 2 }];
  const { records, repeated } = keepRollouts(stored(again), "all", 0.4);
  expect(records.map(({ completion }) => completion)).toEqual(["best", "good", "second"]);
  expect(repeated).toBe(1);
});

test("the best beside the worst; equal rewards make no pair", () => {
  expect(keepRollouts(stored(rollouts.slice(0, 5)), "pairs", 0).records).toEqual([
    {
      prompt: "question 0",
      chosen: "best",
      rejected: "worst",
      reward: 1,
      rejected_reward: -1,
      step: 1,
      row_id: "row-0",
    },
  ]);
});

test("tools, thoughts and several turns are kept", () => {
  const tools = [{ type: "function" as const, function: { name: "get" } }];
  const call = { role: "assistant", content: "", tool_calls: [{ function: { name: "get", arguments: {} } }] };
  const one = rollout(0, "done", 1, { reasoning: "hm" });
  const messages = [...one.sample.prompt, call, { role: "tool", content: "r" }, { role: "assistant", content: "done" }];
  const { records } = keepRollouts(stored([{ ...one, tools, sample: { ...one.sample, messages } }]), "best", 0);
  expect(records).toMatchObject([
    { tools, completion: [call, { role: "tool" }, { role: "assistant", content: "done", reasoning_content: "hm" }] },
  ]);
});

test("nothing good enough, and prompts that are not at hand, are errors", () => {
  expect(() => keepRollouts(stored(rollouts), "best", 5)).toThrow("none of 7 answers is good enough");
  expect(() => keepRollouts({ ...stored(rollouts), notes: ["gone"] }, "best", 0)).toThrow("not at hand: gone");
});
