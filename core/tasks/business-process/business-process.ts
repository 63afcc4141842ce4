/** An order desk: a customer writes, the model looks the order up, acts by the policy, and answers with what the tools said. */

import type { Split } from "../../contract/eval.ts";
import { Random, type Seed } from "../../contract/random.ts";
import type { Task } from "../task.ts";
import { Desk, deskFailures, weights } from "./desk.ts";
import { deskRows, kinds, orderOf, parseDeskRow, products, type DeskRow } from "./orders.ts";
import { deskReference, preference, solution } from "./players.ts";
import { resolve } from "./policy.ts";
import { deskPrompt, deskTools } from "./prompt.ts";

const defaultSplitSeed = 2026;

/** Share of the products, in each case of the policy. */
const heldOutShare = 0.2;
const validationShare = 0.1;

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
    const problems = splitProblems(seed)[split];
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
function splitProblems(seed: Seed = defaultSplitSeed): Record<Split, Set<string>> {
  const parts = { train: new Set<string>(), validation: new Set<string>(), "held-out": new Set<string>() };
  const heldOut = Math.round(heldOutShare * products.length);
  const validation = Math.round(validationShare * products.length);
  for (const kind of kinds) {
    const shuffled = new Random(seed).split("business-process split", kind).shuffle(products);
    shuffled.forEach((item, i) => {
      const part = i < heldOut ? "held-out" : i < heldOut + validation ? "validation" : "train";
      parts[part].add(`${kind} / ${item}`);
    });
  }
  return parts;
}
