/** Structured extraction: a short text, and the fields of it as one JSON object. */

import { Ajv, type ValidateFunction } from "ajv";
import type { ChatMessage } from "../../contract/chat.ts";
import { HoneError } from "../../contract/errors.ts";
import { Random } from "../../contract/random.ts";
import type { RewardPart } from "../../contract/reward.ts";
import { isRecord } from "../../contract/is-record.ts";
import { jsonIn } from "../../text/strict-json.ts";
import { pythonJson } from "../../text/tool-format.ts";
import { isCut } from "../../text/parse-assistant.ts";
import { splitGroups } from "../split-groups.ts";
import { oneTurnEpisode, textAction, weigh, type Action, type FailureKind, type Score, type Task } from "../task.ts";
import { documents, type DocumentKind } from "./documents.ts";
import type { FieldValue } from "./fields.ts";

export interface ExtractionRow {
  id: string;
  /** One of the kinds of documents. */
  document: string;
  /** Which wording it is of: rows of one wording stay in one part. */
  wording: string;
  text: string;
  answer: Record<string, FieldValue | null>;
}

const rowsPerWording = 26;

const rewardParts: RewardPart[] = [
  { name: "json", weight: 0.1, description: "1 for one JSON object and nothing around it" },
  { name: "schema", weight: 0.2, description: "1 when the schema accepts the object" },
  { name: "fields", weight: 0.7, description: "share of the fields that are right, among those wanted or given" },
];

const failures = {
  truncated: { meaning: "cut off by the token limit", group: "call" },
  no_json: { meaning: "no JSON object", group: "call" },
  text_around: { meaning: "text before or after the JSON object", group: "call" },
  wrong_fields: { meaning: "a field of the schema is missing, or there is one too many", group: "rules" },
  wrong_form: { meaning: "a value of another type or form than the schema has", group: "rules" },
  invented: { meaning: "a value where the text gives none", group: "state" },
  overlooked: { meaning: "null where the text gives a value", group: "state" },
  wrong_value: { meaning: "a value that the text does not give", group: "state" },
  misplaced: { meaning: "a value that the text gives for something else", group: "choice" },
} as const satisfies Record<string, FailureKind>;
type Failure = keyof typeof failures;

export const extraction: Task<ExtractionRow> = {
  name: "extraction",
  title: "Structured extraction",
  description: "Read the fields of a schema out of a short text, as one JSON object.",
  tools: [],
  rewardParts,
  failures,
  outcomes: {
    exact: "all fields right",
    json: "one JSON object, nothing else",
    schema: "objects that the schema accepts",
    left_open: "null for what the text does not give",
  },
  limits: { turns: 1, tokens: 160, seconds: 120 },
  rows: (split, { seed } = {}) =>
    Object.entries(documents).flatMap(([document, { texts }]) =>
      splitGroups([...texts.keys()], split, `extraction ${document}`, seed).flatMap((i) => wordingRows(document, i)),
    ),
  parseRow,
  problem: (row) => row.wording,
  prompt: promptMessages,
  start: (row) => oneTurnEpisode(row, (action) => scoreExtraction(row, action)),
  solution: (row) => [{ role: "assistant", content: pythonJson(row.answer) }],
  preference: (row) => ({
    chosen: [{ role: "assistant", content: pythonJson(row.answer) }],
    rejected: [{ role: "assistant", content: likelyMistake(row) }],
  }),
  reference: (rows) => ({
    no_json: 0,
    all_null: rows.reduce((sum, row) => sum + allNullReward(row), 0) / rows.length,
    best: 1,
  }),
  draw: (row) =>
    [row.text, "", ...Object.entries(row.answer).map(([name, v]) => `${name.padEnd(10)} ${pythonJson(v)}`)].join("\n"),
};

/** Rows of one wording, all different, always the same ones. */
function wordingRows(document: string, index: number): ExtractionRow[] {
  const wording = `${document}-${index + 1}`;
  const random = new Random("extraction").split(wording);
  const texts = new Map<string, ExtractionRow>();
  while (texts.size < rowsPerWording) {
    const { text, answer } = fill(documents[document], documents[document].texts[index], random);
    if (!texts.has(text)) texts.set(text, { id: `${wording}-${texts.size + 1}`, document, wording, text, answer });
  }
  return [...texts.values()];
}

/** A third of the texts leave out what stands in brackets. */
function fill({ fields, others }: DocumentKind, template: string, random: Random) {
  const open = random.integer(3) === 0;
  const said = open ? template.replace(/\[[^\]]*\{[^\]]*\]/, "") : template;
  const values = new Map(Object.entries({ ...fields, ...others }).map(([name, field]) => [name, field.draw(random)]));
  const text = said.replace(/[[\]]/g, "").replace(/\{(\w+)\}/g, (_, name: string) => values.get(name)?.said ?? "");
  const given = (name: string) => (said.includes(`{${name}}`) ? (values.get(name)?.value ?? null) : null);
  return {
    text,
    answer: Object.fromEntries(Object.keys(fields).map((name) => [name, given(name)])),
  };
}

function promptMessages({ document, text }: ExtractionRow): ChatMessage[] {
  const fields = Object.entries(documents[document].fields).map(([name, { type }]) => `"${name}": ${type}`);
  return [
    {
      role: "system",
      content:
        "Answer with one JSON object and nothing else. Dates are YYYY-MM-DD, times HH:MM (24 hours), " +
        "numbers plain digits. A field that the text does not give is null.",
    },
    { role: "user", content: `Text: ${text}\n\nFill in: {${fields.join(", ")}}` },
  ];
}

