/** What a record means: the row that training sees, or why there is none. */

import type { ChatMessage } from "../contract/chat.ts";
import type { DataEntry, DataRow } from "../contract/data.ts";
import { HoneError } from "../contract/errors.ts";
import { nearest } from "../contract/nearest.ts";
import { applyMap, formOf, forms, readLabel, suggestMapping, type Form, type Reading } from "./forms.ts";
import { pathName } from "./parse-json.ts";
import { badRow, kindOf, readList, readMessages, readTools, requireOrder, tooBig, type Note } from "./read-messages.ts";
import type { RawRecord } from "./source.ts";

/** The row, or why it is set aside. */
export function understand(raw: RawRecord, reading: Reading, note: Note = () => undefined): DataEntry {
  try {
    return readRow(raw, reading, note);
  } catch (error) {
    if (error instanceof HoneError && error.code === "bad-row") return { place: raw.place, reason: error.message };
    throw error;
  }
}

/** Throws `bad-row`. */
function readRow({ record, place, bigIntegers, notes }: RawRecord, reading: Reading, note: Note): DataRow {
  const { fields, columnOf } = applyMap(record, reading);
  const own = formOf(fields, reading.map);
  const main = forms.find(({ name }) => name === reading.main);
  if (own === undefined) throw shapeless(fields, record, main, columnOf);
  // A prompt alone is a whole row for a reward, and half a row among answers.
  const isHalf = own.name === "prompt" && main !== undefined && main.name !== "prompt";
  if (isHalf && [...main.keys.flat(), ...main.optional].includes("prompt")) {
    throw shapeless(fields, record, main, columnOf);
  }
  const used = new Set([...own.keys.flat(), ...own.optional].filter((field) => Object.hasOwn(fields, field)));
  const kept = new Set([...used].map(columnOf));
  // The second name of an answer is a column like any other when the first is there.
  if (used.has("completion")) kept.delete(columnOf("response"));
  for (const { path, digits } of bigIntegers) {
    if (kept.has(String(path[0]))) throw tooBig(pathName(path), digits);
    note(`${pathName(path.slice(0, 1))}: a whole number beyond 2^53, kept exactly as text`);
  }
  for (const text of notes) note(text);
  const columns = Object.fromEntries(Object.entries(record).filter(([column]) => !kept.has(column)));
  const names = (field: string) => columnOf(field);
  const body = readBody(own.name, fields, names, reading.jsonText, note);
  const tools = used.has("tools") ? readTools(fields["tools"], names("tools")) : [];
  return { ...body, place, columns, ...(tools.length > 0 && { tools }) };
}

/** Why a record that lacks keys of the file's form is no row. */
function shapeless(
  fields: Record<string, unknown>,
  record: Record<string, unknown>,
  main: Form | undefined,
  columnOf: (field: string) => string,
): HoneError {
  if (main === undefined) {
    const columns = Object.keys(record);
    if (columns.length === 0) return badRow("the row is empty; give it a field");
    const suggestion = suggestMapping(columns) ?? "--map prompt=COLUMN,completion=COLUMN";
    return badRow(`none of its fields (${columns.join(", ")}) says what it is for; name them with ${suggestion}`);
  }
  const missing = main.keys.filter((keys) => !keys.some((key) => Object.hasOwn(fields, key)));
  const wanted = missing.length > 0 ? missing.map(([key]) => columnOf(key)) : [columnOf(main.keys[0][0])];
  const near = wanted.flatMap((name) => {
    const found = nearest(name, Object.keys(record));
    return found === undefined || found === name ? [] : [` (it has ${JSON.stringify(found)})`];
  });
  const verb = wanted.length === 1 ? "is" : "are";
  return badRow(
    `${wanted.join(" and ")} ${verb} missing${near[0] ?? ""}; every ${main.name} row needs ${main.keys.map(([key]) => columnOf(key)).join(", ")}`,
  );
}

type Body = DataRow extends infer R ? (R extends DataRow ? Omit<R, "place" | "columns" | "tools"> : never) : never;

