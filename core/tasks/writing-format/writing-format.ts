/** Writing format: dashed-off notes rewritten in one house style, which is told by examples only. */

import type { ChatMessage } from "../../contract/chat.ts";
import { Random } from "../../contract/random.ts";
import type { RewardPart } from "../../contract/reward.ts";
import { isCut } from "../../text/parse-assistant.ts";
import { splitGroups } from "../split-groups.ts";
import { oneTurnEpisode, weigh, type Action, type FailureKind, type Score, type Task } from "../task.ts";
import { areaRows, areas, parseRow, spokenDate, type Deed, type NoteRow } from "./notes.ts";

/** A style is learned from a few dozen examples: nine areas of seven. */
const trainingRowsPerArea = 7;
const rowsPerArea = 14;

/** Each is a part of the reward: what it asks of the lines of an answer. */
const style = {
  heading: { weight: 0.1, rule: 'the first line is "STATUS: " and the project' },
  bullets: {
    weight: 0.15,
    rule: 'one line "- YYYY-MM-DD: …" for each thing done, by date, and no other line but heading, next and sign-off',
  },
  verb_first: { weight: 0.15, rule: "behind the date comes the verb, the name stands in brackets at the end" },
  next_line: { weight: 0.15, rule: 'a line "NEXT: …" follows the list' },
  sign_off: { weight: 0.1, rule: 'the last line is "-- the desk"' },
  calm: { weight: 0.05, rule: "no exclamation mark" },
} as const;
type StyleRule = keyof typeof style;
const styleRules = Object.keys(style) as StyleRule[];

const rewardParts: RewardPart[] = [
  ...styleRules.map((name) => ({ name, weight: style[name].weight, description: `1 when ${style[name].rule}` })),
  {
    name: "content",
    weight: 0.25,
    description: "share of the facts kept: project, dates, things done, names, what is next",
  },
  {
    name: "faithful",
    weight: 0.05,
    description: "1 when a fact is kept and no number stands there that the note does not have",
  },
];

const failures: Record<string, FailureKind> = {
  truncated: { meaning: "cut off by the token limit", group: "call" },
  empty: { meaning: "no words", group: "call" },
  ...Object.fromEntries(
    styleRules.map((name) => [name, { meaning: `style: not so that ${style[name].rule}`, group: "rules" }]),
  ),
  lost: { meaning: "in style, but a fact of the note is missing", group: "state" },
  invented: { meaning: "in style, but with a number that the note does not have", group: "state" },
};

export const writingFormat: Task<NoteRow> = {
  name: "writing-format",
  title: "House style",
  description: "Rewrite a note in a house style that is known from examples, and keep its facts.",
  tools: [],
  rewardParts,
  failures,
  outcomes: { styled: "every rule of the style kept", kept: "every fact kept", faithful: "nothing made up" },
  limits: { turns: 1, tokens: 192, seconds: 120 },
  rows: (split, { seed } = {}) =>
    splitGroups(Object.keys(areas), split, "writing-format", seed).flatMap((area) =>
      areaRows(area, split === "train" ? trainingRowsPerArea : rowsPerArea),
    ),
  parseRow,
  problem: (row) => row.area,
  prompt: ({ note }) => [
    { role: "system", content: "Rewrite the note as a status note in our house style." },
    { role: "user", content: note },
  ],
  start: (row) => oneTurnEpisode(row, (action) => scoreNote(row, action)),
  solution: (row) => [said(styled(row))],
  preference: (row) => ({ chosen: [said(styled(row))], rejected: [said(offStyle(row))] }),
  reference: (rows) => ({
    empty: 0,
    note_as_it_is: rows.reduce((sum, row) => sum + scoreContent(row, row.note).reward, 0) / rows.length,
    best: 1,
  }),
  draw: (row) => `${row.note}\n\nin house style:\n${styled(row)}`,
};

const signOff = "-- the desk";
const byDate = (deeds: readonly Deed[]) => deeds.toSorted((a, b) => (a.date < b.date ? -1 : 1));
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const said = (content: string): ChatMessage => ({ role: "assistant", content });

/** The note as it should be. */
function styled(row: NoteRow): string {
  return inStyle(row, byDate(row.deeds).map(bullet));
}

