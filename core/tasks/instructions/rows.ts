/** Rows by seed: an answer is built first, and the instructions say what is true of it. */

import { HoneError } from "../../contract/errors.ts";
import { Random } from "../../contract/random.ts";
import { isRecord } from "../../contract/is-record.ts";
import { pythonJson } from "../../text/tool-format.ts";
import { agree, holds, kindNames, kindOf, tokensIn, wordsIn, type Instruction, type KindName } from "./kinds.ts";
import { languages, stock, topics, type Language } from "./phrases.ts";

export interface InstructionRow {
  id: string;
  topic: string;
  instructions: Instruction[];
  /** One answer that keeps all of them. */
  answer: string;
}

/** Combinations of three of which rows are made; there are many more. */
const triples = 110;

/** Every kind alone, every pair that agrees, and some of the triples, each as its names in a fixed order. */
export function combinations(): KindName[][] {
  const some = new Random("instructions").split("triples").shuffle(subsets(3).filter(agree)).slice(0, triples);
  return [...subsets(1), ...subsets(2).filter(agree), ...some];
}

/** In the order of `kindNames`. */
function subsets(size: number): KindName[][] {
  if (size === 0) return [[]];
  return subsets(size - 1).flatMap((names) =>
    kindNames
      .slice(names.length === 0 ? 0 : kindNames.indexOf(names[names.length - 1]) + 1)
      .map((name) => [...names, name]),
  );
}

/** Rows that ask for these kinds, all different, always the same ones. */
export function combinationRows(names: readonly KindName[], count: number): InstructionRow[] {
  const name = names.join("+");
  const random = new Random("instructions").split(name);
  const rows = new Map<string, InstructionRow>();
  while (rows.size < count) {
    const row = build(names, random);
    const key = pythonJson([row.topic, row.instructions]);
    if (!rows.has(key)) rows.set(key, { id: `${name}-${rows.size + 1}`, ...row });
  }
  return [...rows.values()];
}

/** Sentences first, then their form; numbers and words of the instructions are read off the answer. */
function build(names: readonly KindName[], random: Random): Omit<InstructionRow, "id"> {
  const asked = new Set(names);
  const topic = random.pick(Object.keys(topics));
  const language = asked.has("language") ? random.pick(["de", "fr", "es"] as const) : "en";
  const { word, sentences } = topics[topic][language];
  const phrases = stock[language];
  const most = asked.has("words") || asked.has("max_words") ? 2 : 3;
  const n = 1 + random.integer(most);
  // The first names the topic. A list, lines and paragraphs are of two or more.
  const least = names.some((kind) => ["lines", "paragraphs", "bullets", "numbered"].includes(kind)) ? 2 : 1;
  const units = [sentences[0], ...random.shuffle(sentences.slice(1)).slice(0, Math.max(n, least) - 1)];
  const [end, question] = [random.pick(phrases.ends), random.pick(phrases.questions)];
  const start = random.pick(phrases.starts);
  if (asked.has("start_with")) units[0] = `${start} ${units[0].charAt(0).toLowerCase()}${units[0].slice(1)}`;
  if (asked.has("placeholder")) units.push(phrases.dedication);
  if (asked.has("end_with")) units.push(end);
  if (asked.has("question")) units.push(question);
  const keys = random.pick([
    ["title", "text"],
    ["topic", "note"],
    ["name", "summary"],
  ]);
  const answer = cased(asked, formed(asked, units, word, keys));
  const used = tokensIn(answer);
  const content = used.filter((found) => found.length > 3 && found !== word.toLowerCase() && found !== "name");
  const absent = sentences.flatMap(tokensIn).filter((found) => found.length > 2 && !used.includes(found));
  const wordCount = wordsIn(answer).length;
  const values: Record<KindName, Instruction["value"]> = {
    sentences: units.length,
    words: wordCount,
    max_words: 5 * Math.ceil((wordCount + random.integer(5)) / 5),
    lines: units.length,
    paragraphs: units.length,
    bullets: units.length,
    numbered: units.length,
    json: keys,
    title: "",
    start_with: start,
    end_with: end,
    include: asked.has("include") ? random.pick(content) : "",
    exclude: asked.has("exclude") ? random.pick(absent.length > 0 ? absent : ["nice"]) : "",
    placeholder: "[name]",
    lowercase: "",
    uppercase: "",
    no_commas: "",
    question: "",
    language,
  };
  const instructions = random.shuffle(names).map((kind) => ({ kind, value: values[kind] }));
  return { topic, instructions, answer };
}

