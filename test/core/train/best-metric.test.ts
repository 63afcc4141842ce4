/** What checkpoints of DPO are compared by where there is no reward, from the first evaluation on. */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { toJsonLines } from "../../../core/files/jsonl.ts";
import { bestMetric } from "../../../core/train/evaluate-step.ts";
import { startTraining } from "../../../core/train/run.ts";
import { comparableMetrics, toyModelFolder, toyRun } from "./toy-run.ts";

const square = (n: number) => [
  {
    role: "assistant",
    content: "",
    tool_calls: [{ type: "function", function: { name: "choose_square", arguments: { square: n } } }],
  },
];

test("DPO without a reward: how often the better answer is the likelier one", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "hone-pairs-")), "pairs.jsonl");
  const pair = (i: number) => ({
    prompt: [{ role: "user", content: `${i}\n\n${1 + (i % 9)}` }],
    chosen: square(1),
    rejected: square(2),
  });
  writeFileSync(file, toJsonLines(Array.from({ length: 90 }, (_, i) => pair(i))));
  const toy = toyRun();
  const { state } = await startTraining(toy.context, {
    ...{ model: toyModelFolder(), task: file, method: "dpo", finetuning_type: "full", output_dir: toy.output },
    ...{ learning_rate: 0.05, batch_size: 8, max_steps: 4, eval_steps: 2 },
  });
  expect(state.best).toMatchObject({ metric: "eval_preference_accuracy", value: 1 });
  const [before] = comparableMetrics(toy.output);
  expect(before["eval_rewards/accuracies"]).toBe(0);
});

test("a reward comes first; SFT has its loss", () => {
  const part = { name: "exact", weight: 1, description: "" };
  const of = (method: "sft" | "dpo", rewardParts = [part]) =>
    bestMetric({ config: { method }, task: { rewardParts } } as Parameters<typeof bestMetric>[0]);
  expect(of("dpo")).toEqual({ metric: "eval_reward", better: "higher" });
  expect(of("sft", [])).toEqual({ metric: "eval_loss", better: "lower" });
});
