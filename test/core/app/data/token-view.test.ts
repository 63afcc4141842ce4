/** Rows as tokens: what is trained in each shape, and that what a user types never becomes a control token. */

import { describe, expect, test } from "vitest";
import { tokenView } from "../../../../core/app/data/token-view.ts";
import type { DataRow } from "../../../../core/contract/data.ts";
import { TextChat } from "../../../../core/evaluate/text-chat.ts";
import type { RowLoss } from "../../../../core/evaluate/trained-row.ts";
import { openChat } from "../../../../core/text/chat.ts";
import { one } from "../../data/files.ts";
import { plainTemplate } from "../../text/chat-helpers.ts";
import { chatTokenizer } from "../../text/small-tokenizer.ts";

const tokenizer = chatTokenizer(plainTemplate);
const chat = new TextChat(openChat(tokenizer));

/** The pieces, with trained stretches in brackets. */
function shown({ pieces, trained }: { pieces: string[]; trained: boolean[] }): string {
  return pieces
    .map((piece, i) => {
      const open = trained[i] && !trained[i - 1] ? "[[" : "";
      return `${open}${piece}${trained[i] && !trained[i + 1] ? "]]" : ""}`;
    })
    .join("");
}

const turn = (role: string, content: string) => `<|im_start|>${role}\n${content}<|im_end|>\n`;
const begin = "<|im_start|>assistant\n";

const messages = [
  { role: "user", content: "q1" },
  { role: "assistant", content: "a1" },
  { role: "user", content: "q2" },
  { role: "assistant", content: "a2" },
];

describe("what is trained", () => {
  test.each<[string, unknown, RowLoss, string]>([
    [
      "every answer of a conversation",
      { messages },
      null,
      `${turn("user", "q1")}${begin}[[a1<|im_end|>]]\n${turn("user", "q2")}${begin}[[a2<|im_end|>]]`,
    ],
    [
      "the last one, if asked",
      { messages },
      "assistant_last",
      `${turn("user", "q1")}${turn("assistant", "a1")}${turn("user", "q2")}${begin}[[a2<|im_end|>]]`,
    ],
    ["the answer to a prompt", { prompt: "q", completion: "a" }, null, `${turn("user", "q")}${begin}[[a<|im_end|>]]`],
    [
      "the same of a labelled one",
      { prompt: "q", completion: "a", label: true },
      null,
      `${turn("user", "q")}${begin}[[a<|im_end|>]]`,
    ],
    ["nothing of a prompt alone", { prompt: "q" }, null, `${turn("user", "q")}${begin}`],
  ])("%s", async (_, record, loss, expected) => {
    expect(shown(tokenView(chat, await one(record), loss))).toBe(expected);
  });

  test("every token of plain text but the first, which nothing stands before", async () => {
    const view = tokenView(chat, await one({ text: "Hello! One, two." }));
    expect(view.trained).toEqual(view.ids.map((_, i) => i > 0));
    expect(view.ids.at(-1)).toBe(tokenizer.eosId);
  });

  test("ids as they stand, up to the last trained one", async () => {
    const view = tokenView(chat, await one({ tokens: [5, 6, 7, 8], loss_mask: [0, 1, 1, 0] }));
    expect([view.ids, view.trained]).toEqual([
      [5, 6, 7],
      [false, true, true],
    ]);
  });

  test("both answers of a pair", async () => {
    const view = tokenView(chat, await one({ prompt: "q", chosen: "good", rejected: "bad" }));
    expect(shown(view)).toBe(`${turn("user", "q")}${begin}[[good<|im_end|>]]`);
    expect(view.rejected && shown(view.rejected)).toBe(`${turn("user", "q")}${begin}[[bad<|im_end|>]]`);
  });
});

describe("a special token that a user typed is ordinary text", () => {
  const controls = (row: DataRow) =>
    [tokenView(chat, row), tokenView(chat, row).rejected]
      .flatMap((view) => view?.ids ?? [])
      .filter((id) => tokenizer.controlIds.has(id)).length;

  test.each<[string, (typed: string) => unknown]>([
    ["in a prompt", (typed) => ({ prompt: `x ${typed} y` })],
    ["in a question", (typed) => ({ prompt: typed, completion: "a" })],
    ["in an answer", (typed) => ({ prompt: "q", completion: `a ${typed} b` })],
    ["in a system message", (typed) => ({ messages: [{ role: "system", content: typed }, ...messages] })],
    ["in parts", (typed) => ({ messages: [{ role: "user", content: [{ type: "text", text: typed }] }, messages[1]] })],
    ["in plain text", (typed) => ({ text: `a ${typed} b` })],
    ["in Alpaca's input", (typed) => ({ instruction: "i", input: typed, output: "o" })],
    [
      "in ShareGPT",
      (typed) => ({
        conversations: [
          { from: "human", value: typed },
          { from: "gpt", value: typed },
        ],
      }),
    ],
    ["in a pair", (typed) => ({ prompt: typed, chosen: `good ${typed}`, rejected: `bad ${typed}` })],
    [
      "in a call and its result",
      (typed) => ({
        messages: [
          messages[0],
          { role: "assistant", tool_calls: [{ name: "f", arguments: { a: typed } }] },
          { role: "tool", content: typed },
          messages[1],
        ],
      }),
    ],
  ])("%s", async (_, record) => {
    const plain = controls(await one(record("harmless")));
    for (const typed of ["<|im_end|>", "<|im_start|>system\n", "<|endoftext|>"]) {
      const row = await one(record(typed));
      expect(controls(row)).toBe(plain);
      expect(tokenView(chat, row).pieces.join("")).toContain(typed.trim());
    }
  });
});

test("a token id beyond the vocabulary is no empty piece", async () => {
  const size = tokenizer.vocabSize;
  const row = await one({ tokens: [0, size + 5], loss_mask: [0, 1] });
  expect(() => tokenView(chat, row)).toThrow(
    `row 1: the token id ${size + 5} is beyond the model's vocabulary of ${size} tokens`,
  );
});
