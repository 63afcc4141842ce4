/** The options of a part of a reward, as a form shows them: read from the schema, so that none is forgotten. */

import { z } from "zod";
import { rewardPartSchemas, type RewardPartType } from "../../../core/contract/reward.ts";

export type FieldKind = "text" | "long" | "number" | "switch" | "choice" | "list" | "json" | "column";

export interface PartField {
  name: string;
  kind: FieldKind;
  required: boolean;
  /** What counts when nothing is written. */
  usual: unknown;
  choices: readonly string[];
  min: number | null;
  max: number | null;
}

interface JsonSchema {
  type?: string;
  enum?: string[];
  default?: unknown;
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
}

/** Texts that have more than a line. */
const longTexts = ["prompt", "system"];

export const partTypes = Object.keys(rewardPartSchemas) as RewardPartType[];

/** All options but the type. */
export function partFields(type: RewardPartType): PartField[] {
  const schema = z.toJSONSchema(rewardPartSchemas[type], { io: "input", unrepresentable: "any" }) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => name !== "type")
    .map(([name, property]) => ({
      name,
      kind: kindOf(name, property),
      required: schema.required?.includes(name) === true,
      usual: property.default,
      choices: property.enum ?? [],
      min: property.minimum ?? property.exclusiveMinimum ?? null,
      max: property.maximum ?? null,
    }));
}

function kindOf(name: string, { type, enum: choices, items }: JsonSchema): FieldKind {
  if (name === "column") return "column";
  if (choices !== undefined) return "choice";
  if (type === "boolean") return "switch";
  if (type === "number" || type === "integer") return "number";
  if (type === "array" && items?.type === "string") return "list";
  if (type === "string") return longTexts.includes(name) ? "long" : "text";
  return "json";
}

export type PartValue = { type: RewardPartType } & Record<string, unknown>;

/** The parts that a text holds; undefined where it is not JSON with a list of parts. */
export function readParts(text: string): PartValue[] | undefined {
  try {
    const content = JSON.parse(text) as { parts?: unknown };
    if (!Array.isArray(content.parts)) return undefined;
    const known = content.parts.every(
      (part: unknown) =>
        typeof part === "object" &&
        part !== null &&
        "type" in part &&
        Object.hasOwn(rewardPartSchemas, String(part.type)),
    );
    return known ? (content.parts as PartValue[]) : undefined;
  } catch {
    return undefined;
  }
}

export function writeParts(parts: readonly PartValue[]): string {
  return `${JSON.stringify({ parts }, undefined, 2)}\n`;
}

/** What a part needs so that it can be opened at once. */
const begun: Partial<Record<RewardPartType, Record<string, unknown>>> = {
  regex: { pattern: "\\S" },
  json_schema: { schema: { type: "object" } },
  length: { max: 200 },
  words: { forbidden: ["sorry"] },
  judge: { url: "http://127.0.0.1:8000/v1", model: "judge" },
  script: { file: "reward.ts" },
  command: { command: ["python3", "reward.py"] },
  http: { url: "http://127.0.0.1:8000/score" },
};

/** A part that works, with a name that no other has. */
export function newPart(type: RewardPartType, others: readonly PartValue[]): PartValue {
  const taken = new Set(others.map((part) => (typeof part["name"] === "string" ? part["name"] : part.type)));
  let name: string = type;
  for (let number = 2; taken.has(name); number++) name = `${type}_${number}`;
  return { type, ...(name !== type && { name }), ...begun[type] };
}

/** A part with one option set, or left to what is usual (undefined). */
export function withOption(part: PartValue, name: string, value: unknown): PartValue {
  const { [name]: _, ...rest } = part;
  return value === undefined ? (rest as PartValue) : { ...part, [name]: value };
}
