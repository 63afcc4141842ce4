import { expect, test } from "vitest";
import { splits } from "../../../../core/contract/eval.ts";
import { instructionFollowing } from "../../../../core/tasks/instructions/instructions.ts";
import {
  agree,
  holds,
  kindNames,
  kindOf,
  kinds,
  type Instruction,
  type KindName,
} from "../../../../core/tasks/instructions/kinds.ts";
import { languageOf, languages, topics, type Language } from "../../../../core/tasks/instructions/phrases.ts";
import type { InstructionRow } from "../../../../core/tasks/instructions/rows.ts";
import { expectSoundAnswers, expectSoundRows, scoreText } from "../made-tasks.ts";

const row: InstructionRow = {
  id: "one",
  topic: "rain",
  instructions: [
    { kind: "lines", value: 2 },
    { kind: "lowercase", value: "" },
    { kind: "include", value: "roof" },
  ],
  answer: "the rain falls on the roof.\nchildren jump into the puddles.",
};
const all = splits.flatMap((split) => instructionFollowing.rows(split));

test("rows: one to three instructions of every kind, in every part", () => {
  expectSoundRows(instructionFollowing);
  for (const split of splits) {
    const rows = instructionFollowing.rows(split);
    expect(new Set(rows.map(({ instructions }) => instructions.length))).toEqual(new Set([1, 2, 3]));
    const asked = new Set(rows.flatMap(({ instructions }) => instructions.map(({ kind }) => kind)));
    expect(asked).toEqual(new Set(kindNames));
  }
  for (const { id, instructions } of all) expect(agree(instructions.map(({ kind }) => kind)), id).toBe(true);
});

test("every answer keeps every instruction", () => {
  for (const { id, instructions, answer } of all) {
    for (const instruction of instructions) {
      expect(holds(instruction, answer), `${id}: ${kindOf(instruction).say(instruction.value)}`).toBe(true);
      expect(holds(instruction, `\n${answer}\n`.trim()), id).toBe(true);
    }
  }
});

test("solutions and preferences on every row", () => expectSoundAnswers(instructionFollowing));

test("every spoilt answer breaks its instruction", () => {
  const spoilt = new Map<KindName, number>();
  for (const { id, instructions, answer } of all) {
    for (const instruction of instructions) {
      const text = kindOf(instruction).spoil(answer, instruction.value);
      expect(holds(instruction, text), `${id}: ${instruction.kind}: ${text}`).toBe(false);
      spoilt.set(instruction.kind, 1 + (spoilt.get(instruction.kind) ?? 0));
    }
  }
  expect([...spoilt.keys()].sort()).toEqual([...kindNames].sort());
});

test.each<[KindName, Instruction["value"], string, string[]]>([
  ["sentences", 2, "It rains. Is it cold?", ["It rains.", "It rains. It is 3.5 degrees. Cold.", "it rains"]],
  ["words", 3, "- It rains, today.", ["It rains.", "It rains all day."]],
  ["max_words", 3, "It rains", ["It rains a lot."]],
  ["lines", 2, "One.\n\nTwo.", ["One.", "One.\nTwo.\nThree."]],
  ["paragraphs", 2, "One.\nMore.\n\nTwo.", ["One.\nTwo.", "One.\n\nTwo.\n\nThree."]],
  ["bullets", 2, "- One\n- Two", ["* One\n* Two", "Points:\n- One\n- Two", "- One", "-One\n-Two"]],
  ["numbered", 2, "1. One\n2. Two", ["1. One\n1. Two", "1) One\n2) Two", "0. One\n1. Two", "1. One"]],
  [
    "json",
    ["a", "b"],
    ' {"b": "y", "a": "x"} ',
    ['{"a": "x"}', '{"a": "x", "b": 1}', '{"a": "x", "b": "y"} ok', "a b"],
  ],
  ["title", "", "<<Rain>>\nIt falls.", ["Rain\nIt falls.", "<<Rain>> It falls.", "It falls.\n<<Rain>>"]],
  ["start_with", "Today", "today, it rains.", ["It rains today.", "Todays rain.", "Sure! Today it rains."]],
  ["end_with", "That is all.", "It rains. That is all.\n", ["That is all. It rains.", "It rains."]],
  ["include", "roof", "On the Roof!", ["On the roofs."]],
  ["exclude", "roof", "On the roofs.", ["On the ROOF."]],
  ["placeholder", "[name]", "For [name].", ["For you.", "[name] and [name]", "[NAME]"]],
  ["lowercase", "", "it rains: 3 °c", ["It rains."]],
  ["uppercase", "", "ES REGNET. ÄÖ", ["Es regnet.", "STRAßE"]],
  ["no_commas", "", "It rains; it is cold.", ["It rains, it is cold."]],
  ["question", "", "Does it rain?", ["Does it rain? Yes."]],
  ["language", "de", "Der Regen ist kalt und nass.", ["The rain is cold.", "La pluie est dans la rue.", "Regen"]],
])("%s %j", (kind, value, kept, broken) => {
  expect(holds({ kind, value }, kept), kept).toBe(true);
  for (const text of broken) expect(holds({ kind, value }, text), text).toBe(false);
});

