/** From the parts of a reward to a score: what went wrong, and which yes/no results it stands for. */

import { z } from "zod";
import { failureGroupNames, type FailureGroup } from "../../contract/eval.ts";
import type { RewardFile, RewardPart, RewardPartType, RewardResult } from "../../contract/reward.ts";
import { brief } from "../../contract/units.ts";
import { readJson } from "../../files/json.ts";
import { isCut } from "../../text/parse-assistant.ts";
import type { FailureKind, Score, StopReason } from "../task.ts";
import type { PlayedTurn } from "./reward-sample.ts";

export interface DeclaredFailure extends FailureKind {
  /** It happened when this part is worth less than `below` (default 1). Absent: a script names it. */
  part?: string | undefined;
  below?: number | undefined;
}

export interface GradingOptions {
  /** Of parts whose value lies from 0 to 1: the kind of error that anything less than 1 is. */
  marked?: Readonly<Record<string, FailureGroup>>;
  /** The task's own kinds, most basic first; they come before those of the parts. */
  failures?: Readonly<Record<string, DeclaredFailure>>;
}

/** Types of parts whose value lies from 0 to 1, with the kind of error that anything less than 1 is. */
const markedTypes: Partial<Record<RewardPartType, FailureGroup>> = {
  json_schema: "call",
  format_tags: "call",
  regex: "rules",
  length: "rules",
  words: "rules",
  tool_call: "choice",
  exact_match: "choice",
  numeric: "choice",
  fields: "choice",
  similarity: "choice",
};

/** Parts of such types in a reward file, or in what stands in one. */
export function markedParts(spec: string | RewardFile | undefined): Record<string, FailureGroup> {
  const content = typeof spec === "string" && spec.endsWith(".json") ? readJson(spec, partList) : spec;
  if (content === undefined || typeof content === "string") return {};
  return Object.fromEntries(
    content.parts.flatMap(({ type, name = type }) => {
      const group = markedTypes[type as RewardPartType];
      return group === undefined ? [] : [[String(name), group]];
    }),
  );
}

const partList = z.object({ parts: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })) });

/** What every task can tell by itself. */
const truncated: FailureKind = { meaning: "cut off by the token limit", group: "call" };
const badCall: FailureKind = {
  meaning: "a call that is malformed, of an unknown tool, or with unfit arguments",
  group: "call",
};

export class Grading {
  readonly failures: Record<string, FailureKind>;
  readonly outcomes: Record<string, string>;
  readonly #declared: Readonly<Record<string, DeclaredFailure>>;
  /** Parts that have full marks at 1. */
  readonly #marked: string[];

  constructor(parts: readonly RewardPart[], { marked = {}, failures = {} }: GradingOptions, hasTools: boolean) {
    this.#declared = failures;
    const order = (name: string) => failureGroupNames.indexOf(marked[name]);
    const known = parts
      .filter(({ name, weight }) => Object.hasOwn(marked, name) && weight > 0)
      .toSorted((a, b) => order(a.name) - order(b.name));
    const told = new Set(Object.values(failures).map(({ part }) => part));
    this.failures = {
      ...(parts.length > 0 && { truncated, ...(hasTools && { bad_call: badCall }) }),
      ...Object.fromEntries(Object.entries(failures).map(([name, { meaning, group }]) => [name, { meaning, group }])),
      ...Object.fromEntries(
        known
          .filter(({ name }) => !told.has(name) && !Object.hasOwn(failures, name))
          .map(({ name, description }) => [
            name,
            { meaning: `less than full marks: ${description || name}`, group: marked[name] },
          ]),
      ),
    };
    this.#marked = known.map(({ name }) => name);
    this.outcomes = Object.fromEntries(this.#marked.map((name) => [name, `full marks for ${name}`]));
  }

  /** `info` of the result may name a failure, by itself or for one part: `{failure: "…"}`. */
  toScore({ reward, parts, info = {} }: RewardResult, turns: readonly PlayedTurn[], stopReason: StopReason): Score {
    const value = (part: string) => parts[part] ?? 0;
    const happened = (kind: string): boolean => {
      if (Object.hasOwn(this.#declared, kind)) {
        const { part, below = 1 } = this.#declared[kind];
        return part !== undefined && value(part) < below;
      }
      if (kind === "truncated") return isCut(stopReason);
      if (kind === "bad_call") {
        return turns.some(({ action }) => action.parsed.problems.some(({ code }) => code !== "no_call"));
      }
      return this.#marked.includes(kind) && value(kind) < 1;
    };
    const named = [info, ...Object.values(info)].flatMap(failureIn);
    const failure =
      named.find((kind) => Object.hasOwn(this.failures, kind)) ?? Object.keys(this.failures).find(happened);
    const last = turns.at(-1)?.action.parsed;
    return {
      reward,
      parts,
      info: {
        ...(failure !== undefined && { failure }),
        choice: last?.tool_calls[0]?.name ?? brief(last?.content ?? ""),
        outcomes: Object.fromEntries(this.#marked.map((name) => [name, value(name) >= 1])),
      },
    };
  }
}

function failureIn(info: unknown): string[] {
  const named = typeof info === "object" && info !== null && "failure" in info ? info.failure : undefined;
  return typeof named === "string" ? [named] : [];
}
