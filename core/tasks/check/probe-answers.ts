/** Answers that no model has given, to see what a task does with them: right ones, worse ones, none, and mutated ones. */

import { messageText, type ChatMessage, type ToolDefinition } from "../../contract/chat.ts";
import type { Random, Seed } from "../../contract/random.ts";
import type { ParsedCall } from "../../text/parse-assistant.ts";
import { formatToolCall } from "../../text/tool-format.ts";
import { toolsOf, type Action, type Score, type Task, type TaskRow } from "../task.ts";

export const answerKinds = ["solution", "rejected", "empty", "mutated"] as const;
export type AnswerKind = (typeof answerKinds)[number];

/** A whole way through an episode, as far as it goes. */
export interface ProbeAnswer {
  kind: AnswerKind;
  /** In words, for findings. */
  name: string;
  actions: Action[];
}

export interface PlayedAnswer {
  score: Score;
  /** The environment ended the episode by itself, before the actions or the turns ran out. */
  ended: boolean;
  /** What the environment said, in order. */
  replies: string[];
}

/** Plays the actions; whatever is left open is ended by the limit of turns. */
export async function playAnswer(
  task: Task,
  row: TaskRow,
  actions: readonly Action[],
  seed: Seed,
): Promise<PlayedAnswer> {
  const episode = task.start(row, seed);
  const replies: string[] = [];
  for (const action of actions.slice(0, task.limits.turns)) {
    const { messages, done, score } = await episode.step(action);
    replies.push(...messages.map((message) => `${message.role}: ${messageText(message)}`));
    if (!done) continue;
    if (score === undefined) throw new Error(`the episode of row ${row.id} is done and has no score`);
    return { score, ended: true, replies };
  }
  return { score: await episode.end("max_turns"), ended: false, replies };
}

/** Everything that is tried on a row. `other`: a row whose right answer is wrong here. */
export function probeAnswers(task: Task, row: TaskRow, other: TaskRow | undefined, random: Random): ProbeAnswer[] {
  const tools = toolsOf(task, row);
  const text = (content: string) => toAction({ role: "assistant", content }, tools);
  const probes: ProbeAnswer[] = [];
  const add = (kind: AnswerKind, name: string, actions: Action[]) => {
    if (actions.length > 0) probes.push({ kind, name, actions });
  };
  const right = answersIn(task.solution?.(row) ?? exampleAnswer(task, row), tools);
  add("solution", "the solution", right);
  add("rejected", "the rejected answer", answersIn(task.preference?.(row)?.rejected, tools));
  if (right.length === 0) add("solution", "the chosen answer", answersIn(task.preference?.(row)?.chosen, tools));
  add("empty", "an empty answer", repeated(text(""), task.limits.turns));
  add("mutated", "an answer that says nothing", repeated(text("I do not know."), task.limits.turns));
  add("mutated", "an answer cut by the token limit", [{ ...(right[0] ?? text("I")), stopReason: "length" }]);
  if (right.length > 0) {
    const before = right.slice(0, -1);
    const last = right[right.length - 1];
    add("mutated", "the solution without its last answer", before);
    add("mutated", "the solution with half of its last text", [...before, halved(last)]);
    for (const change of [changedNumber, droppedArgument, emptiedArgument, unknownTool]) {
      const at = right.findLastIndex((action) => change(action, tools) !== undefined);
      const changed = at < 0 ? undefined : change(right[at], tools);
      if (changed !== undefined) {
        add("mutated", `the solution with ${change.what}`, [...right.slice(0, at), changed, ...right.slice(at + 1)]);
      }
    }
  }
  if (other !== undefined) {
    add(
      "mutated",
      `the solution of row ${other.id}`,
      answersIn(task.solution?.(other) ?? exampleAnswer(task, other), tools),
    );
  }
  for (let i = 0; i < 3 && tools.length > 0; i++) {
    const calls = Array.from({ length: task.limits.turns }, () => randomCall(tools, random));
    add("mutated", "calls at random", calls);
  }
  return probes;
}

/** The last answer of a conversation to imitate. */
function exampleAnswer(task: Task, row: TaskRow): ChatMessage[] | undefined {
  const example = task.example?.(row);
  return example !== undefined && "messages" in example ? example.messages.slice(-1) : undefined;
}

function answersIn(messages: readonly ChatMessage[] | undefined, tools: readonly ToolDefinition[]): Action[] {
  return (messages ?? []).filter(({ role }) => role === "assistant").map((message) => toAction(message, tools));
}

