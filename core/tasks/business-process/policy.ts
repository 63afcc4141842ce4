/** The desk's policy: which case a row is, and what is right to do and to say. */

import { orderOf, type DeskRow, type Kind } from "./orders.ts";

export const refundDays = 30;
export const approvalAbove = 100;

/** What changes the state of the desk. */
export type DeskAction = { tool: "issue_refund"; amount: number } | { tool: "send_replacement" } | { tool: "escalate" };

export interface Resolution {
  kind: Kind;
  /** Null where nothing may be done. */
  action: DeskAction | null;
  /** What the customer must be told; all of it stands in tool results only. */
  fact: string;
  /** A whole answer to the customer. */
  reply: string;
}

export function resolve(row: DeskRow): Resolution {
  const order = orderOf(row);
  const { price, stock, arrives, item } = order;
  const days = order.delivered_days_ago;
  if (days === null) {
    const fact = arrives ?? "";
    return { kind: "status", action: null, fact, reply: `Your ${item} is on its way and arrives on ${fact}.` };
  }
  const refund = (kind: "refund" | "no_stock"): Resolution => {
    if (price > approvalAbove) {
      const fact = String(row.case_number);
      const reply = `Your refund needs an approval; your case number is ${fact}.`;
      return { kind: "approval", action: { tool: "escalate" }, fact, reply };
    }
    const fact = price.toFixed(2);
    return { kind, action: { tool: "issue_refund", amount: price }, fact, reply: `We refund you ${fact} euros.` };
  };
  if (row.wish === "damaged") {
    if (stock === 0) return refund("no_stock");
    const fact = row.replacement_arrives;
    const reply = `We are sorry; a new ${item} arrives on ${fact}.`;
    return { kind: "replace", action: { tool: "send_replacement" }, fact, reply };
  }
  if (row.wish === "money_back" && days <= refundDays) return refund("refund");
  const fact = String(days);
  const delivered = `Your ${item} was delivered ${fact} days ago`;
  return row.wish === "status"
    ? { kind: "status", action: null, fact, reply: `${delivered}.` }
    : { kind: "late", action: null, fact, reply: `${delivered}, so we cannot refund it.` };
}

/** True when the text gives the fact, and no other number than the order's and the policy's own. */
export function tells(text: string, fact: string, orderNumber: number): boolean {
  const numbers = (words: string) => [...words.matchAll(/\d+(?:[.,]\d+)?/g)].map(([n]) => Number(n.replace(",", ".")));
  const [wanted] = numbers(fact);
  const month = /[A-Z][a-z]+/.exec(fact)?.[0];
  const said = numbers(text);
  return (
    said.includes(wanted) &&
    (month === undefined || new RegExp(`\\b${month}\\b`, "i").test(text)) &&
    said.every((number) => [wanted, orderNumber, refundDays, approvalAbove].includes(number))
  );
}