function readBody(
  form: string,
  fields: Record<string, unknown>,
  name: (field: string) => string,
  jsonText: boolean | undefined,
  note: Note,
): Body {
  const field = (key: string) => fields[key];
  const said = (key: string, role: string) => readSaid(field(key), name(key), role, jsonText, note);
  const answerKey = field("completion") === undefined ? "response" : "completion";
  switch (form) {
    case "tokens":
      return readTokens(fields, name);
    case "preference":
      return readPreference(fields, name, jsonText, note);
    case "messages":
    case "sharegpt": {
      const key = form === "messages" ? "messages" : "conversations";
      const messages = withSystem(readMessages(field(key), name(key), note), field("system"));
      requireOrder(messages, name(key));
      if (!messages.some(({ role }) => role === "assistant")) {
        throw badRow(
          `${name(key)} has no assistant message to train on; if these are prompts, use --map prompt=${name(key)}`,
        );
      }
      if (messages.at(-1)?.role !== "assistant")
        note("the last message is not the assistant's, so nothing of it is trained");
      return { shape: "messages", messages };
    }
    case "label":
    case "completion": {
      const prompt = readPrompt(fields, name, jsonText, note);
      const completion = readAnswer(said(answerKey, "assistant"), name(answerKey), note);
      requireOrder([...prompt, ...completion], name(answerKey));
      if (form === "completion") return { shape: "completion", prompt, completion };
      return { shape: "label", prompt, completion, label: readLabel(field("label")) === true };
    }
    case "alpaca": {
      const [instruction, output] = [
        requireText(field("instruction"), name("instruction")),
        requireText(field("output"), name("output")),
      ];
      const input = field("input") === undefined ? "" : requireText(field("input"), name("input"));
      const asked = [instruction, input].filter((text) => text.trim() !== "").join("\n\n");
      if (asked === "") throw badRow(`${name("instruction")} is empty; give it text`);
      const earlier = field("history") === undefined ? [] : readHistory(field("history"), name("history"));
      const prompt = withSystem([...earlier, { role: "user", content: asked }], field("system"));
      return {
        shape: "completion",
        prompt,
        completion: readAnswer([{ role: "assistant", content: output }], name("output"), note),
      };
    }
    case "prompt":
      return { shape: "prompt", prompt: readPrompt(fields, name, jsonText, note) };
    case "text": {
      const text = requireText(field("text"), name("text"));
      if (text.trim() === "") throw badRow(`${name("text")} is empty; there is nothing to train on`);
      return { shape: "text", text };
    }
    default:
      throw new Error(`no reader for the form ${form}`);
  }
}

function requireText(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  throw badRow(`${field} is ${kindOf(value)}; it must be text`);
}

