/**
 * The control: a small set that has nothing to do with any task, measured before and after, so that a gain in the task
 * that was bought with a loss elsewhere is seen. Two halves: how likely plain English texts are, and how many simple
 * instructions with a checkable result are followed. Texts and instructions stand in `assets/control/`.
 */

import { join } from "node:path";
import { z } from "zod";
import { HoneError } from "../contract/errors.ts";
import type { Control, ControlChange, Interval } from "../contract/eval.ts";
import { deriveSeed, type Seed } from "../contract/random.ts";
import { formatPercent } from "../contract/units.ts";
import type { Model } from "../engine/types.ts";
import type { TokenRow } from "../engine/micro-batches.ts";
import { readRows } from "../files/json.ts";
import { seededInterval } from "./bootstrap.ts";
import type { Policy } from "./policy-types.ts";
import { scoreRows } from "./score-rows.ts";
import { tokenLoss } from "./solution-loss.ts";
import type { TextChat } from "./text-chat.ts";

const folder = join(import.meta.dirname, "..", "..", "assets", "control");

const textSchema = z.strictObject({ id: z.string(), text: z.string().min(1) });

/** Everything that is named must hold. Words are what white space separates. */
const checkSchema = z.strictObject({
  /** The whole answer is one of these, letter case and marks around it aside. */
  equals: z.array(z.string()).optional(),
  contains: z.array(z.string()).optional(),
  excludes: z.array(z.string()).optional(),
  starts_with: z.string().optional(),
  ends_with: z.string().optional(),
  /** A regular expression, over lines and whatever the letter case. */
  matches: z.string().optional(),
  min_words: z.number().optional(),
  max_words: z.number().optional(),
  sentences: z.number().optional(),
  /** That are not empty. */
  lines: z.number().optional(),
  commas: z.number().optional(),
  uppercase: z.literal(true).optional(),
  lowercase: z.literal(true).optional(),
  /** The answer is a JSON object that has these keys. */
  json_keys: z.array(z.string()).optional(),
});
export type Check = z.infer<typeof checkSchema>;
const instructionSchema = z.strictObject({ id: z.string(), prompt: z.string().min(1), check: checkSchema });

/** Tokens that an answer may take: the longest instruction asks for 30 words. */
const answerTokens = 96;

export function controlTexts(): z.infer<typeof textSchema>[] {
  return readRows(join(folder, "texts.jsonl"), textSchema);
}

export function controlInstructions(): z.infer<typeof instructionSchema>[] {
  return readRows(join(folder, "instructions.jsonl"), instructionSchema);
}

export interface ControlSource {
  model: Model;
  policy: Policy;
  chat: Pick<TextChat, "encodeText">;
}

/** Texts that are longer than the model can read are cut. Answers are greedy, so that only the weights change them. */
export async function measureControl(
  { model, policy, chat }: ControlSource,
  { seed, signal }: { seed: Seed; signal?: AbortSignal },
): Promise<Control> {
  const texts = controlTexts();
  const longest = model.info().contextLength;
  const rows = texts.map(({ text }) => textRow(chat.encodeText(text).slice(0, longest)));
  const stopping = signal === undefined ? {} : { signal };
  const scores = await scoreRows((batch) => model.forward(batch), rows, stopping);

  const instructions = controlInstructions();
  const replies = await policy.answer(
    instructions.map(({ id, prompt }) => ({
      messages: [{ role: "user", content: prompt }],
      tools: [],
      seed: deriveSeed(seed, "control", id),
    })),
    { temperature: 0, maxTokens: answerTokens, ...stopping },
  );
  const answers = instructions.map(({ id, check }, i) => {
    const text = replies[i].parsed.content.trim();
    return { id, text, followed: follows(text, check) };
  });
  const loss = tokenLoss(
    texts.map(({ id }, i) => ({ problem: id, ...scores[i] })),
    seed,
    "control text",
  );
  return {
    text_loss: loss ?? empty(),
    blind_loss: Math.log(model.info().vocabSize),
    instructions: interval(
      answers.map(({ followed }) => Number(followed)),
      seed,
      "control instructions",
    ),
    texts: texts.map(({ id }, i) => ({ id, ...scores[i] })),
    answers,
  };
}

/** The first token has nothing before it. */
function textRow(ids: readonly number[]): TokenRow {
  return {
    promptIds: Int32Array.from(ids.slice(0, 1)),
    ids: Int32Array.from(ids.slice(1)),
    mask: new Uint8Array(Math.max(0, ids.length - 1)).fill(1),
  };
}

