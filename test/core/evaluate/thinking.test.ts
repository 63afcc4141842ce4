/** How many of an answer's tokens were thinking, with a model's own tokenizer. */

import { readFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { TextChat } from "../../../core/evaluate/text-chat.ts";
import { openTextChat } from "../../../core/evaluate/text-chat.ts";
import { tinyModel } from "../train/tiny-model.ts";

let plain: TextChat;
let on: TextChat;
let off: TextChat;

beforeAll(async () => {
  const folder = await tinyModel();
  const template = join(mkdtempSync(join(tmpdir(), "hone-thinking-")), "template.jinja");
  const own = readFileSync(join(folder, "chat_template.jinja"), "utf8");
  const opened = "<|im_start|>assistant\n{% if enable_thinking %}<think>\n{% else %}<think>\n\n</think>\n\n{% endif %}";
  writeFileSync(template, own.replace("<|im_start|>assistant\n", opened));
  plain = await openTextChat(folder);
  on = await openTextChat(folder, { template, thinking: true });
  off = await openTextChat(folder, { template, thinking: false });
});

const encode = (text: string) => Int32Array.from(plain.text.tokenizer.encode(text, { allowSpecial: true }));
const messages = [{ role: "user", content: "Which square?" }];

function read(chat: TextChat, answer: string) {
  const tokens = encode(answer);
  const { parsed, thinkingTokens } = chat.readAnswer(chat.renderPrompt(messages, []), tokens, [], {
    stopReason: "eos",
  });
  return { ...parsed, thinkingTokens, tokens: tokens.length };
}

describe("thinking tokens", () => {
  test("are those up to the closing tag, when the prompt has opened it", () => {
    const { reasoning, content, thinkingTokens, tokens } = read(on, "the top row\n</think>\n\nSquare 5<|im_end|>");
    expect({ reasoning, content }).toEqual({ reasoning: "the top row", content: "Square 5" });
    expect(thinkingTokens).toBe(encode("the top row\n</think>").length);
    expect(thinkingTokens).toBeLessThan(tokens);
  });

  test("are all of an answer that never stopped thinking", () => {
    const { content, thinkingTokens, tokens } = read(on, "the top row, or the middle");
    expect(content).toBe("");
    expect(thinkingTokens).toBe(tokens);
  });

  test("are none where thinking is switched off, and unknown where there is no switch", () => {
    expect(read(off, "Square 5<|im_end|>").thinkingTokens).toBe(0);
    expect(read(plain, "Square 5<|im_end|>").thinkingTokens).toBeUndefined();
  });

  test("do not count what was said before the first thought", () => {
    const said = "Let me see. ";
    const thought = "<think>the top row</think>";
    const { thinkingTokens } = read(plain, `${said}${thought} Square 5<|im_end|>`);
    const around = encode(thought).length;
    expect(Math.abs((thinkingTokens ?? NaN) - around)).toBeLessThanOrEqual(2);
  });
});

test("the switch reaches the prompt", () => {
  const prompt = (chat: TextChat) => chat.decode(chat.renderPrompt(messages, []));
  expect(prompt(on).endsWith("assistant\n<think>\n")).toBe(true);
  expect(prompt(off).endsWith("</think>\n\n")).toBe(true);
});
