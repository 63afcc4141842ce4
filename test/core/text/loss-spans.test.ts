import { describe, expect, it } from "vitest";
import { openChat, type LossMode } from "../../../core/text/chat.ts";
import type { ChatMessage } from "../../../core/contract/chat.ts";
import { assistant, code, marked, plainTemplate, thinkingTemplate, user } from "./chat-helpers.ts";
import { chatTokenizer, smallTokenizer } from "./small-tokenizer.ts";

describe("loss masks", () => {
  const messages = [user("One"), assistant("Two"), user("Three"), assistant("Four\n")];

  it.each<[LossMode, string]>([
    ["assistant_all", "U One|A [[Two|]]\nU Three|A [[Four\n|]]\n"],
    ["assistant_last", "U One|A Two|\nU Three|A [[Four\n|]]\n"],
    ["completion", "U One|A Two|\nU Three|A [[Four\n|]]\n"],
    ["all_tokens", "[[U One|A Two|\nU Three|A Four\n|\n]]"],
    ["none", "U One|A Two|\nU Three|A Four\n|\n"],
  ])("%s", (loss, expected) => {
    const long = expected
      .replaceAll("U ", "<|im_start|>user\n")
      .replaceAll("|A ", "<|im_end|>\n<|im_start|>assistant\n")
      .replace(/\|(?=\]|\n)/g, "<|im_end|>");
    expect(marked(plainTemplate, { messages, loss })).toBe(long);
  });

  it("takes a completion from where it is told, tool results and all", () => {
    const turns = [user("a"), assistant("b"), { role: "tool", content: "c" }, assistant("d")];
    expect(marked(plainTemplate, { messages: turns, loss: "completion" })).toBe(
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n[[b<|im_end|>\n<|im_start|>tool\nc<|im_end|>\n<|im_start|>assistant\nd<|im_end|>]]\n",
    );
    expect(marked(plainTemplate, { messages: turns, loss: "completion", completionFrom: 3 })).toContain(
      "\n[[d<|im_end|>]]",
    );
    const chat = openChat(chatTokenizer(plainTemplate));
    expect(() => chat.render({ messages: turns, loss: "completion", completionFrom: 2 })).toThrow(code("bad-messages"));
    expect(() => chat.render({ messages: [assistant("b"), user("a")], loss: "completion" })).toThrow(
      code("bad-messages"),
    );
  });

  it("trains nothing where no assistant speaks, and not the generation prompt", () => {
    expect(marked(plainTemplate, { messages: [user("a")], addGenerationPrompt: true })).toBe(
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n",
    );
    expect(marked(plainTemplate, { messages: [user("a"), assistant("b")], addGenerationPrompt: true })).toBe(
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n[[b<|im_end|>]]\n<|im_start|>assistant\n",
    );
  });

  it("cuts where generation began, even where one text would merge across", () => {
    const tokenizer = smallTokenizer(["<e>"], { eosToken: "<e>", chatTemplates: { default: "" } });
    const template =
      "{% for m in messages %}{{ m.role[0] + ': squ' if m.role == 'user' else m.content + '<e>' }}{% endfor %}";
    const whole = tokenizer.encode("u: square<e>", { allowSpecial: true });
    const { ids, trained } = openChat(tokenizer, { template }).render({ messages: [user("x"), assistant("are")] });
    expect(ids).not.toEqual(whole);
    expect(tokenizer.decode(ids)).toBe("u: square<e>");
    expect(tokenizer.decode(ids.filter((_, i) => trained[i]))).toBe("are<e>");
  });

  it("follows a template that strips thoughts from history", () => {
    const thinking = [
      user("Q1"),
      assistant("A1", { reasoning_content: "r1" }),
      user("Q2"),
      assistant("A2", { reasoning_content: "r2" }),
    ];
    const expected =
      "<|im_start|>user\nQ1<|im_end|>\n<|im_start|>assistant\n[[A1<|im_end|>]]\n" +
      "<|im_start|>user\nQ2<|im_end|>\n<|im_start|>assistant\n[[<think>\nr2\n</think>\n\nA2<|im_end|>]]\n";
    expect(marked(thinkingTemplate, { messages: thinking })).toBe(expected);
    const inline = [
      user("Q1"),
      assistant("<think>\nr1\n</think>\n\nA1"),
      user("Q2"),
      assistant("<think>\nr2\n</think>\n\nA2"),
    ];
    expect(marked(thinkingTemplate, { messages: inline })).toBe(expected);
    // With thinking off the prompt of the last answer has an empty block; history has none.
    expect(
      marked(thinkingTemplate, {
        messages: [user("Q1"), assistant("A1"), user("Q2"), assistant("A2")],
        thinking: false,
      }),
    ).toBe(
      "<|im_start|>user\nQ1<|im_end|>\n<|im_start|>assistant\n[[A1<|im_end|>]]\n" +
        "<|im_start|>user\nQ2<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n[[A2<|im_end|>]]\n",
    );
    // Several answers in a row: the first is rewritten although nobody spoke in between.
    expect(
      marked(thinkingTemplate, { messages: [user("Q"), assistant("<div>"), assistant("A")], thinking: false }),
    ).toBe(
      "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n[[<div><|im_end|>]]\n" +
        "<|im_start|>assistant\n<think>\n\n</think>\n\n[[A<|im_end|>]]\n",
    );
  });

  it("follows a prompt that opens a block which history does not have", () => {
    const template = [
      "{% for m in messages %}{{ '<|im_start|>' + m.role + m.content.split('</think>')[-1] + '<|im_end|>' }}{% endfor %}",
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant<think>\n' }}{% endif %}",
    ].join("");
    expect(
      marked(template, { messages: [user("Q1"), assistant("<think>\nr</think>A1"), user("Q2"), assistant("A2")] }),
    ).toBe(
      "<|im_start|>userQ1<|im_end|><|im_start|>assistant[[A1<|im_end|>]]<|im_start|>userQ2<|im_end|><|im_start|>assistant[[A2<|im_end|>]]",
    );
    const prompt = openChat(chatTokenizer(template)).render({ messages: [user("Q")], addGenerationPrompt: true });
    expect(prompt.thinkingOpen).toBe(true);
  });

  it("does not take an earlier turn's beginning for a later one's", () => {
    const template = [
      "{{ messages | length }}",
      "{% for m in messages %}{{ '<|im_start|>' + m.role }}",
      "{% if m.reasoning_content %}{{ '<think>' + m.reasoning_content + '</think>' }}{% endif %}",
      "{{ m.content + '<|im_end|>' }}{% endfor %}",
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant<think>' }}{% endif %}",
    ].join("");
    const messages = [user("Q1"), assistant("A1", { reasoning_content: "r" }), user("Q2"), assistant("A2")];
    expect(marked(template, { messages, loss: "assistant_last" })).toMatch(/assistant\[\[A2<\|im_end\|>\]\]$/);
    expect(marked(template, { messages })).toContain("assistant<think>[[r</think>A1<|im_end|>]]<|im_start|>");
  });

  it("follows templates without a generation prompt, and with text behind the last turn", () => {
    const instruct =
      "{% for m in messages %}{{ '[INST] ' + m.content + ' [/INST]' if m.role == 'user' else ' ' + m.content + '<|endoftext|>' }}{% endfor %}";
    expect(marked(instruct, { messages: [user("a"), assistant("b"), user("c"), assistant("d")] })).toBe(
      "[INST] a [/INST][[ b<|endoftext|>]][INST] c [/INST][[ d<|endoftext|>]]",
    );
    const trailing = `${plainTemplate}{% if not add_generation_prompt %}{{ eos_token }}{% endif %}`;
    expect(marked(trailing, { messages: [user("a"), assistant("b"), user("c"), assistant("d")] })).toBe(
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n[[b<|im_end|>]]\n<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n[[d<|im_end|>]]\n<|endoftext|>",
    );
  });

  it("refuses what it cannot tell exactly", () => {
    const render = (template: string, messages: ChatMessage[]) =>
      openChat(chatTokenizer(template)).render({ messages });
    const turns = [user("a"), assistant("b"), user("c"), assistant("d")];
    const noEnd = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '\n' }}{% endfor %}";
    expect(() => render(noEnd, turns)).toThrow(code("no-end-of-turn"));
    const lastOnly =
      "{% for m in messages %}{{ '<|im_start|>' + m.content }}{% if loop.last %}<|im_end|>{% endif %}{% endfor %}";
    expect(() => render(lastOnly, turns)).toThrow(code("inexact-mask"));
    const missing =
      "{% for m in messages %}{{ '<|im_start|>' + m.content }}{% if loop.last or m.role == 'user' %}<|im_end|>{% endif %}{% endfor %}";
    expect(() => render(missing, [user("a"), assistant("b"), user("c")])).toThrow(code("inexact-mask"));
    // The number of messages stands in front of them, so no prompt is a prefix; and there is no generation prompt to look for.
    const counted = "{{ messages | length }}{% for m in messages %}{{ m.content + '<|im_end|>' }}{% endfor %}";
    expect(() => render(counted, turns)).toThrow(code("inexact-mask"));
    expect(openChat(chatTokenizer(counted)).render({ messages: turns, loss: "none" }).text).toContain("4a<|im_end|>");
    // Here history has another beginning than the prompt; one common character is not enough.
    const other =
      "{{ messages | length }}{% for m in messages %}{{ '<' + m.content + '<|im_end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant' }}{% endif %}";
    expect(() => render(other, turns)).toThrow(code("inexact-mask"));
    const countedPrompt = `{{ messages | length }}${plainTemplate}`;
    expect(marked(countedPrompt, { messages: turns })).toContain("assistant\n[[b<|im_end|>]]\n");
  });
});
