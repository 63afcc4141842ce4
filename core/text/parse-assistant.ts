/**
 * Takes a model's answer apart: what it thought, what it said, and which tool it called. Strict, because rewards are
 * paid for calls: a call counts only if it is one complete, well-formed call of a known tool with valid arguments.
 */

import type { ChatMessage, ToolDefinition } from "../contract/chat.ts";
import { isRecord } from "../contract/is-record.ts";
import { callClose, callOpen, thinkClose, thinkOpen } from "./markers.ts";
import { JsonFault, readJson } from "./strict-json.ts";
import { checkArguments } from "./tool-arguments.ts";
import type { ToolFormat } from "./tool-format.ts";

/**
 * - `no_call`: no call where tools were offered. - `several_calls`: more than one. - `wrong_tool`: no tool of that name.
 * - `bad_argument`: arguments that the schema refuses. - `out_of_range`: a number outside its bounds.
 * - `truncated`: the token limit came before a complete call. - `malformed`: a call that is not closed or no valid JSON.
 */
export type ProblemCode =
  "no_call" | "several_calls" | "wrong_tool" | "bad_argument" | "out_of_range" | "truncated" | "malformed";

export interface Problem {
  code: ProblemCode;
  message: string;
}

export interface ParsedCall {
  name: string;
  arguments: Record<string, unknown>;
}

export interface ParsedAssistant {
  /** The answer without reasoning and without the calls that count. */
  content: string;
  reasoning: string;
  tool_calls: ParsedCall[];
  problems: Problem[];
}

export interface ParseOptions {
  /** Why generation ended; `length` and `context_full` mean that the answer was cut. */
  stopReason?: string;
  /** The prompt has already opened a `<think>` block. Default false. */
  thinkingOpen?: boolean;
  /** Several calls in one answer are allowed, each on its own merits. Default false: then none of them counts. */
  parallel?: boolean;
}

/** Whether the answer lacks its end, because the tokens or the context were used up. */
export function isCut(stopReason: string | undefined): boolean {
  return stopReason === "length" || stopReason === "context_full";
}

/** An answer as a message of the conversation. */
export function assistantMessage({ content, reasoning, tool_calls: calls }: ParsedAssistant): ChatMessage {
  return {
    role: "assistant",
    content,
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => ({ type: "function" as const, function: call })) }),
  };
}

/** What stands where a call may begin: a call, something wrong, or (neither) text that only looks like one. */
interface Reading {
  start: number;
  /** Behind what was read. */
  end: number;
  call?: ParsedCall;
  problem?: Problem;
}

export function parseAssistant(
  text: string,
  tools: readonly ToolDefinition[],
  format: ToolFormat,
  { stopReason, thinkingOpen = false, parallel = false }: ParseOptions = {},
): ParsedAssistant {
  const { said, reasoning } = splitReasoning(text, thinkingOpen);
  if (tools.length === 0) return { content: said, reasoning, tool_calls: [], problems: [] };
  const cut = isCut(stopReason);
  const found = format === "hermes" ? taggedCalls(said, tools, cut) : bareCalls(said, tools, cut);
  const alone = (problem: Problem) => ({ content: said, reasoning, tool_calls: [], problems: [problem] });
  if (found.length === 0) {
    return alone(
      cut
        ? { code: "truncated", message: "the answer was cut before a call" }
        : { code: "no_call", message: "there is no tool call" },
    );
  }
  if (found.length > 1 && !parallel) {
    return alone({ code: "several_calls", message: `${found.length} calls where one is allowed` });
  }
  const calls = found.filter(({ call }) => call !== undefined);
  return {
    content: without(said, calls),
    reasoning,
    tool_calls: calls.flatMap(({ call }) => call ?? []),
    problems: found.flatMap(({ problem }) => problem ?? []),
  };
}

/** Takes `<think>` blocks out. Without an opening tag, everything before the first closing one is reasoning. */
function splitReasoning(text: string, open: boolean): { said: string; reasoning: string } {
  const firstOpen = text.indexOf(thinkOpen);
  const firstClose = text.indexOf(thinkClose);
  let thinking = open || (firstClose >= 0 && (firstOpen < 0 || firstClose < firstOpen));
  if (!thinking && firstOpen < 0) return { said: text, reasoning: "" };
  // Some models open again the block that the prompt has opened.
  let rest = open && text.trimStart().startsWith(thinkOpen) ? text.trimStart().slice(thinkOpen.length) : text;
  const thoughts: string[] = [];
  let said = "";
  for (;;) {
    const tag = thinking ? thinkClose : thinkOpen;
    const at = rest.indexOf(tag);
    const part = at < 0 ? rest : rest.slice(0, at);
    if (thinking) thoughts.push(part.trim());
    else said += part;
    if (at < 0) break;
    rest = rest.slice(at + tag.length);
    thinking = !thinking;
  }
  return { said: said.trim(), reasoning: thoughts.filter((thought) => thought !== "").join("\n\n") };
}