/** After minus before, text by text and instruction by instruction. Throws `HoneError` `not-paired`. */
export function compareControl(before: Control, after: Control, seed: Seed): ControlChange {
  const texts = pair(before.texts, after.texts);
  const answers = pair(before.answers, after.answers);
  const clusters = texts.map(([a, b]) => ({ sum: a.logprob - b.logprob, count: b.tokens }));
  return {
    text_loss: seededInterval(clusters, seed, "control change text") ?? empty(),
    instructions: interval(
      answers.map(([a, b]) => Number(b.followed) - Number(a.followed)),
      seed,
      "control change instructions",
    ),
  };
}

function pair<T extends { id: string }>(before: readonly T[], after: readonly T[]): [T, T][] {
  const earlier = new Map(before.map((one) => [one.id, one]));
  return after.map((one) => {
    const first = earlier.get(one.id);
    if (first !== undefined && before.length === after.length) return [first, one];
    throw new HoneError("not-paired", "the two controls did not measure the same set", {
      fix: "measure both models with the same version of Hone",
    });
  });
}

function interval(values: readonly number[], seed: Seed, name: string): Interval {
  return (
    seededInterval(
      values.map((sum) => ({ sum, count: 1 })),
      seed,
      name,
    ) ?? empty()
  );
}

function empty(): never {
  throw new Error("the control set is empty");
}

/** Rise of the loss per token that is called a loss: about 2 % in perplexity. */
const textMargin = 0.02;
/** A model whose loss is above this share of a blind guess knows no general text. */
const knowsNothing = 0.6;

/**
 * What the control says, in one sentence. `gained`: whether the task got better beyond doubt. A change counts when its
 * whole interval is on one side.
 */
export function controlSentence(before: Control, change: ControlChange, gained: boolean): string {
  const rise = change.text_loss;
  const losses: string[] = [];
  if (rise.lo > textMargin) losses.push(`unrelated texts cost ${rise.mean.toFixed(2)} more per token`);
  if (change.instructions.hi < 0) {
    losses.push(`${formatPercent(-change.instructions.mean)} fewer simple instructions are followed`);
  }
  if (before.text_loss.mean > knowsNothing * before.blind_loss && before.instructions.mean < 0.1) {
    return (
      "The control says little here: the model knew no general text and followed no simple instruction before " +
      `(loss ${before.text_loss.mean.toFixed(1)} per token, a blind guess has ${before.blind_loss.toFixed(1)}), so there was nothing to lose.`
    );
  }
  if (losses.length > 0) {
    const what = losses.join(", and ");
    return gained
      ? `The gain was bought with a loss elsewhere: ${what} than before.`
      : `Something was lost elsewhere: ${what} than before.`;
  }
  return "No loss is seen elsewhere: unrelated texts and simple instructions fare as before, as far as so small a set can tell.";
}

export function follows(answer: string, check: Check): boolean {
  const text = answer.trim();
  const lower = text.toLowerCase();
  const words = text.split(/\s+/).filter((word) => word !== "");
  const plain = lower.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
  const has = (part: string) => lower.includes(part.toLowerCase());
  const letters = /\p{L}/u.test(text);
  const checks: Record<keyof Check, () => boolean> = {
    equals: () => (check.equals ?? []).some((one) => plain === one.toLowerCase().replace(/[^\p{L}\p{N}]+$/u, "")),
    contains: () => (check.contains ?? []).every(has),
    excludes: () => !(check.excludes ?? []).some(has),
    starts_with: () => text.startsWith(check.starts_with ?? ""),
    ends_with: () => text.endsWith(check.ends_with ?? ""),
    matches: () => new RegExp(check.matches ?? "", "imu").test(text),
    min_words: () => words.length >= (check.min_words ?? 0),
    max_words: () => words.length <= (check.max_words ?? 0),
    sentences: () => (text.match(/[.!?]+(?=["”')]*(\s|$))/g) ?? []).length === check.sentences,
    lines: () => text.split("\n").filter((line) => line.trim() !== "").length === check.lines,
    commas: () => text.split(",").length - 1 === check.commas,
    uppercase: () => letters && text === text.toUpperCase(),
    lowercase: () => letters && text === lower,
    json_keys: () => jsonHas(text, check.json_keys ?? []),
  };
  return text !== "" && (Object.keys(check) as (keyof Check)[]).every((name) => checks[name]());
}

function jsonHas(text: string, keys: readonly string[]): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && keys.every((key) => key in value);
  } catch {
    return false;
  }
}