test("every sentence of the bank shows its language, and the first of each names the topic", () => {
  for (const [topic, banks] of Object.entries(topics)) {
    for (const language of Object.keys(languages) as Language[]) {
      const { word, sentences } = banks[language];
      expect(sentences[0].toLowerCase(), topic).toContain(word.toLowerCase());
      for (const sentence of sentences) expect(sentence).not.toContain(",");
      if (language !== "en") for (const sentence of sentences) expect(languageOf(sentence), sentence).toBe(language);
    }
  }
  expect(languageOf("")).toBeUndefined();
});

test.each<[string, string, number, string | undefined]>([
  ["everything kept", row.answer, 1, undefined],
  ["white space around", `\n${row.answer}\n\n`, 1, undefined],
  ["off the topic", row.answer.replace("rain", "snow"), 0.6, "off_topic"],
  ["two of three", row.answer.replace("the", "The"), 0.1 + 0.4, "spelling"],
  ["two of three, off the topic", "the roof.\nSnow.", 0.4, "spelling"],
  ["one of three", "Rain.\nSnow.", 0.1 + 0.2, "spelling"],
  ["one of three, off the topic", "Cold.\nSnow.", 0.2, "spelling"],
  ["none, on the topic", "Rain.", 0.1, "format"],
  ["none", "Snow.", 0, "format"],
  ["punctuation only", "...", 0, "empty"],
  ["nothing", "", 0, "empty"],
])("%s", async (_, text, reward, failure) => {
  const score = await scoreText(instructionFollowing, row, text);
  expect(score.reward).toBeCloseTo(reward, 12);
  expect(score.info.failure).toBe(failure);
});

test("every level is reached for one, two and three instructions", async () => {
  const levels = new Set<string>();
  for (const each of all) {
    const { instructions, answer } = each;
    const texts = [answer, "snow", "", ...instructions.map((one) => kindOf(one).spoil(answer, one.value))];
    for (const one of instructions) {
      for (const other of instructions)
        texts.push(kindOf(one).spoil(kindOf(other).spoil(answer, other.value), one.value));
    }
    for (const text of texts) {
      const { parts } = await scoreText(instructionFollowing, each, text);
      const kept = Math.round(parts["instructions"] * instructions.length);
      levels.add(`${instructions.length}: ${kept}, topic ${parts["topic"]}, all ${parts["all"]}`);
    }
  }
  const expected = [1, 2, 3].flatMap((n) =>
    Array.from({ length: n + 1 }, (_, kept) =>
      [0, 1].map((topic) => `${n}: ${kept}, topic ${topic}, all ${kept === n ? topic : 0}`),
    ).flat(),
  );
  expect([...levels].sort()).toEqual(expected.sort());
});

test("an answer that was cut is none; families are reported where they are asked for", async () => {
  expect((await scoreText(instructionFollowing, row, row.answer, "length")).reward).toBe(0);
  expect(instructionFollowing.start(row, 1).end("timeout")).toMatchObject({ reward: 0 });
  const { info } = await scoreText(instructionFollowing, row, "Rain on the roof.");
  expect(info.outcomes).toEqual({ all_kept: false, on_topic: true, format: false, spelling: false, words: true });
});

test("a topic in another language is named in that language", async () => {
  const french: InstructionRow = {
    ...row,
    instructions: [{ kind: "language", value: "fr" }],
    answer: "La pluie est dans la rue.",
  };
  expect((await scoreText(instructionFollowing, french, french.answer)).reward).toBeCloseTo(1, 12);
  expect((await scoreText(instructionFollowing, french, "Le rain est dans la rue.")).info.failure).toBe("off_topic");
});

test("a row of a file that cannot be used is refused with the reason", () => {
  const bad = (change: Record<string, unknown>) => () => instructionFollowing.parseRow({ ...row, ...change });
  expect(bad({ topic: "chess" })).toThrow(/row one: topic is none of rain, /);
  expect(bad({ instructions: [] })).toThrow(/instructions is not a list/);
  expect(bad({ instructions: [{ kind: "rhyme", value: 1 }] })).toThrow(/kind is none of sentences, /);
  expect(bad({ instructions: [{ kind: "lines", value: "2" }] })).toThrow(/lines cannot have the value "2"/);
  expect(bad({ instructions: [{ kind: "language", value: "eo" }] })).toThrow(/language cannot have the value "eo"/);
  expect(bad({ answer: "The rain." })).toThrow(/the answer does not keep: Write exactly 2 lines\./);
  expect(bad({ answer: 3 })).toThrow(/answer is not a text/);
  expect(() => instructionFollowing.parseRow(null)).toThrow(/row without id: id is not a text/);
});

test("reference lines, problems and drawing", () => {
  expect(instructionFollowing.reference([row])).toEqual({
    empty: 0,
    topic_word_alone: expect.closeTo(0.3, 12),
    best: 1,
  });
  expect(instructionFollowing.problem(row)).toBe("lines+include+lowercase");
  expect(instructionFollowing.draw(row)).toContain("Write exactly 2 lines.");
  expect(Object.keys(kinds)).toHaveLength(19);
});
