/** Tool-call repair: a request, the faulty call that was made for it, and one right call as the answer. */

import type { ChatMessage, ToolDefinition } from "../../contract/chat.ts";
import { HoneError } from "../../contract/errors.ts";
import type { RewardPart } from "../../contract/reward.ts";
import { formatToolCall, pythonJson } from "../../text/tool-format.ts";
import { parseAssistant, isCut, type ProblemCode } from "../../text/parse-assistant.ts";
import { splitGroups } from "../split-groups.ts";
import { oneTurnEpisode, weigh, type Action, type FailureKind, type Score, type Task } from "../task.ts";
import { domainRows, parseRow, readFaulty, type RepairRow } from "./rows.ts";
import { askUser, domains, findTool, noAction } from "./tools.ts";

const rowsPerDomain = 60;

const rewardParts: RewardPart[] = [
  { name: "well_formed", weight: 0.2, description: "1 for one valid call; 0.5 where its arguments are refused" },
  { name: "tool", weight: 0.2, description: "1 for the right tool" },
  { name: "arguments", weight: 0.5, description: "share of the arguments that are right; 0 with another tool" },
  { name: "nothing_else", weight: 0.1, description: "1 for the right tool and no text beside the call" },
];

const failures = {
  truncated: { meaning: "cut off by the token limit", group: "call" },
  no_call: { meaning: "no call", group: "call" },
  several_calls: { meaning: "more than one call", group: "call" },
  malformed: { meaning: "a call that is no valid JSON or not closed", group: "call" },
  unknown_tool: { meaning: "a call of a tool that is not offered", group: "call" },
  bad_argument: { meaning: "arguments that the tool's schema refuses", group: "rules" },
  text_beside: { meaning: "the right call with text beside it", group: "rules" },
  wrong_argument: { meaning: "an argument that is not what the request says", group: "state" },
  acted: { meaning: "acted where it had to ask or to do nothing", group: "choice" },
  held_back: { meaning: "asked or did nothing where it had to act", group: "choice" },
  wrong_tool: { meaning: "another of the offered tools", group: "choice" },
} as const satisfies Record<string, FailureKind>;
type Failure = keyof typeof failures;

const problemFailures: Record<ProblemCode, Failure> = {
  truncated: "truncated",
  several_calls: "several_calls",
  no_call: "no_call",
  malformed: "malformed",
  wrong_tool: "unknown_tool",
  bad_argument: "bad_argument",
  out_of_range: "bad_argument",
};

export const toolCallRepair: Task<RepairRow> = {
  name: "tool-call-repair",
  title: "Tool-call repair",
  description: "Replace a faulty tool call by the one call that does what the user asked for.",
  tools: [],
  toolsFor: (row) => row.tools.map(offered),
  rewardParts,
  failures,
  outcomes: {
    repaired: "calls repaired",
    valid: "valid calls",
    right_tool: "right tools",
    held_back: "asked or did nothing where that was right",
  },
  limits: { turns: 1, tokens: 128, seconds: 120 },
  rows: (split, { seed } = {}) =>
    splitGroups(Object.keys(domains), split, "tool-call-repair", seed).flatMap((domain) =>
      domainRows(domain, rowsPerDomain),
    ),
  parseRow,
  problem: (row) => row.domain,
  prompt: promptMessages,
  start: (row) => oneTurnEpisode(row, (action) => scoreRepair(row, action)),
  solution: (row) => [calling(row.answer)],
  preference: (row) => ({ chosen: [calling(row.answer)], rejected: [likelyMistake(row)] }),
  reference: (rows) => ({
    no_call: 0,
    same_call_again: rows.reduce((sum, row) => sum + repeatedReward(row), 0) / rows.length,
    best: 1,
  }),
  draw: (row) =>
    [
      `offered   ${row.tools.join(", ")}`,
      `request   ${row.request}`,
      `faulty    ${row.faulty}   (${row.fault})`,
      `right     ${pythonJson(row.answer)}`,
    ].join("\n"),
};

