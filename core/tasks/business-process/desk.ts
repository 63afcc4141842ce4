/** One case at the desk: the tools act on a simulated database, an answer without a call closes the case. */

import type { ChatMessage } from "../../contract/chat.ts";
import { isCut } from "../../text/parse-assistant.ts";
import type { Action, Episode, Score, Step, StopReason } from "../task.ts";
import type { DeskRow, Order } from "./orders.ts";
import { resolve, tells, type DeskAction } from "./policy.ts";

/** Weights of the reward's parts. Everything right earns 1. */
export const weights = { looked_up: 0.2, action: 0.4, told: 0.4, violation: 0.5 } as const;

type Failure = keyof typeof deskFailures;

/** Most basic first: the first that applies is the row's failure. */
export const deskFailures = {
  truncated: { meaning: "an answer was cut off by the token limit", group: "call" },
  bad_call: { meaning: "a call that is malformed, of an unknown tool, or with unfit arguments", group: "call" },
  no_look_up: { meaning: "acted or answered without looking up the order", group: "rules" },
  wrong_order: { meaning: "looked up or acted on another order", group: "state" },
  wrong_amount: { meaning: "refunded another amount than the order's price", group: "state" },
  against_policy: { meaning: "a refund or replacement that the policy forbids", group: "rules" },
  wrong_action: { meaning: "not the action that the policy asks for", group: "choice" },
  no_reply: { meaning: "the turns ran out before the customer was answered", group: "choice" },
  wrong_fact: { meaning: "the answer lacks what the tools said, or says another number", group: "state" },
} as const;

export class Desk implements Episode {
  readonly #row: DeskRow;
  readonly #faults = new Set<Failure>();
  /** The state that is checked at the end: what was done, by order number. */
  readonly #done = new Map<number, DeskAction>();
  #open: Order | undefined;
  #lookedUp = false;
  #busy: boolean;
  #violation = false;
  #over = false;

  constructor(row: DeskRow) {
    this.#row = row;
    this.#busy = row.busy;
  }

  step(action: Action): Step {
    if (this.#over) throw new Error(`the episode of row ${this.#row.id} is over`);
    const { parsed, stopReason } = action;
    if (isCut(stopReason)) {
      this.#faults.add("truncated");
      return { messages: [], done: true, score: this.end(stopReason) };
    }
    const problem = parsed.problems.find(({ code }) => code !== "no_call");
    const [call] = parsed.tool_calls;
    if (problem !== undefined) {
      this.#faults.add("bad_call");
      return this.#answer("error", `error: ${problem.message}`);
    }
    if (call === undefined) return { messages: [], done: true, score: this.#close(parsed.content) };
    switch (call.name) {
      case "look_up_order":
        return this.#answer(call.name, this.#lookUp(Number(call.arguments["order"])));
      case "issue_refund":
        return this.#answer(call.name, this.#act({ tool: "issue_refund", amount: Number(call.arguments["amount"]) }));
      case "send_replacement":
      case "escalate":
        return this.#answer(call.name, this.#act({ tool: call.name }));
      default:
        this.#faults.add("bad_call");
        return this.#answer(call.name, `error: there is no tool named ${call.name}`);
    }
  }

  end(_reason: StopReason): Score {
    return this.#close(undefined);
  }

  #answer(name: string, content: string): Step {
    const result: ChatMessage = { role: "tool", name, content };
    return { messages: [result], done: false };
  }

  #lookUp(number: number): string {
    const order = this.#row.orders.find((one) => one.number === number);
    if (number !== this.#row.order) this.#faults.add("wrong_order");
    if (order === undefined) return `error: there is no order ${number}`;
    if (this.#busy && number === this.#row.order) {
      this.#busy = false;
      return "error: the order system is busy, try again";
    }
    if (number === this.#row.order) this.#lookedUp = true;
    this.#open = order;
    return orderLine(order);
  }

  /** Changes the state of the open order, once. What cannot be done is answered with an error and changes nothing. */
  #act(action: DeskAction): string {
    const order = this.#open;
    if (order === undefined) {
      this.#faults.add("no_look_up");
      return "error: no order is open, look it up first";
    }
    if (this.#done.has(order.number)) return `error: order ${order.number} is settled already`;
    if (action.tool === "send_replacement" && order.stock === 0) {
      this.#faults.add("wrong_action");
      return `error: ${order.item} is out of stock`;
    }
    this.#done.set(order.number, action);
    this.#judge(order, action);
    switch (action.tool) {
      case "issue_refund":
        return `refunded ${action.amount.toFixed(2)} euros for order ${order.number}`;
      case "send_replacement":
        return `replacement for order ${order.number} arrives ${this.#row.replacement_arrives}`;
      case "escalate":
        return `order ${order.number} escalated, case ${this.#row.case_number}`;
    }
  }

  /** An escalation that was not due harms nobody, so it is no violation; it is still not the right action. */
  #judge(order: Order, action: DeskAction): void {
    const due = resolve(this.#row).action;
    if (order.number !== this.#row.order) return this.#violate("wrong_order");
    if (action.tool === "escalate") return;
    if (due?.tool !== action.tool) return this.#violate("against_policy");
    if (!sameAction(action, due)) this.#violate("wrong_amount");
  }

  #violate(fault: Failure): void {
    this.#faults.add(fault);
    this.#violation = true;
  }

  /** `reply`: the answer to the customer; undefined where there was none. */
  #close(reply: string | undefined): Score {
    this.#over = true;
    const { action, fact } = resolve(this.#row);
    if (!this.#lookedUp) this.#faults.add("no_look_up");
    const done = this.#done.get(this.#row.order) ?? null;
    const acted = sameAction(done, action) && this.#done.size === (action === null ? 0 : 1);
    if (!acted) this.#faults.add("wrong_action");
    // Doing nothing is right only where the order was seen and the customer was answered.
    const rightAction = acted && this.#lookedUp && (action !== null || reply !== undefined);
    const told = reply !== undefined && this.#lookedUp && rightAction && tells(reply, fact, this.#row.order);
    if (reply === undefined) this.#faults.add("no_reply");
    else if (!told) this.#faults.add("wrong_fact");
    const parts = {
      looked_up: Number(this.#lookedUp),
      action: Number(rightAction),
      told: Number(told),
      violation: this.#violation ? -1 : 0,
    };
    const names = Object.keys(weights) as (keyof typeof weights)[];
    const resolved = rightAction && told && !this.#violation;
    const failure = (Object.keys(deskFailures) as Failure[]).find((kind) => this.#faults.has(kind));
    return {
      reward: names.reduce((sum, name) => sum + weights[name] * parts[name], 0),
      parts,
      info: {
        ...(failure !== undefined && !resolved && { failure }),
        choice: [...this.#done.values()].map(({ tool }) => tool).join(", ") || "no action",
        outcomes: {
          resolved,
          looked_up: this.#lookedUp,
          right_action: rightAction,
          told,
          within_policy: !this.#violation,
        },
      },
    };
  }
}

function sameAction(a: DeskAction | null, b: DeskAction | null): boolean {
  if (a?.tool !== "issue_refund" || b?.tool !== "issue_refund") return a?.tool === b?.tool;
  return Math.abs(a.amount - b.amount) < 0.005;
}

function orderLine({ number, item, price, delivered_days_ago: days, arrives, stock }: Order): string {
  const where = days === null ? `on its way, arrives ${arrives ?? "soon"}` : `delivered ${days} days ago`;
  return `order ${number}: ${item}, ${price.toFixed(2)} euros, ${where}, ${stock} in stock`;
}
