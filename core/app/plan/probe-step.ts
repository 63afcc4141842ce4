/** How long a training step takes on this machine: a part of one is done, and what is left out is computed from it. */

import type { RunConfig } from "../../contract/config.ts";
import { mean, sum } from "../../contract/numbers.ts";
import type { Model, Sample } from "../../engine/types.ts";
import { packMicroBatches } from "../../engine/micro-batches.ts";
import type { EnginePolicy } from "../../evaluate/policy.ts";
import { toolsOf } from "../../tasks/task.ts";
import type { PreparedRun } from "../../train/prepare-run.ts";
import { PromptOrder } from "../../train/prompt-order.ts";
import { criticGradients } from "../../train/rl/ppo.ts";
import { choosePrompts, episodeJobs, PromptCache, samplingOf } from "../../train/rl/rollouts.ts";

/** What measuring a part of a step tells, whatever the method. */
export interface MethodProbe {
  /** Tokens of one step: with answers as long as they are now, and at their limit. */
  tokensPerStep: { now: number; most: number };
  secondsPerStep: { now: number; most: number };
  secondsPerEvaluation: number;
  /** Tokens that one forward and backward pass holds. */
  passTokens: number;
  /** Tokens that all answers being drawn hold at the fullest moment, their prompts included. */
  tokensHeld: number;
  /** Of a prompt, on average; 0 where there are no rollouts. */
  promptTokens: number;
  /** Answers were still being written when the measurement ended; what they would have gone on to take is guessed. */
  unfinished: boolean;
}

export type ProbeSubject = Pick<PreparedRun, "config" | "policy" | "model" | "task" | "rows"> & { signal: AbortSignal };

/** Longest time for each half, sampling and updating. Seconds. */
const budget = 12;
/** A half that took no longer than this is done once more: the first time memory is fetched and caches are cold. */
export const quick = 2;

/** Changes weights and optimizer of the model, which is of no use for anything else afterwards. */
export async function probeStep(subject: ProbeSubject): Promise<MethodProbe> {
  const { config, policy, model, task, rows } = subject;
  const maxLength = Math.min(config.max_length, model.info().contextLength);
  const order = new PromptOrder(rows.train.length, config.seed);
  const cache = new PromptCache(policy, task);
  const { prompts } = choosePrompts(order, rows.train, cache, config.prompts_per_step, maxLength);
  const promptTokens = mean(prompts.map(({ promptIds }) => promptIds.length));
  const asked = episodeJobs(config, 0, prompts).map((job) => ({ ...job, messages: [], tools: toolsOf(task, job.row) }));
  const requests = policy.requests(asked, config.num_generations, samplingOf(config));
  const answers = requests.length * config.num_generations;

  let sampling = await sample(subject, requests);
  if (sampling.seconds < quick) sampling = await sample(subject, requests);
  const { samples, prefill, perToken } = sampling;
  const limit = mean(requests.map(({ maxTokens }) => maxTokens));
  const answerTokens = expectedLength(samples, limit);

  const rollouts = prompts.flatMap(({ promptIds }, i) =>
    samples
      .filter(({ request, tokens }) => request === i && tokens.length > 0)
      .map(({ tokens }) => [{ promptIds, ids: tokens, mask: new Uint8Array(tokens.length).fill(1) }]),
  );
  const batches = packMicroBatches(rollouts, config.micro_batch_tokens).map(({ batch }) => batch);
  let updating = await update(subject, batches);
  if (updating.seconds < quick) updating = await update(subject, batches);
  const secondsWith = (length: number) =>
    prefill +
    answers * length * perToken +
    (requests.length * promptTokens + answers * length) *
      (config.num_iterations * updating.perToken + forwardsBefore(config) * updating.perTokenForward) +
    config.num_mini_batches * config.num_iterations * updating.optimizer;

  const tokensWith = (length: number) => Math.round(config.prompts_per_step * promptTokens + answers * length);
  const evaluated = rows.validation.length * config.num_generations_eval;
  const miniBatch = Math.ceil(config.prompts_per_step / config.num_mini_batches);
  return {
    tokensPerStep: { now: tokensWith(answerTokens), most: tokensWith(config.max_completion_length) },
    secondsPerStep: { now: secondsWith(answerTokens), most: secondsWith(limit) },
    secondsPerEvaluation: (prefill * rows.validation.length) / requests.length + evaluated * answerTokens * perToken,
    passTokens: Math.min(config.micro_batch_tokens, miniBatch * (config.num_generations * answerTokens + promptTokens)),
    tokensHeld: config.prompts_per_step * promptTokens + tokensHeld(samples, answerTokens),
    promptTokens,
    unfinished: samples.some(({ stopReason }) => stopReason === "cancelled"),
  };
}