/** What a model would have done to write this message. */
export function toAction(message: ChatMessage, tools: readonly ToolDefinition[]): Action {
  const calls = (message.tool_calls ?? []).map((call): ParsedCall => {
    const { name, arguments: given } = "function" in call ? call.function : call;
    return { name, arguments: typeof given === "string" ? (JSON.parse(given) as ParsedCall["arguments"]) : given };
  });
  const content = messageText(message);
  const problems =
    calls.length === 0 && tools.length > 0 ? [{ code: "no_call" as const, message: "there is no tool call" }] : [];
  return {
    text: [content, ...calls.map((call) => formatToolCall(call, "hermes"))].filter((part) => part !== "").join("\n"),
    parsed: { content, reasoning: message.reasoning_content ?? "", tool_calls: calls, problems },
    stopReason: "eos",
  };
}

function repeated(action: Action, turns: number): Action[] {
  return Array.from({ length: turns }, () => action);
}

function withText(action: Action, content: string): Action {
  const { tool_calls: calls } = action.parsed;
  const text = [content, ...calls.map((call) => formatToolCall(call, "hermes"))]
    .filter((part) => part !== "")
    .join("\n");
  return { ...action, text, parsed: { ...action.parsed, content } };
}

function halved(action: Action): Action {
  const { content } = action.parsed;
  return withText(action, content.slice(0, Math.floor(content.length / 2)));
}

interface Change {
  (action: Action, tools: readonly ToolDefinition[]): Action | undefined;
  what: string;
}

function change(what: string, apply: (action: Action, tools: readonly ToolDefinition[]) => Action | undefined): Change {
  return Object.assign((action: Action, tools: readonly ToolDefinition[]) => apply(action, tools), { what });
}

/** The first number that is found, in the calls or else in the text, one larger. */
const changedNumber = change("another number", (action) => {
  const [call, ...others] = action.parsed.tool_calls;
  const key =
    call === undefined
      ? undefined
      : Object.keys(call.arguments).find((name) => typeof call.arguments[name] === "number");
  if (call !== undefined && key !== undefined) {
    return withCalls(action, [
      { ...call, arguments: { ...call.arguments, [key]: Number(call.arguments[key]) + 1 } },
      ...others,
    ]);
  }
  const { content } = action.parsed;
  const other = content.replace(/\d+/, (number) => String(Number(number) + 1));
  return other === content ? undefined : withText(action, other);
});

const droppedArgument = change("an argument left out", (action) => {
  const [call] = action.parsed.tool_calls;
  const [key] = Object.keys(call?.arguments ?? {});
  return call === undefined || key === undefined ? undefined : withProblem(action, "bad_argument", `${key} is missing`);
});

const emptiedArgument = change("an empty text in a call", (action) => {
  const [call, ...others] = action.parsed.tool_calls;
  const key =
    call === undefined
      ? undefined
      : Object.keys(call.arguments).find((name) => typeof call.arguments[name] === "string");
  return call === undefined || key === undefined
    ? undefined
    : withCalls(action, [{ ...call, arguments: { ...call.arguments, [key]: "" } }, ...others]);
});

const unknownTool = change("an unknown tool", (action) =>
  action.parsed.tool_calls.length === 0
    ? undefined
    : withProblem(action, "wrong_tool", 'there is no tool named "other"'),
);

function withCalls(action: Action, tool_calls: ParsedCall[]): Action {
  return withText({ ...action, parsed: { ...action.parsed, tool_calls } }, action.parsed.content);
}

/** As the parser reads a call that does not count. */
function withProblem(action: Action, code: "bad_argument" | "wrong_tool", message: string): Action {
  return {
    ...action,
    parsed: { ...action.parsed, content: action.text, tool_calls: [], problems: [{ code, message }] },
  };
}

/** A call whose arguments have the right types and any values. */
function randomCall(tools: readonly ToolDefinition[], random: Random): Action {
  const { name, parameters } = random.pick(tools).function;
  const properties = Object.entries((parameters?.["properties"] ?? {}) as Record<string, Record<string, unknown>>);
  const given = Object.fromEntries(properties.map(([key, schema]) => [key, randomValue(schema, random)]));
  return toAction({ role: "assistant", content: "", tool_calls: [{ name, arguments: given }] }, tools);
}

function randomValue(schema: Record<string, unknown>, random: Random): unknown {
  const { enum: choices, type, minimum, maximum } = schema;
  if (Array.isArray(choices) && choices.length > 0) return random.pick(choices);
  const least = typeof minimum === "number" ? minimum : 0;
  const most = typeof maximum === "number" ? maximum : least + 99;
  switch (Array.isArray(type) ? (type as unknown[])[0] : type) {
    case "integer":
    case "number":
      return least + random.integer(Math.max(1, Math.floor(most - least) + 1));
    case "boolean":
      return random.integer(2) === 1;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return "text";
  }
}
