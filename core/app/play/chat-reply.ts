/** One answer in a conversation as the Chat page shows it, told while it is written. */

import type { ChatReply } from "../../contract/api/chat-calls.ts";
import type { AnswerSoFar } from "../../contract/api/play-calls.ts";
import type { CheckedInput } from "../../contract/api/api.ts";
import { assistantMessage } from "../../text/parse-assistant.ts";
import { answerChat } from "../chat-turn.ts";
import type { OpenPolicy } from "../session.ts";
import { watchAnswer } from "./answer-so-far.ts";
import { drawnTokens } from "./play-move.ts";

interface Hooks {
  signal: AbortSignal;
  onAnswer?: (soFar: AnswerSoFar) => void;
}

/** Throws `prompt-too-long`, and what rendering throws (`bad-messages`, `no-thinking-switch`, …). */
export async function chatReply(
  opened: OpenPolicy,
  turn: Omit<CheckedInput<"chat.answer">, "model" | "stream">,
  { signal, onAnswer }: Hooks,
): Promise<ChatReply> {
  const { chat, model } = opened;
  const { messages, tools, temperature, top_p: topP, top_k: topK, max_tokens: maxTokens, seed, thinking } = turn;
  const begin = performance.now();
  let first: number | undefined;
  let watch: ((token: number) => void) | undefined;
  const answer = await answerChat(opened, {
    messages,
    tools,
    temperature,
    topP,
    topK,
    maxTokens,
    seed,
    signal,
    keepStopped: true,
    ...(thinking !== null && { thinking }),
    onPrompt: ({ thinkingOpen }) => {
      watch = watchAnswer(chat, tools, thinkingOpen, onAnswer);
    },
    onToken: ({ token }) => {
      first ??= performance.now();
      watch?.(token);
    },
  });
  const end = performance.now();
  return {
    message: assistantMessage(answer.parsed),
    text: answer.text,
    problems: answer.parsed.problems.filter(({ code }) => code !== "no_call").map(({ message }) => message),
    finish_reason: answer.finishReason,
    prompt_tokens: answer.promptTokens,
    completion_tokens: answer.completionTokens,
    context_length: model.info().contextLength,
    first_token_seconds: ((first ?? end) - begin) / 1000,
    seconds: (end - begin) / 1000,
    tokens: drawnTokens(chat, answer.tokens, answer.logprobs),
  };
}