/** Everything that an opening tag begins. */
function taggedCalls(text: string, tools: readonly ToolDefinition[], cut: boolean): Reading[] {
  const found: Reading[] = [];
  for (let start = text.indexOf(callOpen); start >= 0;) {
    const begin = start + callOpen.length;
    let reading: Reading = { ...readCall(text, begin, tools, ["arguments"], cut), start };
    const close = skipSpace(text, reading.end);
    if (reading.call === undefined && reading.problem === undefined) {
      reading.problem = { code: "malformed", message: "the call has no name or no arguments" };
    } else if (reading.call !== undefined && text.startsWith(callClose, close)) {
      reading.end = close + callClose.length;
    } else if (reading.call !== undefined) {
      reading = { start, end: begin, problem: unclosed(text.slice(close), cut) };
    }
    found.push(reading);
    // Behind a call that does not count, another may begin anywhere.
    start = text.indexOf(callOpen, reading.call === undefined ? begin : reading.end);
  }
  return found;
}

function unclosed(rest: string, cut: boolean): Problem {
  return cut && callClose.startsWith(rest)
    ? { code: "truncated", message: `the answer was cut before ${callClose}` }
    : { code: "malformed", message: `the call is not closed with ${callClose}` };
}

/** Objects that stand on lines of their own, outside code fences, and have the keys of a call. */
function bareCalls(text: string, tools: readonly ToolDefinition[], cut: boolean): Reading[] {
  const found: Reading[] = [];
  let fenced = false;
  for (let line = 0; line < text.length;) {
    const newline = text.indexOf("\n", line);
    let next = newline < 0 ? text.length : newline + 1;
    const head = /^[ \t]*(?:<\|python_tag\|>)?[ \t]*/.exec(text.slice(line, next))?.[0] ?? "";
    const start = line + head.length;
    if (text.startsWith("```", start)) fenced = !fenced;
    if (!fenced && /^\{\s*"(?:type|name|parameters|arguments)"\s*:/.test(text.slice(start))) {
      const reading = { ...readCall(text, start, tools, ["parameters", "arguments"], cut), start };
      const alone = /^[ \t]*(?:\n|$)/.test(text.slice(reading.end));
      if (reading.call !== undefined && !alone) {
        found.push({
          start,
          end: reading.end,
          problem: { code: "malformed", message: "text follows on the call's line" },
        });
      } else if (reading.call !== undefined || reading.problem !== undefined) found.push(reading);
      next = Math.max(next, reading.end);
    }
    line = next;
  }
  return found;
}

/** Reads the JSON of a call. An object without the keys of a call gives neither a call nor a problem. */
function readCall(
  text: string,
  start: number,
  tools: readonly ToolDefinition[],
  argumentKeys: readonly string[],
  cut: boolean,
): Reading {
  let json;
  try {
    json = readJson(text, start);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return { start, end: start, problem: faultProblem(error, tools, argumentKeys, cut) };
  }
  const { value, end, unplainIntegers } = json;
  const fail = (code: ProblemCode, message: string): Reading => ({ start, end, problem: { code, message } });
  if (!isRecord(value)) return fail("malformed", "the call is not a JSON object");
  const key = argumentKeys.find((name) => Object.hasOwn(value, name));
  if (typeof value.name !== "string" || key === undefined) return { start, end };
  const tool = tools.find(({ function: { name } }) => name === value.name);
  if (tool === undefined) return fail("wrong_tool", noSuchTool(value.name));
  const { name: _name, [key]: given, ...others } = value;
  // Llama 3 is shown tools as {"type": "function", …} and sometimes repeats that.
  if (argumentKeys.length > 1 && others.type === "function") delete others.type;
  const [stray] = Object.keys(others);
  if (stray !== undefined) return fail("malformed", `a call has no key ${JSON.stringify(stray)}`);
  if (!isRecord(given)) return fail("bad_argument", "the arguments are not a JSON object");
  const paths = unplainIntegers.filter((path) => path[0] === key).map((path) => path.slice(1));
  const fault = checkArguments(tool, given, paths);
  return fault === undefined
    ? { start, end, call: { name: value.name, arguments: given } }
    : { start, end, problem: fault };
}

/** A value that is no JSON (`05`, `five`) is a bad argument; anything else wrong is a malformed call. */
function faultProblem(
  fault: JsonFault,
  tools: readonly ToolDefinition[],
  argumentKeys: readonly string[],
  cut: boolean,
): Problem {
  if (fault.kind === "end" && cut) return { code: "truncated", message: "the answer was cut inside the call" };
  const { name } = fault.members;
  const inArguments = fault.path.length > 1 && argumentKeys.includes(String(fault.path[0]));
  if (fault.kind === "value" && inArguments && typeof name === "string") {
    return tools.some((tool) => tool.function.name === name)
      ? { code: "bad_argument", message: `${fault.path.slice(1).join(".")}: ${fault.message}` }
      : { code: "wrong_tool", message: noSuchTool(name) };
  }
  return { code: "malformed", message: `the call is not valid JSON: ${fault.message}` };
}

function noSuchTool(name: string): string {
  return `there is no tool named ${JSON.stringify(name)}`;
}

function skipSpace(text: string, at: number): number {
  while (/[ \t\n\r]/.test(text.charAt(at))) at++;
  return at;
}

/** The text with some ranges taken out, and no white space left where they were at its ends. */
function without(text: string, ranges: readonly { start: number; end: number }[]): string {
  if (ranges.length === 0) return text;
  let kept = "";
  let position = 0;
  for (const { start, end } of ranges) {
    kept += text.slice(position, start);
    position = end;
  }
  return (kept + text.slice(position)).trim();
}
