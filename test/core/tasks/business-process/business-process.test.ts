import { expect, test } from "vitest";
import { messageText, type ChatMessage } from "../../../../core/contract/chat.ts";
import { splits } from "../../../../core/contract/eval.ts";
import { readGgufMetadata } from "../../../../core/engine/engine.ts";
import { openTextChat } from "../../../../core/evaluate/text-chat.ts";
import { businessProcess as task } from "../../../../core/tasks/business-process/business-process.ts";
import { deskFailures } from "../../../../core/tasks/business-process/desk.ts";
import { deskRows, kinds, type DeskRow } from "../../../../core/tasks/business-process/orders.ts";
import { play, solution } from "../../../../core/tasks/business-process/players.ts";
import { resolve, tells } from "../../../../core/tasks/business-process/policy.ts";
import type { Action, Score } from "../../../../core/tasks/task.ts";
import { itWithShared } from "../../../shared.ts";

const order = { number: 4821, item: "lamp", price: 34.5, delivered_days_ago: 12, arrives: null, stock: 3 };
const other = { number: 4830, item: "tent", price: 250, delivered_days_ago: 50, arrives: null, stock: 0 };
const row: DeskRow = {
  id: "a",
  request: "Order 4821: please refund the lamp.",
  wish: "money_back",
  order: 4821,
  orders: [other, order],
  replacement_arrives: "14 May",
  case_number: 512,
  busy: false,
};
const lookUp = (number = 4821) => ({ name: "look_up_order", arguments: { order: number } });
const refund = (amount: number) => ({ name: "issue_refund", arguments: { amount } });
const replace = { name: "send_replacement", arguments: {} };
const escalate = { name: "escalate", arguments: {} };
const say = (reply: string) => ({ reply });

function scoreOf(of: DeskRow, moves: Parameters<typeof play>[1]): Score {
  const { score } = play(of, moves);
  if (score === undefined) throw new Error("the case is still open");
  return score;
}

const late = { ...row, orders: [{ ...order, delivered_days_ago: 47 }] };
const broken = { ...row, wish: "damaged" as const };
const outOfStock = { ...broken, orders: [{ ...order, stock: 0 }] };
const expensive = { ...row, orders: [{ ...order, price: 234.5 }] };
const onItsWay = {
  ...row,
  wish: "status" as const,
  orders: [{ ...order, delivered_days_ago: null, arrives: "3 June" }],
};

type Case = [string, DeskRow, Parameters<typeof play>[1], number, string | undefined];
test.each<Case>([
  ["a refund", row, [lookUp(), refund(34.5), say("You get 34.50 euros back.")], 1, undefined],
  ["a late return", late, [lookUp(), say("It came 47 days ago: no refund after 30 days.")], 1, undefined],
  ["a replacement", broken, [lookUp(), replace, say("A new lamp arrives on May 14.")], 1, undefined],
  ["no stock", outOfStock, [lookUp(), refund(34.5), say("We refund 34,5 euros.")], 1, undefined],
  ["an approval", expensive, [lookUp(), escalate, say("Your case for order 4821 is 512.")], 1, undefined],
  ["where it is", onItsWay, [lookUp(), say("It arrives on 3 June.")], 1, undefined],
  ["silence about the amount", row, [lookUp(), refund(34.5), say("You get your money back.")], 0.6, "wrong_fact"],
  ["a number too many", row, [lookUp(), refund(34.5), say("34.50 euros within 5 days")], 0.6, "wrong_fact"],
  ["a promise without the refund", row, [lookUp(), say("You get 34.50 euros back.")], 0.2, "wrong_action"],
  ["another amount", row, [lookUp(), refund(35), say("You get 34.50 euros back.")], -0.3, "wrong_amount"],
  ["a refund too late", late, [lookUp(), refund(34.5), say("34.50 euros")], -0.3, "against_policy"],
  ["a refund without approval", expensive, [lookUp(), refund(234.5), say("234.50 euros")], -0.3, "against_policy"],
  ["an escalation for nothing", row, [lookUp(), escalate, say("Your case is 512.")], 0.2, "wrong_action"],
  ["an answer at once", row, [say("You get 34.50 euros back.")], 0, "no_look_up"],
  ["an action at once", row, [refund(34.5), say("You get 34.50 euros back.")], 0, "no_look_up"],
  ["an action at once, then the right way", row, [refund(34.5), lookUp(), refund(34.5), say("34.50")], 1, undefined],
  ["another customer's order", row, [lookUp(4830), refund(250), say("You get 250 euros.")], -0.5, "no_look_up"],
  ["the right order, then another", row, [lookUp(), lookUp(4830), refund(34.5), say("34.50")], -0.3, "wrong_order"],
  ["an order that is none", row, [lookUp(1), lookUp(), refund(34.5), say("34.50 euros")], 1, undefined],
  ["a busy system, given up", { ...row, busy: true }, [lookUp(), say("It is busy.")], 0, "no_look_up"],
  ["a busy system", { ...row, busy: true }, [lookUp(), lookUp(), refund(34.5), say("34.50")], 1, undefined],
])("%s", (_, of, moves, reward, failure) => {
  const score = scoreOf(of, moves);
  expect(score.reward).toBeCloseTo(reward, 10);
  expect(score.info.failure).toBe(failure);
  expect(task.rewardParts.reduce((sum, { name, weight }) => sum + weight * score.parts[name], 0)).toBe(score.reward);
  if (failure !== undefined) expect(Object.keys(deskFailures)).toContain(failure);
  expect(Object.keys(score.info.outcomes).sort()).toEqual(Object.keys(task.outcomes).sort());
});

