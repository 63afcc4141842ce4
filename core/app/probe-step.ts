/** How long a training step takes on this machine: a part of one is done, and what is left out is computed from it. */

import type { RunConfig } from "../contract/config.ts";
import type { Model, Sample } from "../engine/types.ts";
import type { EnginePolicy } from "../evaluate/policy.ts";
import type { Task, TaskRow } from "../tasks/task.ts";
import { mean, sum } from "../train/losses/numbers.ts";
import { packMicroBatches } from "../train/micro-batches.ts";
import { PromptOrder } from "../train/prompt-order.ts";
import { choosePrompts, episodeJobs, PromptCache, samplingOf } from "../train/rollouts.ts";

export interface StepProbe {
  /** Tokens of a prompt, on average. */
  promptTokens: number;
  /** Tokens of an answer as the model gives them now, on average. */
  answerTokens: number;
  /** Sampling and updating. */
  secondsPerStep: number;
  /** The same with every answer at its limit. */
  mostSecondsPerStep: number;
  /** One answer to each of `eval_size` rows, `num_generations_eval` times. */
  secondsPerEvaluation: number;
  /** Tokens that all answers being drawn hold at the fullest moment. */
  tokensHeld: number;
}

export interface ProbeSubject {
  config: RunConfig & { micro_batch_tokens: number };
  policy: EnginePolicy;
  model: Model;
  task: Task;
  /** Training rows. */
  rows: readonly TaskRow[];
  /** Rows of one evaluation. */
  evaluationRows: number;
  signal: AbortSignal;
}

/** Longest time for each half, sampling and updating. Seconds. */
const budget = 12;
/** A half that took no longer than this is done once more: the first time memory is fetched and caches are cold. */
const quick = 2;

/** Changes weights and optimizer of the model, which is of no use for anything else afterwards. */
export async function probeStep(subject: ProbeSubject): Promise<StepProbe> {
  const { config, policy, model, task, rows } = subject;
  const maxLength = Math.min(config.max_length, model.info().contextLength);
  const order = new PromptOrder(rows.length, config.seed);
  const cache = new PromptCache(policy, task);
  const { prompts } = choosePrompts(order, rows, cache, config.prompts_per_step, maxLength);
  const promptTokens = mean(prompts.map(({ promptIds }) => promptIds.length));
  const asked = episodeJobs(config, 0, prompts).map((job) => ({ ...job, messages: [], tools: task.tools }));
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

  const evaluated = subject.evaluationRows * config.num_generations_eval;
  return {
    promptTokens,
    answerTokens,
    secondsPerStep: secondsWith(answerTokens),
    mostSecondsPerStep: secondsWith(limit),
    secondsPerEvaluation: (prefill * subject.evaluationRows) / requests.length + evaluated * answerTokens * perToken,
    tokensHeld: tokensHeld(samples, answerTokens),
  };
}

/** Passes that score a step's answers before the update: see `scoreAgain`. */
function forwardsBefore({ beta, rescore_logprobs, temperature }: RunConfig): number {
  const again = temperature !== 1 ? 2 : rescore_logprobs ? 1 : 0;
  return again + (beta > 0 ? 1 : 0);
}

type Requests = ReturnType<EnginePolicy["requests"]>;

/** Draws answers until all are done or the time is up. Seconds for all prompts, and for each token of an answer. */
async function sample({ model, signal }: ProbeSubject, requests: Requests) {
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
async function update({ config, model, signal }: ProbeSubject, batches: Parameters<Model["forward"]>[0][]) {
  const started = performance.now();
  let tokens = 0;
  let forward = 0;
  for (const batch of batches) {
    signal.throwIfAborted();
    const began = performance.now();
    await model.forward(batch, { grad: true, temperature: config.temperature });
    forward += performance.now() - began;
    const gradient = new Float32Array(batch.tokens.length).fill(1e-9);
    await model.backward(gradient, config.entropy_coef > 0 ? gradient : undefined);
    tokens += batch.tokens.length;
    if (performance.now() - started > 1000 * budget) break;
  }
  const passed = performance.now();
  await model.optimStep({ lr: config.learning_rate, maxGradNorm: config.max_grad_norm });
  const ended = performance.now();
  return {
    seconds: (ended - started) / 1000,
    perToken: (passed - started) / 1000 / Math.max(1, tokens),
    perTokenForward: forward / 1000 / Math.max(1, tokens),
    optimizer: (ended - passed) / 1000,
  };
}
