/**
 * Do right answers need facts that the model is not shown? A heuristic on words. Facts are numbers, names (words with a
 * capital letter that do not begin a sentence) and other long words. A fact of an answer is unseen when it stands neither
 * in what the model sees (prompt, tools, tool results) nor in the answers to several other problems: what comes back is
 * form, which can be learned as behaviour.
 */

import { messageText, type ChatMessage } from "../contract/chat.ts";
import { sum } from "../contract/numbers.ts";
import { toolsOf, type Task, type TaskRow } from "../tasks/task.ts";

export interface UnseenFacts {
  /** Rows with a right answer that were looked at. */
  rows: number;
  /** Facts in their answers. */
  facts: number;
  /** Share of them that the model is not shown. */
  share: number;
  /** Some that are not shown, most frequent first. */
  examples: string[];
}

/** A word that stands in the answers to this share of all problems is form. */
const recurring = 0.1;
/** And in so many of them at least. */
const fewest = 2;

/** Undefined when the task has no right answers. */
export function unseenFacts(task: Task, rows: readonly TaskRow[]): UnseenFacts | undefined {
  const answered = rows.flatMap((row) => {
    const answer = answerOf(task, row);
    return answer === undefined ? [] : [{ problem: task.problem(row), ...answer }];
  });
  if (answered.length === 0) return undefined;
  const problems = new Set(answered.map(({ problem }) => problem)).size;
  const spreadOf = new Map<string, Set<string>>();
  for (const { problem, facts } of answered) {
    for (const fact of facts) spreadOf.set(fact, (spreadOf.get(fact) ?? new Set()).add(problem));
  }
  const isForm = (fact: string) => (spreadOf.get(fact)?.size ?? 0) >= Math.max(fewest, recurring * problems);
  const unseen = new Map<string, number>();
  let facts = 0;
  for (const { facts: ofAnswer, seen } of answered) {
    for (const fact of ofAnswer) {
      facts += 1;
      if (!seen.includes(fact) && !isForm(fact)) unseen.set(fact, (unseen.get(fact) ?? 0) + 1);
    }
  }
  const count = sum([...unseen.values()]);
  const examples = [...unseen].toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([fact]) => fact);
  return { rows: answered.length, facts, share: facts === 0 ? 0 : count / facts, examples: examples.slice(0, 5) };
}

/** Facts of a right answer, and everything that the model is shown before and between, in small letters. */
function answerOf(task: Task, row: TaskRow): { facts: Set<string>; seen: string } | undefined {
  const example = task.example?.(row);
  let shown: ChatMessage[];
  let said: ChatMessage[];
  if (example !== undefined) {
    if (!("messages" in example)) return undefined;
    shown = example.messages.filter(({ role }) => role !== "assistant");
    said = example.messages.filter(({ role }) => role === "assistant");
  } else {
    const answer = task.solution?.(row);
    if (answer === undefined) return undefined;
    shown = [...task.prompt(row), ...answer.filter(({ role }) => role !== "assistant")];
    said = answer.filter(({ role }) => role === "assistant");
  }
  const seen = `${shown.map(fullText).join("\n")}\n${JSON.stringify(toolsOf(task, row))}`.toLowerCase();
  return { facts: factsOf(said.map(fullText).join("\n")), seen };
}

/** With the values that tool calls carry. */
function fullText(message: ChatMessage): string {
  const calls = (message.tool_calls ?? []).map((call) => {
    const { arguments: given } = "function" in call ? call.function : call;
    return typeof given === "string" ? given : JSON.stringify(given);
  });
  return [messageText(message), ...calls].join("\n");
}

/** Shorter words are seldom facts. */
const longWord = 7;

function factsOf(text: string): Set<string> {
  const facts = new Set<string>();
  for (const match of text.matchAll(/[\p{L}\p{N}][\p{L}\p{N}'’.-]*[\p{L}\p{N}]|[\p{L}\p{N}]/gu)) {
    const [word] = match;
    const before = text.slice(0, match.index).trimEnd().at(-1);
    const beginsSentence = before === undefined || /[.!?:\n]/.test(before);
    const isName = /^\p{Lu}/u.test(word) && !beginsSentence && word.length > 1;
    if (/\p{N}/u.test(word) || isName || word.length >= longWord) facts.add(word.toLowerCase());
  }
  return facts;
}