test("what cannot be done is answered with an error and changes nothing", () => {
  const results = (moves: Parameters<typeof play>[1], of = row) =>
    play(of, moves)
      .messages.filter(({ role }) => role === "tool")
      .map(({ content }) => content);
  expect(results([escalate])).toEqual(["error: no order is open, look it up first"]);
  expect(results([lookUp(7)])).toEqual(["error: there is no order 7"]);
  expect(results([lookUp(), refund(34.5), refund(34.5)]).at(-1)).toBe("error: order 4821 is settled already");
  expect(results([lookUp(), replace], outOfStock).at(-1)).toBe("error: lamp is out of stock");
  expect(results([lookUp()], { ...row, busy: true })).toEqual(["error: the order system is busy, try again"]);
  expect(scoreOf(outOfStock, [lookUp(), replace, refund(34.5), say("34.50 euros")]).reward).toBe(1);
});

test("a malformed call comes back as an error, a cut answer ends the case, and so do the turns", async () => {
  const action = (parsed: Partial<Action["parsed"]>, stopReason: Action["stopReason"] = "eos"): Action => ({
    text: "",
    stopReason,
    parsed: { content: "", reasoning: "", tool_calls: [], problems: [], ...parsed },
  });
  const malformed = action({ problems: [{ code: "malformed", message: "the call is not valid JSON" }] });
  const desk = task.start(row, 1);
  const first = await desk.step(malformed);
  expect(first).toMatchObject({
    done: false,
    messages: [{ role: "tool", content: "error: the call is not valid JSON" }],
  });
  expect(await desk.end("max_turns")).toMatchObject({ reward: 0, info: { failure: "bad_call" } });

  const cut = await task.start(row, 1).step(action({ tool_calls: [lookUp()] }, "length"));
  expect(cut).toMatchObject({ done: true, score: { reward: 0, info: { failure: "truncated" } } });

  const unanswered = task.start(row, 1);
  await unanswered.step(action({ tool_calls: [lookUp()] }));
  await unanswered.step(action({ tool_calls: [refund(34.5)] }));
  expect(await unanswered.end("max_turns")).toMatchObject({
    reward: 0.6000000000000001,
    info: { failure: "no_reply" },
  });
  expect(() => unanswered.step(action({}))).toThrow("is over");
});

