/** Instruction following: some lines about a topic that keep one to three instructions, each verified by program. */

import type { ChatMessage } from "../../contract/chat.ts";
import { Random } from "../../contract/random.ts";
import type { RewardPart } from "../../contract/reward.ts";
import { isCut } from "../../text/parse-assistant.ts";
import { splitGroups } from "../split-groups.ts";
import { oneTurnEpisode, textAction, weigh, type Action, type FailureKind, type Score, type Task } from "../task.ts";
import { families, holds, kindNames, kindOf, kinds, type KindName } from "./kinds.ts";
import { combinationRows, combinations, parseRow, topicWord, type InstructionRow } from "./rows.ts";

const rowsPerCombination = 5;

const rewardParts: RewardPart[] = [
  { name: "topic", weight: 0.1, description: "1 when the answer names the topic" },
  { name: "instructions", weight: 0.6, description: "share of the instructions that are kept; 0 for an empty answer" },
  { name: "all", weight: 0.3, description: "1 when the topic is named and every instruction is kept" },
];

const failures: Record<string, FailureKind> = {
  truncated: { meaning: "cut off by the token limit", group: "call" },
  empty: { meaning: "no words", group: "call" },
  ...Object.fromEntries(
    Object.entries(families).map(([family, what]) => [
      family,
      { meaning: `an instruction on ${what}`, group: "rules" },
    ]),
  ),
  off_topic: { meaning: "every instruction is kept, the topic is not", group: "state" },
};

export const instructionFollowing: Task<InstructionRow> = {
  name: "instructions",
  title: "Instruction following",
  description: "Write a few lines about a topic and keep up to three instructions at once.",
  tools: [],
  rewardParts,
  failures,
  outcomes: {
    all_kept: "all instructions kept",
    on_topic: "answers on the topic",
    ...Object.fromEntries(Object.entries(families).map(([family, what]) => [family, `kept: ${what}`])),
  },
  limits: { turns: 1, tokens: 160, seconds: 120 },
  rows: (split, { seed } = {}) =>
    // Dealt form by form, so that every part asks for every form.
    [...Map.groupBy(combinations(), formOf)].flatMap(([form, group]) =>
      splitGroups(group, split, `instructions ${form}`, seed).flatMap((names) =>
        combinationRows(names, rowsPerCombination),
      ),
    ),
  parseRow,
  problem: ({ instructions }) => {
    const asked = new Set(instructions.map(({ kind }) => kind));
    return kindNames.filter((name) => asked.has(name)).join("+");
  },
  prompt: promptMessages,
  start: (row) => oneTurnEpisode(row, (action) => scoreText(row, action)),
  solution: (row) => [{ role: "assistant", content: row.answer }],
  preference: (row) => ({
    chosen: [{ role: "assistant", content: row.answer }],
    rejected: [{ role: "assistant", content: likelyMistake(row) }],
  }),
  reference: (rows) => ({
    empty: 0,
    topic_word_alone:
      rows.reduce((sum, row) => sum + scoreText(row, textAction(topicWord(row))).reward, 0) / rows.length,
    best: 1,
  }),
  draw: (row) => `${promptText(row)}\n\nfor example:\n${row.answer}`,
};

function formOf(names: readonly KindName[]): string {
  return names.find((name) => kinds[name].family === "format") ?? "free";
}

function promptMessages(row: InstructionRow): ChatMessage[] {
  return [
    {
      role: "system",
      content: "Keep it short. Keep every instruction exactly. Answer with the text only.",
    },
    { role: "user", content: promptText(row) },
  ];
}

function promptText({ topic, instructions }: InstructionRow): string {
  return [`Write about the topic "${topic}".`, ...instructions.map((each) => kindOf(each).say(each.value))].join("\n");
}

export function scoreText(row: InstructionRow, { parsed, stopReason }: Action): Score {
  const text = parsed.content.trim();
  const cut = isCut(stopReason);
  const wordless = !/\p{L}/u.test(text);
  const kept = row.instructions.filter((instruction) => !cut && !wordless && holds(instruction, text));
  const onTopic = !cut && text.toLowerCase().includes(topicWord(row).toLowerCase());
  const all = kept.length === row.instructions.length;
  const broken = row.instructions.find((instruction) => !kept.includes(instruction));
  const violated = broken === undefined ? undefined : kindOf(broken).family;
  const failure = cut ? "truncated" : wordless ? "empty" : (violated ?? (onTopic ? undefined : "off_topic"));
  const outcomes: Record<string, boolean> = { all_kept: all, on_topic: onTopic };
  for (const instruction of row.instructions) {
    const { family } = kindOf(instruction);
    outcomes[family] = (outcomes[family] ?? true) && kept.includes(instruction);
  }
  return {
    ...weigh(rewardParts, {
      topic: Number(onTopic),
      instructions: kept.length / row.instructions.length,
      all: Number(all && onTopic),
    }),
    info: { ...(failure !== undefined && { failure }), outcomes },
  };
}

/** The answer with one instruction broken, as models break it. */
function likelyMistake({ id, instructions, answer }: InstructionRow): string {
  const instruction = new Random(id).pick(instructions);
  return kindOf(instruction).spoil(answer, instruction.value);
}
