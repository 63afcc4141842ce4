import { expect, test } from "vitest";
import { PromptOrder } from "../../../core/train/prompt-order.ts";

const draw = (order: PromptOrder, n: number) => Array.from({ length: n }, () => order.next());

test("every epoch has each row once, in an order of its own; the same seed gives the same order (D5)", () => {
  const order = new PromptOrder(20, 42);
  const epochs = [0, 1, 2].map(() => draw(order, 20));
  const all = Array.from({ length: 20 }, (_, i) => i);
  for (const epoch of epochs) expect(epoch.toSorted((a, b) => a - b)).toEqual(all);
  expect(new Set([all, ...epochs].map((epoch) => epoch.join())).size).toBe(4);
  expect(order.epochs()).toBe(3);
  expect(draw(new PromptOrder(20, 42), 60)).toEqual(epochs.flat());
  expect(draw(new PromptOrder(20, 7), 20)).not.toEqual(epochs[0]);
});

test("from where a cursor stands it goes on as if it had not stopped, whatever seed is given beside it (D2)", () => {
  for (const taken of [0, 1, 19, 20, 33]) {
    const whole = new PromptOrder(20, 42);
    draw(whole, taken);
    const resumed = new PromptOrder(20, 7, whole.cursor());
    expect(draw(resumed, 45)).toEqual(draw(whole, 45));
  }
});