test.each([
  ["We refund 34.50 euros.", "34.50", true],
  ["We refund 34.5.", "34.50", true],
  ["We refund €34,50 for order 4821.", "34.50", true],
  ["We refund 345.0 euros.", "34.50", false],
  ["We refund 34.50 or 94.00 euros.", "34.50", false],
  ["It arrives on 14 May.", "14 May", true],
  ["It arrives on may 14th.", "14 May", true],
  ["It arrives on 14 June.", "14 May", false],
  ["It arrives in May.", "14 May", false],
  ["Maybe 14.", "14 May", false],
  ["", "47", false],
])("%j tells %j: %s", (text, fact, told) => {
  expect(tells(text, fact, 4821)).toBe(told);
});

test("every row: the solution earns everything within the turns, the fact stands in tool results only", () => {
  const rows = deskRows();
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  for (const each of rows) {
    const messages = solution(each);
    expect(messages.filter(({ role }) => role === "assistant").length).toBeLessThanOrEqual(task.limits.turns);
    const { fact } = resolve(each);
    expect(tells(messageText(messages.at(-1) ?? {}), fact, each.order)).toBe(true);
    const seen = messages.filter(({ role }) => role === "tool").map(messageText);
    expect(seen.some((text) => text.includes(fact))).toBe(true);
    expect(tells(each.request, fact, each.order)).toBe(false);
    expect(task.parseRow(JSON.parse(JSON.stringify(each)))).toEqual(each);
  }
  expect(task.reference(rows).best).toBeCloseTo(1, 10);
  expect(new Set(rows.map((each) => resolve(each).kind))).toEqual(new Set(kinds));
});

test("a pair shares everything but its last message", () => {
  for (const each of task.rows("train")) {
    const { chosen, rejected } = task.preference?.(each) ?? { chosen: [], rejected: [] };
    expect(chosen.slice(0, -1)).toEqual(rejected.slice(0, -1));
    expect(chosen.at(-1)).not.toEqual(rejected.at(-1));
    expect(solution(each).slice(0, chosen.length)).toEqual(chosen);
  }
});

test("reference lines: nobody but the policy earns everything", () => {
  const { best, ...others } = task.reference(task.rows("held-out"));
  for (const value of Object.values(others)) expect(value).toBeLessThan(0.5);
  expect(others.answer_at_once).toBe(0);
  expect(best).toBeCloseTo(1, 10);
});

test("parts share no problem, hold every case, and follow the seed", () => {
  const problems = splits.map((split) => new Set(task.rows(split).map((each) => task.problem(each))));
  expect(problems.map((set) => set.size)).toEqual([84, 24, 36]);
  expect(new Set(problems.flatMap((set) => [...set])).size).toBe(144);
  for (const set of problems) expect(new Set([...set].map((name) => name.split(" / ")[0])).size).toBe(kinds.length);
  expect(task.rows("held-out", { seed: 1 })).toEqual(task.rows("held-out", { seed: 1 }));
  expect(task.rows("held-out", { seed: 1 })).not.toEqual(task.rows("held-out", { seed: 2 }));
});

test.each([
  ["no id", { ...row, id: "" }, "id"],
  ["an order that is not there", { ...row, order: 5 }, "row a: order: is not among the orders"],
  ["a negative price", { ...row, orders: [{ ...order, price: -1 }] }, "row a: orders.0.price"],
  ["an unknown key", { ...row, mood: "angry" }, "mood"],
  ["text", "row", "row without id"],
])("a row with %s is refused by name", (_, value, message) => {
  expect(() => task.parseRow(value)).toThrow(message);
});

itWithShared("prompts are short for SmolLM2", ["models", "SmolLM2-135M-Instruct.Q4_1.gguf"], async (path) => {
  const chat = await openTextChat(path, { readGgufMetadata });
  const length = (messages: ChatMessage[]) => chat.renderPrompt(messages, task.tools).length;
  const prompts = task.rows("train").slice(0, 60);
  expect(Math.max(...prompts.map((each) => length(task.prompt(each))))).toBeLessThan(360);
  expect(
    Math.max(...prompts.map((each) => length([...task.prompt(each), ...(task.solution?.(each) ?? [])]))),
  ).toBeLessThan(620);
});