function formed(asked: ReadonlySet<KindName>, units: readonly string[], word: string, keys: readonly string[]): string {
  const title = word.charAt(0).toUpperCase() + word.slice(1);
  if (asked.has("lines")) return units.join("\n");
  if (asked.has("paragraphs")) return units.join("\n\n");
  if (asked.has("bullets")) return units.map((unit) => `- ${unit}`).join("\n");
  if (asked.has("numbered")) return units.map((unit, i) => `${i + 1}. ${unit}`).join("\n");
  const text = units.join(" ");
  if (asked.has("json")) return pythonJson({ [keys[0]]: title, [keys[1]]: text });
  return asked.has("title") ? `<<${title}>>\n${text}` : text;
}

function cased(asked: ReadonlySet<KindName>, text: string): string {
  if (asked.has("lowercase")) return text.toLowerCase();
  return asked.has("uppercase") ? text.toUpperCase() : text;
}

/** The topic's word in the language that the row asks for. */
export function topicWord({ topic, instructions }: Pick<InstructionRow, "topic" | "instructions">): string {
  const asked = instructions.find(({ kind }) => kind === "language")?.value;
  return topics[topic][(asked ?? "en") as Language].word;
}

/** Checks a row of a file, its answer too. Throws `HoneError` `bad-row`. */
export function parseRow(value: unknown): InstructionRow {
  const row = isRecord(value) ? value : {};
  const fail = (what: string): never => {
    throw new HoneError("bad-row", `row ${typeof row.id === "string" ? row.id : "without id"}: ${what}`, {
      fix: 'a row is {"id": "a", "topic": "rain", "instructions": [{"kind": "lines", "value": 2}], "answer": "…"}',
    });
  };
  const { id, topic, answer } = row;
  if (typeof id !== "string" || id === "") return fail("id is not a text");
  if (typeof topic !== "string" || !Object.hasOwn(topics, topic)) {
    return fail(`topic is none of ${Object.keys(topics).join(", ")}`);
  }
  if (typeof answer !== "string") return fail("answer is not a text");
  if (!Array.isArray(row.instructions) || row.instructions.length === 0) return fail("instructions is not a list");
  const instructions = row.instructions.map((given: unknown): Instruction => {
    const { kind, value: about } = isRecord(given) ? given : {};
    const name = kindNames.find((known) => known === kind) ?? fail(`kind is none of ${kindNames.join(", ")}`);
    if (!isValue(name, about)) return fail(`${name} cannot have the value ${pythonJson(about)}`);
    return { kind: name, value: about };
  });
  const broken = instructions.find((instruction) => !holds(instruction, answer));
  if (broken !== undefined) fail(`the answer does not keep: ${kindOf(broken).say(broken.value)}`);
  return { id, topic, instructions, answer };
}

function isValue(kind: KindName, value: unknown): value is Instruction["value"] {
  if (kind === "json") return Array.isArray(value) && value.every((key) => typeof key === "string");
  if (kind === "language") return typeof value === "string" && Object.hasOwn(languages, value);
  const counts = ["sentences", "words", "max_words", "lines", "paragraphs", "bullets", "numbered"];
  return counts.includes(kind) ? Number.isInteger(value) && Number(value) > 0 : typeof value === "string";
}
