/** Rows and pairs as tokens: what is trained, what is skipped and counted, what is refused. */

import { describe, expect, test } from "vitest";
import { messageText, type ChatMessage } from "../../../../core/contract/chat.ts";
import { dpoExamples, sftExamples, type ExampleChat } from "../../../../core/train/examples/examples.ts";
import { madeTask, say, type MadeRow } from "../made-task.ts";

const endId = 0;
const idsOf = (text: string) => [...text].map((char) => char.charCodeAt(0));

/** One token per character; an answer ends with the end token unless it says so. */
const charChat: ExampleChat = {
  stopIds: [endId],
  renderTrained(messages, _tools, loss, completionFrom = messages.length - 1) {
    const ids: number[] = [];
    const mask: number[] = [];
    messages.forEach((message: ChatMessage, i) => {
      const isAnswer = message.role === "assistant";
      const text = messageText(message);
      const tokens = isAnswer && !text.endsWith("…") ? [...idsOf(text), endId] : idsOf(text);
      const isTrained =
        loss === "all_tokens" || (isAnswer && (loss === "assistant_all" || i >= completionFrom) && text !== "");
      ids.push(...tokens);
      mask.push(...tokens.map(() => Number(isTrained)));
    });
    const begin = Math.max(1, mask.indexOf(1) < 0 ? ids.length : mask.indexOf(1));
    const end = mask.lastIndexOf(1) + 1;
    return {
      promptIds: Int32Array.from(ids.slice(0, begin)),
      ids: Int32Array.from(ids.slice(begin, end)),
      mask: Uint8Array.from(mask.slice(begin, end)),
    };
  },
  vocabSize: 1000,
  textIds: (text) => Int32Array.from([...idsOf(text), endId]),
};

const options = (more: object = {}) => ({
  config: { loss_mask: null, overlong_rows: "skip" as const, ...more },
  maxLength: 8,
  signal: new AbortController().signal,
});

function sft(rows: MadeRow[], more: object = {}, ability: "solution" | "example" = "solution") {
  return sftExamples(madeTask(rows, [ability]), rows, charChat, options(more));
}

const plain = (items: { promptIds: Int32Array; ids: Int32Array; mask: Uint8Array }[]) =>
  items.map(({ promptIds, ids, mask }) => [[...promptIds], [...ids], [...mask]]);

