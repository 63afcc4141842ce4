/** Two templates and a way to show what of a conversation is trained. */

import { expect } from "vitest";
import { openChat, type RenderRequest } from "../../../core/text/chat.ts";
import type { ChatMessage } from "../../../core/contract/chat.ts";
import { chatTokenizer } from "./small-tokenizer.ts";

export const code = (expected: string): Error =>
  expect.objectContaining({ name: "HoneError", code: expected }) as Error;

export const plainTemplate = [
  "{% for message in messages %}",
  "{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}",
  "{% endfor %}",
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
].join("");

/** Thinks: history loses its thoughts, the last answer always has a block, and a switch closes it in the prompt. */
export const thinkingTemplate = [
  "{% for m in messages %}",
  "{{ '<|im_start|>' + m.role + '\n' }}",
  "{% if m.role == 'assistant' %}",
  "{% set said = m.content.split('</think>')[-1].lstrip('\n') %}",
  "{% set thought = m.reasoning_content if m.reasoning_content is defined else '' %}",
  "{% if not thought and '</think>' in m.content %}",
  "{% set thought = m.content.split('</think>')[0].split('<think>')[-1].strip('\n') %}{% endif %}",
  "{% if loop.last %}{{ '<think>\n' + thought + '\n</think>\n\n' + said }}{% else %}{{ said }}{% endif %}",
  "{% for call in m.tool_calls or [] %}",
  "{{ '\n<tool_call>\n{\"name\": \"' + call.function.name + '\", \"arguments\": ' + (call.function.arguments | tojson) + '}\n</tool_call>' }}",
  "{% endfor %}",
  "{% else %}{{ m.content }}{% endif %}",
  "{{ '<|im_end|>\n' }}",
  "{% endfor %}",
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}",
  "{% if enable_thinking is defined and not enable_thinking %}{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %}",
  "{% if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}",
].join("");

/** The text with trained stretches in brackets. */
export function marked(template: string, request: RenderRequest): string {
  const tokenizer = chatTokenizer(template);
  const { ids, trained, text } = openChat(tokenizer).render(request);
  expect(trained).toHaveLength(ids.length);
  expect(tokenizer.decode(ids)).toBe(text);
  let shown = "";
  ids.forEach((id, i) => {
    if (trained[i] !== (trained[i - 1] ?? false)) shown += trained[i] ? "[[" : "]]";
    shown += tokenizer.decode([id]);
  });
  return shown + (trained.at(-1) ? "]]" : "");
}

export const user = (content: string): ChatMessage => ({ role: "user", content });
export const assistant = (content: string, more: Partial<ChatMessage> = {}): ChatMessage => ({
  role: "assistant",
  content,
  ...more,
});
