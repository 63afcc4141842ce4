/** A model as a policy: chat messages are rendered to token ids, sampled from, and read back as answers. */

import { CancelledError, HoneError } from "../contract/errors.ts";
import type { EngineStopReason, Model, Sample, SampleRequest } from "../engine/types.ts";
import type { ChatMessage, ToolDefinition } from "../contract/chat.ts";
import type { ParsedAssistant } from "../text/parse-assistant.ts";
import type { Answer, Policy, PolicyItem, PolicySettings, PromptRoom } from "./policy-types.ts";

/** How an answer is read. */
export interface ReadOptions {
  stopReason: EngineStopReason;
  /** Several calls in one answer count. Default false. */
  parallel?: boolean;
}

/** What a policy needs of a model's text layer. */
export interface Chat {
  /** Ids of the rendered messages, up to where the assistant's answer begins. */
  renderPrompt(messages: readonly ChatMessage[], tools: readonly ToolDefinition[], toolChoice?: string): Int32Array;
  /** Generated ids as text, with the answer taken apart. */
  readAnswer(
    promptTokens: Int32Array,
    tokens: Int32Array,
    tools: readonly ToolDefinition[],
    options: ReadOptions,
  ): { text: string; parsed: ParsedAssistant; thinkingTokens?: number };
  /** Ids as text, control tokens included. */
  decode(tokens: Int32Array): string;
  /** Ids that end the assistant's turn. */
  readonly stopIds: readonly number[];
}

export class EnginePolicy implements Policy {
  readonly model: Model;
  readonly chat: Chat;
  readonly #contextLength: number;

  constructor(model: Model, chat: Chat) {
    this.model = model;
    this.chat = chat;
    this.#contextLength = model.info().contextLength;
  }

  /** Throws `prompt-too-long` with both numbers, `CancelledError` when the signal came. */
  async answer(items: PolicyItem[], settings: PolicySettings): Promise<Answer[]> {
    return Promise.all(this.#sample(items, 1, settings).map(([answer]) => answer));
  }

  answerGroup(item: PolicyItem, n: number, settings: PolicySettings): Promise<Answer>[] {
    return this.#sample([item], n, settings)[0];
  }

  promptRoom(item: Omit<PolicyItem, "seed">, settings: Pick<PolicySettings, "maxLength">): PromptRoom {
    const promptTokens = this.#promptOf(item);
    return { tokens: promptTokens.length, limit: this.#longest(settings), promptTokens };
  }

  #promptOf({ promptTokens, messages, tools, toolChoice }: Omit<PolicyItem, "seed">): Int32Array {
    return promptTokens ?? this.chat.renderPrompt(messages, tools, toolChoice);
  }

  /** What the engine is asked for: `n` samples of each prompt, which share its prefill. Throws `prompt-too-long`. */
  requests(items: readonly PolicyItem[], n: number, settings: PolicySettings): SampleRequest[] {
    return items.map((item) => this.#request(item, n, settings));
  }

  /** One call of the engine; an answer is there as soon as the engine has ended it. */
  #sample(items: readonly PolicyItem[], n: number, settings: PolicySettings): Promise<Answer>[][] {
    const { signal, onToken } = settings;
    signal?.throwIfAborted();
    const requests = this.requests(items, n, settings);
    const answers = items.map(() => Array.from({ length: n }, () => Promise.withResolvers<Answer>()));
    const onSample = (sample: Sample) => {
      const { resolve, reject } = answers[sample.request][sample.index];
      try {
        resolve(this.#toAnswer(sample, items[sample.request], requests[sample.request], settings));
      } catch (error) {
        reject(error);
      }
    };
    this.model
      .sample(requests, {
        onSample,
        ...(signal !== undefined && { signal }),
        ...(onToken !== undefined && { onToken }),
      })
      .catch((error: unknown) => answers.flat().forEach(({ reject }) => reject(error)));
    return answers.map((group) => group.map(({ promise }) => promise));
  }

  #request(item: PolicyItem, n: number, settings: PolicySettings): SampleRequest {
    const prompt = this.#promptOf(item);
    const longest = this.#longest(settings);
    if (prompt.length >= longest) {
      throw new HoneError(
        "prompt-too-long",
        `a prompt has ${prompt.length} tokens, and prompt and answer together may have ${longest}`,
        { fix: "shorten it, raise max_length, or use a model with a longer context" },
      );
    }
    return {
      prompt,
      n,
      maxTokens: Math.min(settings.maxTokens, longest - prompt.length),
      temperature: settings.temperature,
      seed: item.seed,
      stopIds: [...this.chat.stopIds],
      ...(settings.topP !== undefined && { topP: settings.topP }),
      ...(settings.topK !== undefined && { topK: settings.topK }),
      ...(settings.minP !== undefined && { minP: settings.minP }),
    };
  }

  #longest({ maxLength = Infinity }: Pick<PolicySettings, "maxLength">): number {
    return Math.min(maxLength, this.#contextLength);
  }

  #toAnswer(
    sample: Sample,
    item: PolicyItem,
    { prompt, maxTokens = 0 }: SampleRequest,
    settings: PolicySettings,
  ): Answer {
    if (sample.stopReason === "cancelled") throw new CancelledError();
    // The engine was asked for no more than there is room for, so it calls both ends `length`.
    const full = sample.stopReason === "length" && maxTokens < settings.maxTokens;
    const stopReason = full ? "context_full" : sample.stopReason;
    const { tokens, logprobs } = sample;
    const read = { stopReason, parallel: item.parallelCalls === true };
    return {
      promptTokens: prompt,
      tokens,
      logprobs,
      stopReason,
      ...this.chat.readAnswer(prompt, tokens, item.tools, read),
    };
  }
}
