/** How long a step of SFT or DPO takes on this machine: a part of one is done, and what is left out is computed from it. */

import { mean, sum } from "../../contract/numbers.ts";
import { packMicroBatches, tokensOf, type TokenRow } from "../../engine/micro-batches.ts";
import { rowsFor, toolsOf } from "../../tasks/task.ts";
import type { PreparedRun } from "../../train/prepare-run.ts";
import { PromptOrder } from "../../train/prompt-order.ts";
import { expectedLength, quick, sample, update, type MethodProbe } from "./probe-step.ts";

/** Prompts that are answered to learn how long an evaluation by reward takes. */
const askedPrompts = 8;

/** Changes weights and optimizer of the model, which is of no use for anything else afterwards. */
export async function probeBatch(subject: PreparedRun & { signal: AbortSignal }): Promise<MethodProbe> {
  const { config, examples, rows, files } = subject;
  const bundles: TokenRow[][] =
    examples.sft?.items.map((row) => [row]) ??
    examples.dpo?.items.map(({ chosen, rejected }) => [chosen, rejected]) ??
    [];
  const order = new PromptOrder(bundles.length, config.seed);
  const batch = Array.from({ length: config.batch_size }, () => bundles[order.next()]);
  const packed = packMicroBatches(batch, config.micro_batch_tokens).map((micro) => micro.batch);
  let updating = await update(subject, packed);
  if (updating.seconds < quick) updating = await update(subject, packed);

  const lengths = bundles.map((bundle) => tokensOf(bundle));
  const usual = config.batch_size * mean(lengths);
  const most = config.batch_size * lengths.reduce((a, b) => Math.max(a, b), 0);
  // The base of a fresh adapter scores every batch anew; otherwise it was done before the first step.
  const scores = config.method === "dpo" && config.finetuning_type === "lora" && files.adapter === undefined;
  const perToken = updating.perToken + (scores ? updating.perTokenForward : 0);
  const answers = await probeAnswers(subject);
  const scored = rows.validation.length * mean(lengths) * (scores ? 2 : 1);
  return {
    tokensPerStep: { now: usual, most },
    secondsPerStep: { now: usual * perToken + updating.optimizer, most: most * perToken + updating.optimizer },
    secondsPerEvaluation: scored * updating.perTokenForward + answers.seconds,
    passTokens: Math.max(...packed.map(({ tokens }) => tokens.length)),
    tokensHeld: answers.tokensHeld,
    promptTokens: 0,
    unfinished: false,
  };
}

/** An evaluation by reward, which a task without one does not have. */
async function probeAnswers(subject: PreparedRun & { signal: AbortSignal }) {
  const { config, policy, task, rows } = subject;
  const asked = rowsFor(task, rows.validation, "prompt").slice(0, askedPrompts);
  if (task.rewardParts.length === 0 || asked.length === 0) return { seconds: 0, tokensHeld: 0 };
  const prompts = asked.map((row) => {
    const messages = task.prompt(row);
    const tools = toolsOf(task, row);
    const promptTokens = policy.chat.renderPrompt(messages, tools, task.toolChoice);
    return { messages, promptTokens, tools, seed: config.seed, maxTokens: config.max_completion_length };
  });
  const requests = policy.requests(prompts, 1, {
    temperature: config.temperature,
    maxTokens: config.max_completion_length,
  });
  const { samples, prefill, perToken } = await sample(subject, requests);
  const length = expectedLength(samples, config.max_completion_length);
  const share = rows.validation.length / asked.length;
  const answers = rows.validation.length * config.num_generations_eval;
  const promptTokens = sum(prompts.map((prompt) => prompt.promptTokens.length)) * share;
  return { seconds: prefill * share + answers * length * perToken, tokensHeld: promptTokens + answers * length };
}
