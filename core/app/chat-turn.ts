/** One answer of a model in a conversation, streamed as it is drawn. */

import { CancelledError, HoneError } from "../contract/errors.ts";
import { deriveSeed } from "../contract/random.ts";
import type { ChatMessage, ToolDefinition } from "../contract/chat.ts";
import { isCut, type ParsedAssistant } from "../text/parse-assistant.ts";
import { StopStrings } from "../text/stop-strings.ts";
import { TextStream } from "../text/text-stream.ts";
import type { OpenPolicy } from "./session.ts";
import type { TokenEvent } from "../engine/types.ts";

export interface ChatTurn {
  messages: readonly ChatMessage[];
  tools?: readonly ToolDefinition[];
  temperature: number;
  topP?: number;
  topK?: number;
  minP?: number;
  maxTokens: number;
  seed: number;
  thinking?: boolean;
  /** The answer ends before the first of these; generation stops with it. */
  stop?: readonly string[];
  /** Whole characters, as soon as they are certain. */
  onText?: (text: string) => void;
  /** Told once, before the first token: the tokens of the prompt, and whether the answer begins inside a thought. */
  onPrompt?: (prompt: { tokens: number; thinkingOpen: boolean }) => void;
  onToken?: (event: TokenEvent) => void;
  signal?: AbortSignal;
  /** A stopped answer is given as far as it came (`stopped`). Default false: then it is thrown as `CancelledError`. */
  keepStopped?: boolean;
}

export interface ChatAnswer {
  text: string;
  parsed: ParsedAssistant;
  finishReason: "stop" | "length" | "tool_calls" | "stopped";
  promptTokens: number;
  completionTokens: number;
  /** As they were drawn, with natural logs at temperature 1. */
  tokens: Int32Array;
  logprobs: Float32Array;
}

/** Throws `prompt-too-long` with both numbers when the conversation leaves no room for an answer. */
export async function answerChat({ model, chat }: OpenPolicy, turn: ChatTurn): Promise<ChatAnswer> {
  const { messages, tools = [], temperature, maxTokens, thinking, signal } = turn;
  const prompt = chat.text.render({
    messages,
    tools,
    addGenerationPrompt: true,
    loss: "none",
    ...(thinking !== undefined && { thinking }),
  });
  const { contextLength } = model.info();
  if (prompt.ids.length >= contextLength) {
    throw new HoneError(
      "prompt-too-long",
      `the conversation has ${prompt.ids.length} tokens, and the model was made for ${contextLength}`,
      { fix: "shorten it, or begin a new conversation" },
    );
  }
  turn.onPrompt?.({ tokens: prompt.ids.length, thinkingOpen: prompt.thinkingOpen });
  const stop = new Set(chat.stopIds);
  const stopStrings = new StopStrings(turn.stop ?? []);
  // Ends this answer alone, beside the caller's own signal.
  const enough = new AbortController();
  let drawn = 0;
  const signals = signal === undefined ? [enough.signal] : [enough.signal, signal];
  const stream = new TextStream(chat.text.tokenizer, { continues: true });
  const [sample] = await model.sample(
    [
      {
        prompt: Int32Array.from(prompt.ids),
        maxTokens: Math.min(maxTokens, contextLength - prompt.ids.length),
        temperature,
        seed: deriveSeed(turn.seed, "chat", messages.length),
        stopIds: [...chat.stopIds],
        ...(turn.topP !== undefined && { topP: turn.topP }),
        ...(turn.topK !== undefined && { topK: turn.topK }),
        ...(turn.minP !== undefined && { minP: turn.minP }),
      },
    ],
    {
      onToken: (event) => {
        const { token } = event;
        turn.onToken?.(event);
        // The model is some tokens ahead by the time a stop string is seen: what came after it does not count.
        if (stopStrings.met === undefined) drawn++;
        if (stop.has(token)) return;
        const certain = stopStrings.push(stream.push(token));
        turn.onText?.(certain);
        if (stopStrings.met !== undefined) enough.abort();
      },
      signal: AbortSignal.any(signals),
    },
  );
  const rest = stopStrings.push(stream.flush()) + stopStrings.flush();
  turn.onText?.(rest);
  const stopped = sample.stopReason === "cancelled" && stopStrings.met === undefined;
  if (stopped && turn.keepStopped !== true) throw new CancelledError();
  const whole = chat.text.answerText(sample.tokens);
  const text = stopStrings.met === undefined ? whole : whole.slice(0, whole.indexOf(stopStrings.met));
  const parsed = chat.text.parse(text, tools, {
    stopReason: sample.stopReason,
    thinkingOpen: prompt.thinkingOpen,
    parallel: true,
  });
  const cut = stopStrings.met === undefined && isCut(sample.stopReason);
  return {
    text,
    parsed,
    finishReason: stopped ? "stopped" : cut ? "length" : parsed.tool_calls.length > 0 ? "tool_calls" : "stop",
    promptTokens: prompt.ids.length,
    completionTokens: drawn,
    tokens: sample.tokens,
    logprobs: sample.logprobs,
  };
}