describe("rows to imitate", () => {
  test("a prompt and its answer: the answer and the end of the turn are trained", async () => {
    const { items, skipped } = await sft([{ id: "a", prompt: "hi", answer: say("yo") }]);
    expect(plain(items)).toEqual([[idsOf("hi"), [...idsOf("yo"), endId], [1, 1, 1]]]);
    expect(skipped).toEqual({ too_long: 0, no_trained_token: 0 });
  });

  test("too long: skipped and counted, or cut when that is asked for; a prompt that is too long is skipped either way", async () => {
    const rows = [
      { id: "fits", prompt: "ab", answer: say("cdefg") },
      { id: "long", prompt: "ab", answer: say("cdefgh") },
      { id: "longer", prompt: "abcdefgh", answer: say("i") },
    ];
    expect((await sft(rows)).skipped).toMatchObject({ too_long: 2 });
    const cut = await sft(rows, { overlong_rows: "truncate" });
    expect(cut.skipped).toMatchObject({ too_long: 1 });
    expect(plain(cut.items)[1]).toEqual([idsOf("ab"), idsOf("cdefgh"), [1, 1, 1, 1, 1, 1]]);
  });

  test("without a trained token: skipped and counted (A9)", async () => {
    const rows: MadeRow[] = [
      { id: "a", prompt: "q", answer: say("x") },
      { id: "b", prompt: "q", answer: say("") },
    ];
    expect(await sft(rows)).toMatchObject({ items: { length: 1 }, skipped: { no_trained_token: 1 } });
    await expect(sft([rows[1]])).rejects.toMatchObject({
      code: "no-rows",
      message: expect.stringMatching(/1 without a token to train/),
    });
    await expect(sft([{ id: "c", answer: say("123456789") }])).rejects.toMatchObject({
      code: "no-rows",
      message: expect.stringMatching(/1 longer than max_length/),
      fix: expect.stringMatching(/the shortest row has 1\d tokens: raise max_length \(now 8\)/),
    });
  });

  test("a last trained token that does not end the turn is refused, by row (A9)", async () => {
    await expect(sft([{ id: "row-7", answer: say("and…") }])).rejects.toMatchObject({
      code: "no-end-of-turn",
      message: expect.stringMatching(/row-7/),
    });
  });

  test("a conversation trains every turn, plain text every token and its end, ids what their mask says", async () => {
    const messages = ["user", "assistant", "user", "assistant"].map((role, i) => ({ role, content: String(i) }));
    const rows: MadeRow[] = [
      { id: "talk", example: { messages } },
      { id: "text", example: { text: "abc" } },
      { id: "ids", example: { tokens: [5, 6, 7, 8], loss_mask: [1, 0, 1, 0] } },
    ];
    const { items } = await sft(rows, {}, "example");
    expect(plain(items)).toEqual([
      [idsOf("0"), [...idsOf("1"), endId, ...idsOf("2"), ...idsOf("3"), endId], [1, 1, 0, 1, 1]],
      [idsOf("a"), [...idsOf("bc"), endId], [1, 1, 1]],
      // A first token has nothing before it.
      [[5], [6, 7], [0, 1]],
    ]);
    const [last] = (await sft([rows[0]], { loss_mask: "assistant_last" }, "example")).items;
    expect([...last.mask].reduce((a, b) => a + b)).toBe(2);
  });

  test.each<[MadeRow, string, RegExp, string]>([
    [{ id: "t", example: { text: "abc" } }, "completion", /row t is plain text/, "bad-loss-mask"],
    [{ id: "t", example: { tokens: [1, 2], loss_mask: [0, 1] } }, "all_tokens", /own loss mask/, "bad-loss-mask"],
    [{ id: "t", example: { tokens: [1, 2], loss_mask: [1] } }, "", /2 tokens and 1 entr/, "bad-row"],
    [{ id: "t", example: { tokens: [1, 2.5], loss_mask: [1, 1] } }, "", /2.5 is no token id/, "bad-row"],
  ])("%j with loss %j is refused", async (row, loss, message, code) => {
    await expect(sft([row], { loss_mask: loss === "" ? null : loss }, "example")).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  test("an abort ends the preparation", async () => {
    const rows = [{ id: "a", answer: say("x") }];
    const signal = AbortSignal.abort();
    await expect(sftExamples(madeTask(rows, ["solution"]), rows, charChat, { ...options(), signal })).rejects.toThrow();
  });
});

describe("pairs", () => {
  const pairs = (rows: MadeRow[], more: object = {}) =>
    dpoExamples(madeTask(rows, ["preference"]), rows, charChat, options(more));

  test("share their prompt; equal and empty answers are dropped with a count", async () => {
    const rows: MadeRow[] = [
      { id: "a", prompt: "q", answer: say("good"), worse: say("bad") },
      { id: "b", prompt: "q", answer: say("same"), worse: say("same") },
      { id: "c", prompt: "q", answer: say("good"), worse: say("") },
      { id: "d", prompt: "q", answer: say("good"), worse: say("much too long") },
    ];
    const { items, skipped } = await pairs(rows);
    expect(skipped).toEqual({ too_long: 1, equal_answers: 2 });
    expect(items).toHaveLength(1);
    expect(items[0].chosen.promptIds).toBe(items[0].rejected.promptIds);
    const cut = await pairs(rows, { overlong_rows: "truncate" });
    expect(cut.items).toHaveLength(2);
    await expect(pairs([rows[1]])).rejects.toMatchObject({
      code: "no-rows",
      message: expect.stringMatching(/equal or empty answers/),
    });
  });
});