/** Text as one message of `role`, or a list of messages. Where it must be text such a list stands as JSON. */
function readSaid(
  value: unknown,
  field: string,
  role: string,
  jsonText: boolean | undefined,
  note: Note,
): ChatMessage[] {
  if (Array.isArray(value)) return readMessages(value, field, note);
  if (typeof value !== "string") throw badRow(`${field} is ${kindOf(value)}; it must be text or a list of messages`);
  if (jsonText && /^\s*\[\s*\{\s*["'](role|from|content|value)["']\s*:/.test(value))
    return readMessages(value, field, note);
  return [{ role, content: value }];
}

function readPrompt(
  fields: Record<string, unknown>,
  name: (field: string) => string,
  jsonText: boolean | undefined,
  note: Note,
): ChatMessage[] {
  const prompt = readSaid(fields["prompt"], name("prompt"), "user", jsonText, note);
  requireOrder(prompt, name("prompt"));
  if (prompt.at(-1)?.role === "assistant") {
    throw badRow(`${name("prompt")} ends with an assistant message; move it to the answer`);
  }
  if (prompt.every(({ content, tool_calls }) => isEmpty(content) && tool_calls === undefined)) {
    throw badRow(`${name("prompt")} is empty; give it text`);
  }
  return withSystem(prompt, fields["system"]);
}

function readAnswer(messages: ChatMessage[], field: string, note: Note): ChatMessage[] {
  if (messages[0].role !== "assistant")
    throw badRow(`${field}[0] is of ${messages[0].role}; an answer begins with the assistant`);
  if (answerIsEmpty(messages)) note("an answer is empty");
  return messages;
}

/** Nothing that an assistant says or does. */
export function answerIsEmpty(messages: readonly ChatMessage[]): boolean {
  return messages
    .filter(({ role }) => role === "assistant")
    .every(
      ({ content, tool_calls, reasoning_content }) => isEmpty(content) && !tool_calls?.length && !reasoning_content,
    );
}

function isEmpty(content: ChatMessage["content"]): boolean {
  return typeof content !== "string" || content.trim() === "";
}

/** A system text in a column of its own goes first, unless the messages have one. */
function withSystem(messages: ChatMessage[], system: unknown): ChatMessage[] {
  if (typeof system !== "string" || system.trim() === "" || messages[0]?.role === "system") return messages;
  return [{ role: "system", content: system }, ...messages];
}

/** Alpaca's earlier turns: pairs of question and answer. */
function readHistory(value: unknown, field: string): ChatMessage[] {
  return readList(value, field).flatMap((pair, i) => {
    if (!Array.isArray(pair) || pair.length !== 2) throw badRow(`${field}[${i}] must be a pair [question, answer]`);
    return [
      { role: "user", content: requireText(pair[0], `${field}[${i}][0]`) },
      { role: "assistant", content: requireText(pair[1], `${field}[${i}][1]`) },
    ];
  });
}

/** Two answers to one prompt: the prompt stands alone, or as what both conversations begin with. */
function readPreference(
  fields: Record<string, unknown>,
  name: (field: string) => string,
  jsonText: boolean | undefined,
  note: Note,
): Body {
  const [whole, other] = ["chosen", "rejected"].map((key) =>
    readSaid(fields[key], name(key), "assistant", jsonText, note),
  );
  let shared = 0;
  while (shared < Math.min(whole.length, other.length) && isSame(whole[shared], other[shared])) shared++;
  if (shared === whole.length && shared === other.length) {
    throw badRow(`${name("chosen")} and ${name("rejected")} are the same; nothing can be learned from them`);
  }
  const inside = whole[0].role !== "assistant" || other[0].role !== "assistant";
  if (!inside && fields["prompt"] === undefined) {
    throw badRow(`${name("prompt")} is missing; give it beside ${name("chosen")} and ${name("rejected")}`);
  }
  if (inside && shared === 0) {
    throw badRow(`${name("chosen")} and ${name("rejected")} begin differently; both must begin with the same prompt`);
  }
  // Answers may themselves begin alike; the prompt ends before the first thing that the assistant says last.
  while (shared > 0 && (whole[shared]?.role !== "assistant" || other[shared]?.role !== "assistant")) shared--;
  const prompt = inside
    ? withSystem(whole.slice(0, shared), fields["system"])
    : readPrompt(fields, name, jsonText, note);
  if (prompt.length === 0)
    throw badRow(`${name("chosen")} and ${name("rejected")} must share a prompt and go on with the assistant`);
  const from = inside ? shared : 0;
  const chosen = readAnswer(whole.slice(from), name("chosen"), note);
  const rejected = readAnswer(other.slice(from), name("rejected"), note);
  requireOrder([...prompt, ...chosen], name("chosen"));
  requireOrder([...prompt, ...rejected], name("rejected"));
  return { shape: "preference", prompt, chosen, rejected };
}

function isSame(a: ChatMessage, b: ChatMessage): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** AReno's rows of ids: `prompt_mask` marks the prompt, `loss_mask` what is trained (default: what is no prompt). */
function readTokens(fields: Record<string, unknown>, name: (field: string) => string): Body {
  const ids = (key: string, most: number) => {
    const list = readList(fields[key], name(key));
    list.forEach((id, i) => {
      const bit = typeof id === "boolean" ? Number(id) : id;
      if (typeof bit === "number" && Number.isInteger(bit) && bit >= 0 && bit <= most) return;
      throw badRow(`${name(key)}[${i}] is ${JSON.stringify(id)}; it must be ${most === 1 ? "0 or 1" : "a token id"}`);
    });
    return list.map(Number);
  };
  const tokens = ids("tokens", 2 ** 31 - 1);
  const key = fields["loss_mask"] === undefined ? "prompt_mask" : "loss_mask";
  const mask = ids(key, 1);
  if (mask.length !== tokens.length) {
    throw badRow(`${name(key)} has ${mask.length} entries for ${tokens.length} tokens; give one for each`);
  }
  const loss_mask = key === "loss_mask" ? mask : mask.map((bit) => 1 - bit);
  if (!loss_mask.includes(1)) throw badRow(`${name(key)} leaves no token to train on`);
  return { shape: "tokens", tokens, loss_mask };
}