function bullet({ date, verb, what, who }: Deed): string {
  return `${date}: ${capital(verb)} ${what} (${who})`;
}

function inStyle({ project, next }: NoteRow, items: readonly string[]): string {
  return [`STATUS: ${project}`, ...items.map((item) => `- ${item}`), `NEXT: ${capital(next)}`, signOff].join("\n");
}

/** What models write instead: a friendly letter, or the style with one thing wrong. */
function offStyle(row: NoteRow): string {
  const { project, deeds, next } = row;
  const sentences = deeds.map(({ date, verb, what, who }) => `${who} ${verb} ${what} on ${spokenDate(date)}`);
  const sorted = byDate(deeds);
  return new Random(row.id).pick([
    `Hi team! Here is the status of ${project}: ${sentences.join(", and ")}. Next we will ${next}. Best regards!`,
    inStyle(row, sorted.toReversed().map(bullet)),
    inStyle(
      row,
      sorted.map(({ verb, what, who, date }) => `${date}: ${who} ${verb} ${what}`),
    ),
    inStyle(
      row,
      sorted.map((deed) => bullet({ ...deed, who: "team" })),
    ),
  ]);
}

export function scoreNote(row: NoteRow, { parsed, stopReason }: Action): Score {
  const cut = isCut(stopReason);
  return cut
    ? {
        ...weigh(rewardParts, {}),
        info: { failure: "truncated", outcomes: { styled: false, kept: false, faithful: false } },
      }
    : scoreContent(row, parsed.content.trim());
}

function scoreContent(row: NoteRow, text: string): Score {
  const wordless = !/\p{L}/u.test(text);
  const kept = facts(row).filter((forms) => forms.some((form) => text.toLowerCase().includes(form.toLowerCase())));
  const content = kept.length / facts(row).length;
  const faithful = kept.length > 0 && numbersIn(text).every((number) => knownNumbers(row).has(number));
  const rules = wordless ? undefined : rulesKept(row, text);
  const broken = styleRules.find((name) => rules?.[name] !== true);
  const failure = wordless ? "empty" : (broken ?? (content < 1 ? "lost" : faithful ? undefined : "invented"));
  return {
    ...weigh(rewardParts, {
      ...Object.fromEntries(styleRules.map((name) => [name, Number(rules?.[name] === true)])),
      content,
      faithful: Number(faithful),
    }),
    info: {
      ...(failure !== undefined && { failure }),
      outcomes: { styled: broken === undefined, kept: content === 1, faithful },
    },
  };
}

function rulesKept({ project, deeds }: NoteRow, text: string): Record<StyleRule, boolean> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const bullets = lines.filter((line) => line.startsWith("- "));
  const dated = bullets.map((line) => /^- (\d{4}-\d{2}-\d{2}): (.+)$/.exec(line));
  const dates = dated.map((found) => found?.[1]);
  const verbs = new Set(deeds.map(({ verb }) => capital(verb)));
  const next = lines.findIndex((line) => /^NEXT: \S/.test(line));
  const others = lines.length - bullets.length;
  return {
    heading: lines[0] === `STATUS: ${project}`,
    bullets:
      bullets.length === deeds.length &&
      others <= 3 &&
      dates.every((date, i) => date !== undefined && date >= (dates[i - 1] ?? "")),
    verb_first:
      dated.length > 0 &&
      dated.every((found) => found !== null && verbs.has(found[2].split(" ")[0]) && /\(\p{L}+\)$/u.test(found[2])),
    next_line: next > 0 && next > lines.findLastIndex((line) => line.startsWith("- ")),
    sign_off: lines.at(-1) === signOff,
    calm: !text.includes("!"),
  };
}

/** What has to be found in an answer, in one of its forms. */
function facts({ project, deeds, next }: NoteRow): string[][] {
  return [
    [project],
    [next],
    ...deeds.flatMap(({ date, verb, what, who }) => [[date, spokenDate(date)], [`${verb} ${what}`], [who]]),
  ];
}

const numbersIn = (text: string) => text.match(/\d+/g)?.map(Number) ?? [];

/** Those of the note, and the year and months of its dates. */
function knownNumbers({ note, deeds }: NoteRow): Set<number> {
  return new Set(numbersIn([note, ...deeds.map(({ date }) => date)].join(" ")));
}