export function scoreExtraction(row: ExtractionRow, { parsed, stopReason }: Action): Score {
  const cut = isCut(stopReason);
  const read = cut ? ("truncated" as const) : readObject(parsed.content);
  if (typeof read === "string")
    return { ...weigh(rewardParts, {}), info: { failure: read, outcomes: outcomesOf(row) } };
  const accepted = validatorOf(row.document)(read);
  const names = new Set([...Object.keys(row.answer), ...Object.keys(read)]);
  const right = [...names].filter((name) => isRight(row, read, name));
  const failure = accepted ? wrongValue(row, read) : wrongForm(row, read);
  return {
    ...weigh(rewardParts, { json: 1, schema: Number(accepted), fields: right.length / names.size }),
    info: { ...(failure !== undefined && { failure }), outcomes: outcomesOf(row, read, accepted) },
  };
}

function isRight({ answer }: ExtractionRow, given: Record<string, unknown>, name: string): boolean {
  return Object.hasOwn(answer, name) && Object.hasOwn(given, name) && answer[name] === given[name];
}

/** The object that is the whole text. Repeated fields are no JSON. */
function readObject(text: string): Record<string, unknown> | Failure {
  const read = jsonIn(text, text.indexOf("{"));
  if (!isRecord(read?.value)) return "no_json";
  return read.around ? "text_around" : read.value;
}

function wrongForm({ answer }: ExtractionRow, given: Record<string, unknown>): Failure {
  const same = Object.keys(answer).every((name) => Object.hasOwn(given, name));
  return same && Object.keys(given).length === Object.keys(answer).length ? "wrong_form" : "wrong_fields";
}

/** Of the first field that is wrong. */
function wrongValue(row: ExtractionRow, given: Record<string, unknown>): Failure | undefined {
  const name = Object.keys(row.answer).find((field) => !isRight(row, given, field));
  if (name === undefined) return undefined;
  const value = given[name];
  if (value === null) return "overlooked";
  if (saidElsewhere(row, name, value)) return "misplaced";
  return row.answer[name] === null ? "invented" : "wrong_value";
}

function saidElsewhere(row: ExtractionRow, name: string, value: unknown): boolean {
  if (Object.entries(row.answer).some(([field, other]) => field !== name && other === value)) return true;
  return (typeof value === "string" || typeof value === "number") && row.text.includes(String(value));
}

function outcomesOf(row: ExtractionRow, given?: Record<string, unknown>, accepted = false): Record<string, boolean> {
  const open = Object.keys(row.answer).filter((name) => row.answer[name] === null);
  const exact = given !== undefined && accepted && wrongValue(row, given) === undefined;
  return {
    exact,
    json: given !== undefined,
    schema: accepted,
    ...(open.length > 0 && { left_open: given !== undefined && open.every((name) => given[name] === null) }),
  };
}

const ajv = new Ajv({ strict: false });
const validators = new Map<string, ValidateFunction>();

function validatorOf(document: string): ValidateFunction {
  let validate = validators.get(document);
  if (validate === undefined) {
    const { fields } = documents[document];
    validate = ajv.compile({
      type: "object",
      properties: Object.fromEntries(
        Object.entries(fields).map(([name, { schema }]) => [name, { anyOf: [schema, { type: "null" }] }]),
      ),
      required: Object.keys(fields),
      additionalProperties: false,
    });
    validators.set(document, validate);
  }
  return validate;
}

/** What models do: an introduction and a code fence, or one value in a form of its own or made up. */
function likelyMistake(row: ExtractionRow): string {
  const random = new Random(row.id);
  const open = Object.keys(row.answer).filter((name) => row.answer[name] === null);
  const name = random.pick(open.length > 0 ? open : Object.keys(row.answer));
  const wrong = open.length > 0 ? "unknown" : null;
  const spoilt = pythonJson({ ...row.answer, [name]: wrong });
  return random.pick([`Here is the JSON object:\n\`\`\`json\n${pythonJson(row.answer)}\n\`\`\``, spoilt, spoilt]);
}

function allNullReward(row: ExtractionRow): number {
  const object = Object.fromEntries(Object.keys(row.answer).map((name) => [name, null]));
  return scoreExtraction(row, textAction(pythonJson(object))).reward;
}

/** Checks a row of a file. Throws `HoneError` `bad-row`. */
export function parseRow(value: unknown): ExtractionRow {
  const row = isRecord(value) ? value : {};
  const fail = (what: string): never => {
    throw new HoneError("bad-row", `row ${typeof row.id === "string" ? row.id : "without id"}: ${what}`, {
      fix: 'a row is {"id": "a", "document": "order", "wording": "mine", "text": "…", "answer": {"customer": "…", "item": "…", "quantity": 2, "due": null}}',
    });
  };
  const text = (key: string) => {
    const given = row[key];
    return typeof given === "string" && given !== "" ? given : fail(`${key} is not a text`);
  };
  const document = text("document");
  if (!Object.hasOwn(documents, document)) fail(`document is none of ${Object.keys(documents).join(", ")}`);
  const validate = validatorOf(document);
  if (!validate(row.answer)) fail(`the answer does not fit the schema: ${ajv.errorsText(validate.errors)}`);
  const answer = row.answer as ExtractionRow["answer"];
  return { id: text("id"), document, wording: text("wording"), text: text("text"), answer };
}