/** The faulty call stands where it was made. Where it is a call in form, the model's template writes it as its own. */
function promptMessages({ request, faulty }: RepairRow): ChatMessage[] {
  const made = readFaulty(faulty);
  return [
    { role: "system", content: "Answer with exactly one call that does what the user asks, and nothing else." },
    { role: "user", content: request },
    made === undefined ? { role: "assistant", content: faulty } : calling(made),
    { role: "user", content: "That call was wrong. Make the right one." },
  ];
}

export function scoreRepair(row: RepairRow, { parsed, stopReason }: Action): Score {
  const [call] = parsed.tool_calls;
  const cut = isCut(stopReason);
  const failed = (failure: Failure, values: Record<string, number> = {}) =>
    result({ failure, values, valid: false, rightTool: false });
  const result = (found: { failure?: Failure; values: Record<string, number>; valid: boolean; rightTool: boolean }) => {
    const restraint = row.answer.name === askUser.function.name || row.answer.name === noAction.function.name;
    return {
      ...weigh(rewardParts, found.values),
      info: {
        ...(found.failure !== undefined && { failure: found.failure }),
        ...(call !== undefined && { choice: call.name }),
        outcomes: {
          repaired: found.failure === undefined,
          valid: found.valid,
          right_tool: found.rightTool,
          ...(restraint && { held_back: found.rightTool }),
        },
      },
    };
  };
  if (cut) return failed("truncated");
  const [problem] = parsed.problems;
  if (problem !== undefined) {
    const failure = problemFailures[problem.code];
    return failed(failure, failure === "bad_argument" ? { well_formed: 0.5 } : {});
  }
  if (call === undefined) return failed("no_call");
  if (parsed.tool_calls.length > 1) return failed("several_calls");
  if (call.name !== row.answer.name) {
    const failure = wrongTool(call.name, row.answer.name);
    return result({ failure, values: { well_formed: 1 }, valid: true, rightTool: false });
  }
  const alone = parsed.content.trim() === "";
  const share = argumentShare(row.answer.arguments, call.arguments);
  const failure = share < 1 ? "wrong_argument" : alone ? undefined : "text_beside";
  const values = { well_formed: 1, tool: 1, arguments: share, nothing_else: Number(alone) };
  return result({ ...(failure !== undefined && { failure }), values, valid: true, rightTool: true });
}

function wrongTool(called: string, right: string): Failure {
  const restrained = (name: string) => name === askUser.function.name || name === noAction.function.name;
  if (restrained(right) && !restrained(called)) return "acted";
  return restrained(called) && !restrained(right) ? "held_back" : "wrong_tool";
}

/** Right arguments among those that are wanted or given. A call without any argument is right where none is wanted. */
function argumentShare(wanted: Record<string, unknown>, given: Record<string, unknown>): number {
  const names = new Set([...Object.keys(wanted), ...Object.keys(given)]);
  const right = [...names].filter((name) => Object.hasOwn(wanted, name) && wanted[name] === given[name]);
  return names.size === 0 ? 1 : right.length / names.size;
}

function offered(name: string): ToolDefinition {
  const tool = findTool(name);
  if (tool === undefined) throw new HoneError("bad-row", `there is no tool ${name}`);
  return tool;
}

function calling(call: RepairRow["answer"]): ChatMessage {
  return { role: "assistant", content: "", tool_calls: [{ function: call }] };
}

/** What models do: the same call again, or talk about it. */
function likelyMistake(row: RepairRow): ChatMessage {
  const again = readFaulty(row.faulty);
  return again === undefined
    ? { role: "assistant", content: `The call should be: ${pythonJson(row.answer)}` }
    : calling(again);
}

/** What the faulty call earns when it is made once more. */
function repeatedReward(row: RepairRow): number {
  const again = readFaulty(row.faulty);
  if (again === undefined) return 0;
  const text = formatToolCall(again, "hermes");
  return scoreRepair(row, { text, parsed: parseAssistant(text, row.tools.map(offered), "hermes"), stopReason: "eos" })
    .reward;
}