/** Passes that score a step's answers before the update: see `scoreAgain`. */
function forwardsBefore({ method, beta, rescore_logprobs, train_tool_results, temperature }: RunConfig): number {
  const once = method === "ppo" || rescore_logprobs || train_tool_results;
  const again = temperature !== 1 ? 2 : once ? 1 : 0;
  return again + (beta > 0 ? 1 : 0);
}

type Requests = ReturnType<EnginePolicy["requests"]>;

/** Draws answers until all are done or the time is up. Seconds for all prompts, and for each token of an answer. */
export async function sample({ model, signal }: Pick<ProbeSubject, "model" | "signal">, requests: Requests) {
  const timeIsUp = AbortSignal.timeout(1000 * budget);
  const started = performance.now();
  let allBegun = started;
  let drawn = 0;
  let drawnBefore = 0;
  const waiting = new Set(requests.keys());
  const samples = await model.sample(requests, {
    signal: AbortSignal.any([signal, timeIsUp]),
    onToken: ({ request }) => {
      drawn += 1;
      if (!waiting.delete(request) || waiting.size > 0) return;
      allBegun = performance.now();
      drawnBefore = drawn;
    },
  });
  signal.throwIfAborted();
  const ended = performance.now();
  const perToken = (ended - allBegun) / 1000 / Math.max(1, drawn - drawnBefore);
  return {
    samples,
    seconds: (ended - started) / 1000,
    prefill: Math.max(0, (allBegun - started) / 1000 - drawnBefore * perToken),
    perToken,
  };
}

/**
 * Mean length of the answers. Of those that were still being written it is only known that they are longer, so their
 * ends are expected at the rate at which the others ended.
 */
export function expectedLength(samples: readonly Sample[], limit: number): number {
  const drawn = sum(samples.map(({ tokens }) => tokens.length));
  if (samples.every(({ stopReason }) => stopReason !== "cancelled")) return drawn / samples.length;
  const ended = samples.filter(({ stopReason }) => stopReason === "eos" || stopReason === "stop_sequence").length;
  const rate = ended / Math.max(1, drawn);
  return rate === 0 ? limit : (1 - (1 - rate) ** limit) / rate;
}

/** All answers grow together; one that is finished gives its memory back. */
export function tokensHeld(samples: readonly Sample[], answerTokens: number): number {
  if (samples.some(({ stopReason }) => stopReason === "cancelled")) return samples.length * answerTokens;
  const lengths = samples.map(({ tokens }) => tokens.length).sort((a, b) => a - b);
  return Math.max(...lengths.map((length, i) => length * (lengths.length - i)));
}

/** Forward, backward and one optimizer step over as many batches as the time allows, at least one. */
export async function update(
  { config, model, signal }: Pick<ProbeSubject, "config" | "model" | "signal">,
  batches: Parameters<Model["forward"]>[0][],
) {
  const started = performance.now();
  let tokens = 0;
  let forward = 0;
  const hasCritic = config.method === "ppo";
  if (hasCritic && !model.info().valueHead) await model.attachValueHead();
  for (const batch of batches) {
    signal.throwIfAborted();
    const began = performance.now();
    await model.forward(batch, {
      grad: true,
      temperature: config.temperature,
      ...(hasCritic && { values: criticGradients }),
    });
    forward += performance.now() - began;
    const gradient = new Float32Array(batch.tokens.length).fill(1e-9);
    await model.backward(
      gradient,
      config.entropy_coef > 0 ? gradient : undefined,
      ...(hasCritic ? [new Float32Array(batch.tokens.length)] : []),
    );
    tokens += batch.tokens.length;
    if (performance.now() - started > 1000 * budget) break;
  }
  const passed = performance.now();
  await model.optimStep({
    lr: config.learning_rate,
    maxGradNorm: config.max_grad_norm,
    ...(hasCritic && { valueLr: config.critic_learning_rate }),
  });
  const ended = performance.now();
  return {
    seconds: (ended - started) / 1000,
    perToken: (passed - started) / 1000 / Math.max(1, tokens),
    perTokenForward: forward / 1000 / Math.max(1, tokens),
    optimizer: (ended - passed) / 1000,
  };
}
