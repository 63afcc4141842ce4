/**
 * Which characters of a rendered conversation the assistant generates. Templates differ too much to read this off their
 * text, so it is found by rendering: what stands before an answer is what the same template renders as the prompt for
 * it; where history is rewritten (thinking stripped, …), by changing the one message and looking where the text changes.
 */

import { HoneError } from "../contract/errors.ts";
import type { Match } from "./added-tokens.ts";
import type { TemplateMessage } from "./messages.ts";

/** A range of a text, in UTF-16 units. */
export interface Span {
  start: number;
  end: number;
}

export interface SpanRequest {
  /** The rendered conversation. */
  text: string;
  messages: readonly TemplateMessage[];
  /** Indices of the assistant messages. */
  assistants: readonly number[];
  run: (messages: readonly TemplateMessage[], addGenerationPrompt: boolean) => string;
  /** Added tokens in `text`. */
  tokens: readonly Match[];
  endsTurn: (id: number) => boolean;
  tokensOf: (text: string) => readonly Match[];
  /** A text that occurs nowhere. */
  sentinel: string;
}

/** One span for each assistant message: from the first generated character to the end of the end-of-turn token. Throws `HoneError` `inexact-mask`. */
export function assistantSpans(request: SpanRequest): Span[] {
  const { text, messages, assistants, tokens, endsTurn, run, sentinel } = request;
  const noEnd = "the template writes no end-of-turn token after it";
  const spans: Span[] = [];
  for (const i of assistants) {
    const after = spans.at(-1)?.end ?? 0;
    const start = answerStart(request, i, after);
    const token = tokens.find(({ at, token: { id } }) => at >= start && endsTurn(id));
    if (token === undefined) throw inexact(i, messages, noEnd);
    const end = token.at + token.token.content.length;
    // A token found behind the beginning of what comes next would be another message's.
    const next = messages[i + 1];
    const other =
      next === undefined
        ? undefined
        : attempt(() => run(exchange(messages, i + 1, { ...next, content: sentinel }), false));
    if (other !== undefined && end > commonPrefix(text, other)) throw inexact(i, messages, noEnd);
    const previous = spans.at(-1);
    if (previous !== undefined && previous.end > start)
      throw inexact(i, messages, "it begins before the message before it ends");
    spans.push({ start, end });
  }
  return spans;
}

function answerStart(request: SpanRequest, i: number, after: number): number {
  const { text, messages, run, sentinel } = request;
  const history = messages.slice(0, i);
  const prompt = attempt(() => run(history, true));
  if (prompt !== undefined && text.startsWith(prompt) && prompt.length >= after) return prompt.length;

  const without = attempt(() => run(history, false));
  const changed = attempt(() => run(exchange(messages, i, { role: "assistant", content: sentinel }), false));
  if (prompt === undefined || without === undefined || changed === undefined) {
    throw inexact(i, messages, "the template refuses parts of the conversation");
  }
  // `text` may end with a generation prompt or not: only what stands before the answer is compared.
  const limit = commonPrefix(text, changed);
  const opening = generationPrompt(prompt, without, request);
  if (opening === "")
    throw inexact(i, messages, "the template rewrites what stands before it and has no generation prompt");
  // It may reach behind `limit`, when the message itself goes on as the generation prompt does.
  const whole = limit === 0 ? -1 : text.lastIndexOf(opening, limit - 1);
  const begin = whole + opening.length;
  const turnEnds = request.tokens.some(({ at, token }) => at >= begin && at < limit && request.endsTurn(token.id));
  if (whole >= after && !turnEnds) return begin;
  // A generation prompt may go on where history does not (an opened `<think>`): take as much of it as stands there.
  const tokens = request.tokensOf(opening);
  for (let length = opening.length - 1; length > 0; length--) {
    if (tokens.some(({ at, token }) => at < length && length < at + token.content.length)) continue;
    if (limit - length >= after && text.startsWith(opening.slice(0, length), limit - length)) return limit;
  }
  throw inexact(i, messages, "the template rewrites what stands before it");
}

function exchange(messages: readonly TemplateMessage[], i: number, message: TemplateMessage): TemplateMessage[] {
  return messages.map((other, n) => (n === i ? message : other));
}

/** What the generation prompt adds, beginning at the border of a token. */
function generationPrompt(prompt: string, without: string, { tokensOf }: SpanRequest): string {
  const start = commonPrefix(prompt, without);
  const inside = tokensOf(prompt).find(({ at, token }) => at < start && start < at + token.content.length);
  return prompt.slice(inside?.at ?? start);
}

function commonPrefix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && length < b.length && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length;
}

/** Undefined when the template refuses. */
function attempt(render: () => string): string | undefined {
  try {
    return render();
  } catch (error) {
    if (error instanceof HoneError && error.code === "template-error") return undefined;
    throw error;
  }
}

function inexact(i: number, messages: readonly TemplateMessage[], why: string): HoneError {
  return new HoneError(
    "inexact-mask",
    `Message ${i + 1} of ${messages.length}: which tokens the assistant generates cannot be told exactly, because ${why}`,
    { fix: "Train on single turns, use the loss mode assistant_last, or choose another template." },
  );
}
