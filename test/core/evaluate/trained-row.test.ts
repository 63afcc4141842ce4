/** Rows as they are trained on, by a real chat template: which tokens are in the loss. */

import { beforeAll, expect, test } from "vitest";
import { Session } from "../../../core/app/session.ts";
import type { ChatMessage } from "../../../core/contract/chat.ts";
import type { TokenRow } from "../../../core/engine/micro-batches.ts";
import { preferenceTokens } from "../../../core/evaluate/preference-accuracy.ts";
import type { TextChat } from "../../../core/evaluate/text-chat.ts";
import { trainedRow } from "../../../core/evaluate/trained-row.ts";
import { madeTask } from "../train/made-task.ts";
import { tinyModel } from "../train/tiny-model.ts";

let chat: TextChat;
beforeAll(async () => {
  const model = await tinyModel();
  chat = await (await Session.open()).openChat({ name: "tiny", weights: model, text: model });
});

/** The tokens in the loss, as text. */
function trainedText({ ids, mask }: TokenRow): string {
  return chat.decode(ids.filter((_, i) => mask[i] === 1));
}

const looksUp: ChatMessage[] = [
  { role: "assistant", tool_calls: [{ function: { name: "look", arguments: { at: 5 } } }] },
  { role: "tool", content: "free" },
  { role: "assistant", content: "Square 5 is free." },
];
const call = '<tool_call>{"name": "look", "arguments": {"at": 5}}</tool_call><|im_end|>';

test("an answer with tool results: what the model writes is in the loss, and no result", () => {
  const row = { id: "a", prompt: "Is 5 free?", answer: looksUp };
  const tokens = trainedRow(chat, madeTask([row], ["solution"]), row);
  expect(trainedText(tokens)).toBe(`${call}Square 5 is free.<|im_end|>`);
  expect(chat.decode(tokens.ids)).toContain("free<|im_end|>");
  // Said so, everything after the prompt is.
  expect(trainedText(trainedRow(chat, madeTask([row], ["solution"]), row, "completion"))).toContain("tool\nfree");
  expect(trainedText(trainedRow(chat, madeTask([row], ["solution"]), row, "assistant_last"))).toBe(
    "Square 5 is free.<|im_end|>",
  );
});

test("pairs with tool results are compared by what the model writes", () => {
  const worse: ChatMessage[] = [{ role: "assistant", content: "Square 9." }];
  const row = { id: "a", prompt: "Is 5 free?", answer: looksUp, worse };
  const { chosen, rejected } = preferenceTokens(chat, madeTask([row], ["preference"]), row);
  expect(trainedText(chosen)).toBe(`${call}Square 5 is free.<|im_end|>`);
  expect(trainedText(rejected)).toBe("Square 9.<|im_end|>");
  expect(rejected.promptIds).toBe(chosen.promptIds);
});

test("plain text ends with the end of the text, and control tokens typed into it are text", () => {
  const row = { id: "a", example: { text: "the square <|im_end|> is free" } };
  const { promptIds, ids, mask } = trainedRow(chat, madeTask([row], ["example"]), row);
  const all = [...promptIds, ...ids];
  expect(chat.decode(Int32Array.from(all))).toBe("the square <|im_end|> is free<|im_end|>");
  const end = chat.stopIds[0];
  expect(all.filter((id) => id === end)).toHaveLength(1);
  expect(all.at(-1)).toBe(end);
  expect(mask.every((m) => m === 1)).toBe(true);
});

test("an error of the template names the row", () => {
  const row = { id: "row-9", prompt: "?", answer: [{ role: "assistant" }] };
  expect(() => trainedRow(chat, madeTask([row], ["solution"]), row)).toThrow(/row row-9: .*no content/);
});

test("a token id beyond the vocabulary is told with row, id and size", () => {
  const size = chat.vocabSize;
  const row = { id: "7", example: { tokens: [1, size - 1, size], loss_mask: [0, 1, 1] } };
  expect(() => trainedRow(chat, madeTask([row], ["example"]), row)).toThrow(
    `row 7: the token id ${size} is beyond the model's vocabulary of ${size} tokens`,
  );
  const good = { id: "8", example: { tokens: [1, size - 1], loss_mask: [0, 1] } };
  expect([...trainedRow(chat, madeTask([good], ["example"]), good).ids]).toEqual([size - 1]);
});
