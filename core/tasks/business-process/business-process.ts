/** An order desk: a customer writes, the model looks the order up, acts by the policy, and answers with what the tools said. */

import type { Split } from "../../contract/eval.ts";
import type { Seed } from "../../contract/random.ts";
import { splitGroups } from "../split-groups.ts";
import type { Task } from "../task.ts";
import { Desk, deskFailures, weights } from "./desk.ts";
import { deskRows, kinds, orderOf, parseDeskRow, products, type DeskRow } from "./orders.ts";
import { deskReference, preference, solution } from "./players.ts";
import { resolve } from "./policy.ts";
import { deskPrompt, deskTools } from "./prompt.ts";

export const businessProcess: Task<DeskRow> = {
  name: "business-process",
  title: "Order desk",
  description: "Settle a customer's request with tools, by a policy, over several turns.",
  tools: deskTools,
  rewardParts: [
    { name: "looked_up", weight: weights.looked_up, description: "1 when the right order was looked up" },
    { name: "action", weight: weights.action, description: "1 when exactly what the policy asks for was done" },
    {
      name: "told",
      weight: weights.told,
      description: "1 when the customer was told what the tools said, nothing else",
    },
    { name: "violation", weight: weights.violation, description: "−1 for an action that the policy forbids" },
  ],
  failures: deskFailures,
  outcomes: {
    resolved: "cases settled completely",
    right_action: "right actions",
    told: "customers told the right fact",
    looked_up: "orders looked up",
    within_policy: "nothing done against the policy",
  },
  limits: { turns: 5, tokens: 96, seconds: 120 },
  rows: (split, { seed } = {}) => {
    const problems = problemsOf(split, seed);
    return deskRows().filter((row) => problems.has(problemOf(row)));
  },
  parseRow: parseDeskRow,
  problem: problemOf,
  prompt: deskPrompt,
  start: (row) => new Desk(row),
  solution,
  preference,
  reference: deskReference,
  draw(row) {
    const { kind, action, reply } = resolve(row);
    const due = action === null ? "no action" : JSON.stringify(action);
    const orders = row.orders.map((order) => `  ${JSON.stringify(order)}`);
    return [row.request, "", "orders:", ...orders, "", `case: ${kind}`, `due: ${due}`, `answer: ${reply}`].join("\n");
  },
};

/** A product in a case of the policy: what is held out has been trained with other products only. */
function problemOf(row: DeskRow): string {
  return `${resolve(row).kind} / ${orderOf(row).item}`;
}

/** Every case is dealt by itself, so that each part has all of them. */
function problemsOf(split: Split, seed?: Seed): Set<string> {
  return new Set(
    kinds.flatMap((kind) =>
      splitGroups(products, split, `business-process ${kind}`, seed).map((item) => `${kind} / ${item}`),
    ),
  );
}
