/** The tools of the desk and the one prompt that training, evaluation and play use. */

import type { ChatMessage, ToolDefinition } from "../../contract/chat.ts";
import type { DeskRow } from "./orders.ts";
import { approvalAbove, refundDays } from "./policy.ts";

/** Names say what the tools do: descriptions would be the longest part of the prompt. */
function tool(name: string, parameter?: { name: string; type: "integer" | "number" }): ToolDefinition {
  if (parameter === undefined) return { type: "function", function: { name } };
  const properties = { [parameter.name]: { type: parameter.type } };
  return {
    type: "function",
    function: { name, parameters: { type: "object", properties, required: [parameter.name] } },
  };
}

/** Looking an order up opens it; the other tools act on the open order. */
export const deskTools = [
  tool("look_up_order", { name: "order", type: "integer" }),
  tool("issue_refund", { name: "amount", type: "number" }),
  tool("send_replacement"),
  tool("escalate"),
];

const system = [
  "You are the order desk of a shop. Look up the order, act by the policy, then answer the customer in one sentence.",
  `Money back: refund the price within ${refundDays} days of delivery; later refuse and say the days since delivery.`,
  "Damaged: replace it if it is in stock, else refund the price.",
  `Escalate refunds above ${approvalAbove} euros.`,
  "Say the amount, the arrival date or the case number.",
].join("\n");

export function deskPrompt(row: DeskRow): ChatMessage[] {
  return [
    { role: "system", content: system },
    { role: "user", content: row.request },
  ];
}
