/** What fixed players do at the desk: right answers for SFT, pairs for DPO, and the lines to hold a model against. */

import type { ChatMessage } from "../../contract/chat.ts";
import { Random } from "../../contract/random.ts";
import type { Action, Score } from "../task.ts";
import { Desk } from "./desk.ts";
import { orderOf, type DeskRow } from "./orders.ts";
import { resolve, type DeskAction } from "./policy.ts";

/** A move of a fixed player: a call, or the answer that closes the case. */
type Move = { name: string; arguments: Record<string, unknown> } | { reply: string };

/** The whole conversation behind the prompt, tool results included. */
export function solution(row: DeskRow): ChatMessage[] {
  return play(row, rightMoves(row)).messages;
}

/** Both answers up to the first turn in which they differ: the action, or the reply where none is due. */
export function preference(row: DeskRow): { chosen: ChatMessage[]; rejected: ChatMessage[] } {
  const right = rightMoves(row);
  const shared = right.slice(0, row.busy ? 2 : 1);
  const prefix = play(row, shared).messages;
  const random = new Random(row.id).split("rejected");
  return {
    chosen: [...prefix, toMessage(right[shared.length])],
    rejected: [...prefix, toMessage(random.pick(mistakes(row)))],
  };
}

/** Mean rewards: 0 for answering at once, 1 for the policy. */
export function deskReference(rows: readonly DeskRow[]): Record<string, number> {
  const mean = (player: (row: DeskRow) => number) => rows.reduce((sum, row) => sum + player(row), 0) / rows.length;
  return {
    answer_at_once: mean((row) => reward(row, [{ reply: "We will look into it." }])),
    only_look_up: mean((row) => reward(row, [...lookUps(row), { reply: "We will look into it." }])),
    always_escalate: mean((row) => reward(row, honest(row, { tool: "escalate" }))),
    random_action: mean((row) => {
      const actions: (DeskAction | null)[] = [
        { tool: "issue_refund", amount: orderOf(row).price },
        { tool: "send_replacement" },
        { tool: "escalate" },
        null,
      ];
      return actions.reduce((sum, action) => sum + reward(row, honest(row, action)), 0) / actions.length;
    }),
    best: mean((row) => reward(row, rightMoves(row))),
  };
}

/** Plays moves to their end and returns the messages and, when the case was closed, the score. */
export function play(row: DeskRow, moves: readonly Move[]): { messages: ChatMessage[]; score?: Score } {
  const desk = new Desk(row);
  const messages: ChatMessage[] = [];
  for (const move of moves) {
    const step = desk.step(toAction(move));
    messages.push(toMessage(move), ...step.messages);
    if (step.score !== undefined) return { messages, score: step.score };
  }
  return { messages };
}

function reward(row: DeskRow, moves: readonly Move[]): number {
  const { score } = play(row, moves);
  if (score === undefined) throw new Error(`a fixed player did not close the case of row ${row.id}`);
  return score.reward;
}

function lookUps(row: DeskRow): Move[] {
  const lookUp = { name: "look_up_order", arguments: { order: row.order } };
  return row.busy ? [lookUp, lookUp] : [lookUp];
}

function rightMoves(row: DeskRow): Move[] {
  return honest(row, resolve(row).action, resolve(row).reply);
}

/** Looks up, acts, and tells the customer; without a reply of its own, what the last tool said. */
function honest(row: DeskRow, action: DeskAction | null, reply?: string): Move[] {
  const moves = [...lookUps(row), ...(action === null ? [] : [toCall(action)])];
  if (reply !== undefined) return [...moves, { reply }];
  return [...moves, { reply: action?.tool === "issue_refund" ? `${action.amount}` : factOf(row, action) }];
}

function factOf(row: DeskRow, action: DeskAction | null): string {
  if (action?.tool === "escalate") return String(row.case_number);
  if (action?.tool === "send_replacement") return row.replacement_arrives;
  const { arrives, delivered_days_ago: days } = orderOf(row);
  return arrives ?? String(days);
}

/** What a careless desk would do instead. */
function mistakes(row: DeskRow): Move[] {
  const { action, reply, kind } = resolve(row);
  const { price, item } = orderOf(row);
  const refund = (amount: number) => toCall({ tool: "issue_refund", amount });
  const others: Record<typeof kind, Move[]> = {
    refund: [refund(Math.round(price) + 5), { reply: `We refund you ${price.toFixed(2)} euros.` }],
    no_stock: [toCall({ tool: "send_replacement" }), toCall({ tool: "escalate" })],
    approval: [refund(price)],
    replace: [refund(price), { reply: `We are sorry that your ${item} is damaged.` }],
    late: [refund(price), toCall({ tool: "escalate" })],
    status: [toCall({ tool: "send_replacement" }), { reply: `Your ${item} will arrive soon.` }],
  };
  const same = (move: Move) => "reply" in move && action === null && move.reply === reply;
  return others[kind].filter((move) => !same(move));
}

function toCall(action: DeskAction): Move {
  return { name: action.tool, arguments: action.tool === "issue_refund" ? { amount: action.amount } : {} };
}

function toMessage(move: Move): ChatMessage {
  if ("reply" in move) return { role: "assistant", content: move.reply };
  return { role: "assistant", content: "", tool_calls: [{ type: "function", function: move }] };
}

function toAction(move: Move): Action {
  const said = { reasoning: "", problems: [] };
  if ("reply" in move) {
    return { text: move.reply, stopReason: "eos", parsed: { ...said, content: move.reply, tool_calls: [] } };
  }
  return { text: JSON.stringify(move), stopReason: "eos", parsed: { ...said, content: "", tool_calls: [move] } };
}
