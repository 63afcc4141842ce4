import { expect, test } from "vitest";
import type { Control } from "../../../core/contract/eval.ts";
import {
  compareControl,
  controlInstructions,
  controlSentence,
  controlTexts,
  follows,
  measureControl,
} from "../../../core/evaluate/control.ts";
import { TabularModel } from "../train/tabular-model.ts";
import { textPolicy } from "./text-policy.ts";

test("the set is what it says: some dozens of texts, about forty instructions, no two alike", () => {
  const [texts, instructions] = [controlTexts(), controlInstructions()];
  expect(texts.length).toBeGreaterThanOrEqual(36);
  expect(instructions).toHaveLength(40);
  for (const items of [texts, instructions]) expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
  expect(new Set(texts.map(({ text }) => text)).size).toBe(texts.length);
});

/** One right answer to each instruction, so that none is impossible. */
const right: Record<string, string> = {
  "capital-france": "Paris.",
  "capital-japan": "Tokyo",
  add: "12",
  multiply: "24",
  subtract: "11",
  days: "Seven",
  legs: "8",
  "opposite-hot": "Cold.",
  "opposite-big": "small",
  "plural-child": "Children",
  "past-go": '"went"',
  yes: "Yes.",
  "true-false": "True",
  "repeat-word": "lantern",
  "repeat-sentence": "The cat sat on the mat.",
  uppercase: "GARDEN",
  "all-capitals": "A GOAT.",
  "all-lowercase": "rome is a city.",
  "two-words": "Deep blue.",
  short: "Rain is water that falls from clouds.",
  long: `${"The trees stand close and dark and old. ".repeat(5)}`,
  "one-sentence": "A dog is a friendly animal.",
  "two-sentences": "Winter is cold. Snow covers the fields.",
  "three-colours": "red\nblue\ngreen",
  "four-fruits": "apple, pear, plum, fig",
  "no-comma": "The sun is a star that gives us light.",
  "keyword-river": "The town lies on a river.",
  keywords: "Cut the bread with a knife.",
  "avoid-word": "Snow is white and soft and quiet.",
  "start-with": "Music makes people dance.",
  "end-with": "Hello, and see you soon.",
  question: "Where did you go?",
  exclamation: "Happy birthday!",
  json: '{"name": "Tom"}',
  "json-two": '{"city": "Berlin", "country": "Germany"}',
  bullets: "- It is healthy.\n- It is free.",
  numbered: "1. Boil water. 2. Add tea. 3. Wait.",
  quotes: '"freedom"',
  brackets: "[open]",
  alphabet: "A, B, C, D, E",
};

test.each(controlInstructions())(
  "$id: a right answer passes, and chatter, silence and other answers do not",
  ({ id, check }) => {
    expect(follows(right[id], check)).toBe(true);
    expect(follows("", check)).toBe(false);
    expect(
      follows("I am not, and never was, sure; COLD comfort it would be to say so, and yet, I say so again", check),
    ).toBe(false);
  },
);

test("words, sentences, lines and marks are counted as a reader would", () => {
  expect(follows("One two.", { max_words: 2 })).toBe(true);
  expect(follows("One two three.", { max_words: 2 })).toBe(false);
  expect(follows("It costs 3.50 in all.", { sentences: 1 })).toBe(true);
  expect(follows('He said "no." Then he left.', { sentences: 2 })).toBe(true);
  expect(follows("a\n\nb", { lines: 2 })).toBe(true);
  expect(follows("123", { uppercase: true })).toBe(false);
  expect(follows("[1]", { json_keys: ["name"] })).toBe(false);
});

const model = () => new TabularModel("table", { vocabSize: 128, memory: 1, contextLength: 512 });
const chat = { encodeText: (text: string) => [...text].map((character) => Math.min(127, character.charCodeAt(0))) };

test("a model that knows nothing has the loss of a blind guess; answers are checked", async () => {
  const policy = textPolicy((prompt) => (prompt.includes("capital of France") ? "Paris" : "Hm"));
  const control = await measureControl({ model: model(), policy, chat }, { seed: 1 });
  expect(control.text_loss.mean).toBeCloseTo(Math.log(128), 4);
  expect(control.blind_loss).toBeCloseTo(Math.log(128), 12);
  expect(control.instructions.mean).toBe(1 / 40);
  expect(control.answers.find(({ id }) => id === "capital-france")).toMatchObject({ text: "Paris", followed: true });
  expect(policy.calls.every(({ settings }) => settings.temperature === 0)).toBe(true);
});

test("the change is paired: text by text, per token", async () => {
  const policy = textPolicy(() => "Hm");
  const [base, better] = [model(), model()];
  const logits = new Array<number>(128).fill(0);
  logits["e".charCodeAt(0)] = 3;
  for (const letter of "thr ") better.base.set(String(letter.charCodeAt(0)), logits);
  const before = await measureControl({ model: base, policy, chat }, { seed: 1 });
  const after = await measureControl({ model: better, policy, chat }, { seed: 1 });
  const change = compareControl(before, after, 1);
  expect(change.text_loss.mean).toBeCloseTo(after.text_loss.mean - before.text_loss.mean, 10);
  // Texts differ much less in how they change than in how likely they are.
  expect(change.text_loss.lo).toBeLessThan(change.text_loss.mean);
  expect(change.instructions).toEqual({ mean: 0, lo: 0, hi: 0 });
  expect(() => compareControl({ ...before, texts: before.texts.slice(1) }, after, 1)).toThrow(/same set/);
});

const flat = (mean: number) => ({ mean, lo: mean, hi: mean });
const control = (loss: number, followed: number): Control => ({
  text_loss: flat(loss),
  blind_loss: Math.log(49152),
  instructions: flat(followed),
  texts: [],
  answers: [],
});

test("a gain that was bought is called so; without a gain it is a loss all the same", () => {
  const before = control(3, 0.5);
  const worse = { text_loss: { mean: 0.3, lo: 0.2, hi: 0.4 }, instructions: { mean: -0.2, lo: -0.3, hi: -0.1 } };
  expect(controlSentence(before, worse, true)).toBe(
    "The gain was bought with a loss elsewhere: unrelated texts cost 0.30 more per token, and 20 % fewer simple instructions are followed than before.",
  );
  expect(controlSentence(before, worse, false)).toMatch(/^Something was lost elsewhere: /);
});

test("a change within the margin or the interval is no loss", () => {
  const before = control(3, 0.5);
  for (const text_loss of [flat(0.01), { mean: 0.3, lo: -0.1, hi: 0.7 }, flat(-0.5)]) {
    expect(controlSentence(before, { text_loss, instructions: flat(0) }, true)).toMatch(/^No loss is seen/);
  }
});

test("a model that knew nothing before has nothing to lose", () => {
  const change = { text_loss: flat(2), instructions: flat(0) };
  expect(controlSentence({ ...control(7, 0), blind_loss: Math.log(1024) }, change, true)).toMatch(/says little/);
});
