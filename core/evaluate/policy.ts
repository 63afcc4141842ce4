/** A model as a policy: chat messages are rendered to token ids, sampled from, and read back as answers. */

import { CancelledError, HoneError } from "../contract/errors.ts";
import type { EngineStopReason, Model, Sample, SampleRequest } from "../engine/types.ts";
import type { ChatMessage, ToolDefinition } from "../contract/chat.ts";
import type { ParsedAssistant } from "../text/parse-assistant.ts";
import type { Answer, Policy, PolicyItem, PolicySettings } from "./policy-types.ts";

/** What a policy needs of a model's text layer. */
export interface Chat {
  /** Ids of the rendered messages, up to where the assistant's answer begins. */
  renderPrompt(messages: readonly ChatMessage[], tools: readonly ToolDefinition[], toolChoice?: string): Int32Array;
  /** Generated ids as text, with the answer taken apart. */
  readAnswer(
    promptTokens: Int32Array,
    tokens: Int32Array,
    tools: readonly ToolDefinition[],
    stopReason: EngineStopReason,
  ): { text: string; parsed: ParsedAssistant };
  /** Ids as text, control tokens included. */
  decode(tokens: Int32Array): string;
  /** Ids that end the assistant's turn. */
  readonly stopIds: readonly number[];
}

/** How a group of answers to one prompt is sampled. Truncation other than by temperature is the caller's to justify. */
export interface GroupSettings extends Omit<PolicySettings, "maxTokens"> {
  topP?: number;
  topK?: number;
  minP?: number;
}

export interface GroupPrompt {
  promptTokens: Int32Array;
  tools: readonly ToolDefinition[];
  /** 0 … 2^31 − 1. Answer i of the group depends on it and i only. */
  seed: number;
  /** New tokens. */
  maxTokens: number;
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

  async answer(items: PolicyItem[], settings: PolicySettings): Promise<Answer[]> {
    const prompts = items.map(({ messages, tools, toolChoice, seed }) => ({
      promptTokens: this.chat.renderPrompt(messages, tools, toolChoice),
      tools,
      seed,
      maxTokens: settings.maxTokens,
    }));
    const groups = await this.answerGroups(prompts, 1, settings);
    return groups.map(([answer]) => answer);
  }

  /**
   * `n` answers to each prompt, which share its prefill, in the order of the prompts. Throws `prompt-too-long` with
   * both numbers when a prompt leaves no room for an answer, `CancelledError` when the signal came.
   */
  async answerGroups(prompts: readonly GroupPrompt[], n: number, settings: GroupSettings): Promise<Answer[][]> {
    const { signal } = settings;
    signal?.throwIfAborted();
    const requests = this.requests(prompts, n, settings);
    const samples = await this.model.sample(requests, signal === undefined ? {} : { signal });
    if (samples.some(({ stopReason }) => stopReason === "cancelled")) throw new CancelledError();
    const groups: Answer[][] = prompts.map(() => []);
    for (const sample of samples) {
      groups[sample.request].push(this.#toAnswer(sample, prompts[sample.request]));
    }
    return groups;
  }

  /** What the engine is asked for: `n` samples of each prompt. Throws `prompt-too-long`. */
  requests(prompts: readonly GroupPrompt[], n: number, settings: GroupSettings): SampleRequest[] {
    return prompts.map((prompt) => this.#request(prompt, n, settings));
  }

  #request({ promptTokens: prompt, seed, maxTokens }: GroupPrompt, n: number, settings: GroupSettings): SampleRequest {
    if (prompt.length >= this.#contextLength) {
      throw new HoneError(
        "prompt-too-long",
        `a prompt has ${prompt.length} tokens, and the model was made for ${this.#contextLength} with the answer`,
      );
    }
    return {
      prompt,
      n,
      maxTokens,
      temperature: settings.temperature,
      seed,
      stopIds: [...this.chat.stopIds],
      ...(settings.topP !== undefined && { topP: settings.topP }),
      ...(settings.topK !== undefined && { topK: settings.topK }),
      ...(settings.minP !== undefined && { minP: settings.minP }),
    };
  }

  #toAnswer({ tokens, logprobs, stopReason }: Sample, { promptTokens, tools }: GroupPrompt): Answer {
    return {
      promptTokens,
      tokens,
      logprobs,
      stopReason,
      ...this.chat.readAnswer(promptTokens, tokens, tools, stopReason),
    };
  }
}
